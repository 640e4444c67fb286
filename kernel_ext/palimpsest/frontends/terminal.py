"""Write to the terminal and read from it; no other module accesses the terminal.

Border: every text passes through ``transcript/visible_text.py``, so that no text of a model, a tool, a file or a
recording can control the terminal. ``tests/frontends/test_terminal_writers.py`` finds writers elsewhere.
"""

import os
import shutil
import sys
from typing import TextIO

from palimpsest.transcript.visible_text import encodable_text, visible_text

ASSUMED_ROWS, ASSUMED_COLUMNS = 40, 80
"""Assumed size of a terminal whose size is unknown, as in a kernel; a smaller terminal can scroll back."""
MIN_ROWS, MIN_COLUMNS = 10, 40


def terminal_size() -> os.terminal_size:
    """Return the usable size of the terminal behind standard output, or the assumed size where there is no terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return os.terminal_size((ASSUMED_COLUMNS, ASSUMED_ROWS))
    columns, rows = shutil.get_terminal_size((ASSUMED_COLUMNS, ASSUMED_ROWS))
    return os.terminal_size((max(columns - 1, MIN_COLUMNS), max(rows - 1, MIN_ROWS)))


def write(text: str) -> None:
    """Write text to standard output at once; nothing where it is closed."""
    _write(text, sys.stdout)


def write_error(sentence: str) -> None:
    """Write a sentence as a line of standard error."""
    _write(f"{sentence}\n", sys.stderr)


def read_line(prompt: str) -> str:
    """Show a question, and return the line that a person types; raises what ``input`` raises."""
    return input(encodable_text(visible_text(prompt), sys.stdout))


def show_progress(text: str) -> None:
    """Show a line of progress on standard error, in place of the line before."""
    sys.stderr.write("\r" + encodable_text(visible_text(text), sys.stderr))
    sys.stderr.flush()


def end_progress() -> None:
    """Clear the line of progress."""
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()


def fitting_output(bundle: dict[str, str]) -> dict[str, str]:
    """Return a bundle whose plain text holds only characters that standard output can encode, as IPython does."""
    return {**bundle, "text/plain": visible_text(encodable_text(bundle["text/plain"], sys.stdout))}


def has_unicode_output() -> bool:
    """Return whether the encoding of standard output has all of Unicode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def _write(text: str, stream: TextIO | None) -> None:
    if text and stream is not None:
        stream.write(encodable_text(visible_text(text), stream))
        stream.flush()
