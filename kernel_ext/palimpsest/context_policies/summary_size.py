"""The size of a summary that was never written, which stands for one in a replay."""

SUMMARY_TOKENS = 1_500
"""Tokens of a placeholder, about those of summaries in real sessions."""
