"""Deciders that truncate and prune tool outputs, and the application of decisions to messages."""
