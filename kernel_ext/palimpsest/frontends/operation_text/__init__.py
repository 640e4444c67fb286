"""What a cell shows of the answers of operations, as Markdown, text and HTML, and the summaries of sessions for pages."""
