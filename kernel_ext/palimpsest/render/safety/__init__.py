"""Text of others made safe for Markdown and HTML."""
