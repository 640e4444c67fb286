"""Report what fills a context window, and what was reduced or left out of it."""
