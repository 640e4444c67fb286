"""Deciders that truncate, prune and cut tool outputs, and decisions applied to messages."""
