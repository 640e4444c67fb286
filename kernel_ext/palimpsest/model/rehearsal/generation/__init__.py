"""Code for pandas and matplotlib, and results as text."""
