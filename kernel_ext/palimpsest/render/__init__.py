"""Render parts, messages, sessions and reports as Markdown, static HTML and plain text. Pure."""
