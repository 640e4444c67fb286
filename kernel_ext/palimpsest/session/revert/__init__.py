"""Revert messages and files, undo that, and fork a session."""
