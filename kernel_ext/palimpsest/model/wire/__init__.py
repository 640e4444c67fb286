"""Neutral messages, ids, media and tool schemas in the shape that a provider accepts."""
