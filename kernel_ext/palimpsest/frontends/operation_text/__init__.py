"""Texts of operations' answers for cells, as Markdown, text and HTML, and summaries of sessions for pages."""
