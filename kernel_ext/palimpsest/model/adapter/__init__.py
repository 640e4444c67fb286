"""The adapter over litellm, and what watches, joins and counts its stream."""
