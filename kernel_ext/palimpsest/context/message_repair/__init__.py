"""Neutral messages made valid: calls paired with results, ids, the order of turns, thinking."""
