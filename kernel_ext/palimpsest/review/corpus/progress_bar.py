"""A bar of progress on a terminal, in plain text."""

import sys
from collections.abc import Callable

WIDTH = 30


class ProgressBar:
    """Draws how many sources are done on one line of standard error, and removes it at the end."""

    def __call__(self, done: int, total: int) -> None:
        """Draw the bar again."""
        full = WIDTH * done // total if total else WIDTH
        bar = "#" * full + "-" * (WIDTH - full)
        end = "\r\033[K" if done >= total else ""
        sys.stderr.write(f"\r[{bar}] {done:,} of {total:,} {end}")
        sys.stderr.flush()


def default_progress() -> Callable[[int, int], None]:
    """Return a bar where standard error is a terminal, else nothing that is seen."""
    return ProgressBar() if sys.stderr.isatty() else _unseen


def _unseen(_done: int, _total: int) -> None:
    """Show nothing."""
