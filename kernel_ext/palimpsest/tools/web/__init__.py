"""The webfetch tool, HTTP fetching, and conversion of HTML to Markdown or text."""
