"""Fit token counts to the reported usage, and prove that a replay reproduces the recording."""
