"""Render a session as HTML page, HTML fragment, share page, Markdown, text or notebook."""
