"""Explain the error of a failed cell, and correct the cell where a rule is certain."""
