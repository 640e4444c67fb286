"""Make untrusted text safe for Markdown and HTML."""
