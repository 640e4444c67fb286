"""Which models there are, what they can do and cost, and whether a named one is right."""
