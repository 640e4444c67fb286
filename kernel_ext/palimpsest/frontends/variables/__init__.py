"""Describe the user's variables as text without running user code."""
