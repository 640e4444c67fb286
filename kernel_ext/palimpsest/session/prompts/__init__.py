"""Validate a prompt, fill in its files and commands, and collect the answer of its turn."""
