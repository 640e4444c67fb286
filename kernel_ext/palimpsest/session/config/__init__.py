"""Settings: which ones exist, the files that hold them, and how layers of them are merged."""
