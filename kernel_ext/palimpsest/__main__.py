"""Run the command line by ``python -m palimpsest``, as the console script ``palimpsest`` does."""

import sys

from palimpsest.frontends.command_line.main import main

if __name__ == "__main__":
    sys.exit(main())
