"""The tests draw into memory, not onto a screen."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
