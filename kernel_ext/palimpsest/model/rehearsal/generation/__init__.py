"""Generate code for pandas and matplotlib, and text from results."""
