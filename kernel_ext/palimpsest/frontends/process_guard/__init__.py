"""Protect the user's process while the agent's Python runs in it, and report the code's changes."""
