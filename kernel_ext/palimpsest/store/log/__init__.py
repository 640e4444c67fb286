"""The append-only log: segments of JSON lines, one writer each, and who reads them."""
