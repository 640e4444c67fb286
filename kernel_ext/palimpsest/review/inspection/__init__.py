"""What fills a context window, and what is gone from it."""
