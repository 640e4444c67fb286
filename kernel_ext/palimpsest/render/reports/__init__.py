"""Render reports: the context window, a comparison of policies, and the context gauge."""
