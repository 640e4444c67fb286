"""The tools that read, list, search, write and edit files."""
