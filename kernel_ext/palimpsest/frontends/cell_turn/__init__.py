"""One prompt run from a cell, in the background or in a script."""
