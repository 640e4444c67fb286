"""Run the command line by ``python -m palimpsest``, as the console script ``palimpsest`` does."""

from palimpsest.frontends.command_line.main import main_and_exit

if __name__ == "__main__":
    main_and_exit()
