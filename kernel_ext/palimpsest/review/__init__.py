"""Recorded sessions in tables, request contents, comparisons, an inspector's view and a report."""
