"""The tool that fetches a page, and HTML as text."""
