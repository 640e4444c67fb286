"""A bar of progress on a terminal, in plain text."""

import sys
from collections.abc import Callable

BAR_CHARS = 30


def draw_progress(done_count: int, total_count: int) -> None:
    """Draw a bar of the finished sources on one line of standard error; the line is removed at the end."""
    filled_chars = BAR_CHARS * done_count // total_count if total_count else BAR_CHARS
    bar = "#" * filled_chars + "-" * (BAR_CHARS - filled_chars)
    line_end = "\r\033[K" if done_count >= total_count else ""
    sys.stderr.write(f"\r[{bar}] {done_count:,} of {total_count:,} {line_end}")
    sys.stderr.flush()


def default_progress() -> Callable[[int, int], None]:
    """Return the function that draws the bar, or one that draws nothing where standard error is no terminal."""
    return draw_progress if sys.stderr.isatty() else lambda _done, _total: None
