"""A compaction planned, its summary asked for and checked, and the turn continued after it."""
