"""A bar of progress on a terminal, in plain text."""

import sys
from collections.abc import Callable

WIDTH = 30


def draw_progress(done: int, total: int) -> None:
    """Draw how many sources are done on one line of standard error, and remove it at the end."""
    full = WIDTH * done // total if total else WIDTH
    bar = "#" * full + "-" * (WIDTH - full)
    end = "\r\033[K" if done >= total else ""
    sys.stderr.write(f"\r[{bar}] {done:,} of {total:,} {end}")
    sys.stderr.flush()


def default_progress() -> Callable[[int, int], None]:
    """Return a bar where standard error is a terminal, else nothing that is seen."""
    return draw_progress if sys.stderr.isatty() else lambda _done, _total: None
