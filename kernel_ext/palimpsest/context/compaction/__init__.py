"""Compaction: plan it, request and check its summary, and continue the turn after it."""
