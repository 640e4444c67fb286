"""Keep requests within the window: fit them, compact, take back a compaction that failed."""
