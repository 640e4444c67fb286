"""Keep requests within the window: fit them, compact, roll back a compaction that failed."""
