"""A bar of progress on a terminal, in plain text."""

import sys
from collections.abc import Callable

WIDTH = 30


def draw_progress(done: int, total: int) -> None:
    """Draw a bar of the finished sources on one line of standard error; the line is removed at the end."""
    full = WIDTH * done // total if total else WIDTH
    bar = "#" * full + "-" * (WIDTH - full)
    end = "\r\033[K" if done >= total else ""
    sys.stderr.write(f"\r[{bar}] {done:,} of {total:,} {end}")
    sys.stderr.flush()


def default_progress() -> Callable[[int, int], None]:
    """Return the function that draws the bar, or one that draws nothing where standard error is no terminal."""
    return draw_progress if sys.stderr.isatty() else lambda _done, _total: None
