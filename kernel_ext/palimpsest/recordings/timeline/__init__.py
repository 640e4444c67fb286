"""Make the timeline of a session from its log."""
