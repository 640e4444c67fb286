"""The folder `.palimpsest`: its paths, its layout, whose it is, and who holds a session."""
