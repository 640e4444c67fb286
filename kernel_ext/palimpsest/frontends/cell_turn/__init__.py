"""Run one prompt from a cell, in the background or in a script."""
