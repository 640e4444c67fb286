"""The tests draw into memory, not onto a screen.

Chosen in this process only: in the environment it would reach the kernels that other tests start.
"""

import matplotlib as mpl

mpl.use("Agg")
