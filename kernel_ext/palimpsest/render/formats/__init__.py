"""A session as HTML page, HTML fragment, share page, Markdown, text, notebook."""
