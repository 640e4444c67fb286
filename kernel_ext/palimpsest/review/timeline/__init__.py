"""Make the timeline of a session from its log, and fit a ruler to the usage that was reported."""
