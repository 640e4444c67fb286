"""The console script ``palimpsest``: import, inspect and compare without a kernel."""
