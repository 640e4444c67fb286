"""matplotlib draws into memory in these tests, not onto a screen.

The backend is set in this process only: as an environment variable it would reach the kernels of other
tests.
"""

import matplotlib as mpl

mpl.use("Agg")
