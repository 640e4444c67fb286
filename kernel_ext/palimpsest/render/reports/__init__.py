"""Render reports: the context window, a comparison of policies, and tables."""
