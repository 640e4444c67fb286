"""Write to a terminal and read from it: the only place where text leaves for one.

Border: every text passes through ``transcript/visible_text.py``, so that nothing which a model, a tool, a file or a
recording holds can steer the terminal. ``tests/frontends/test_terminal_writers.py`` finds a writer elsewhere.
"""

import os
import shutil
import sys
from typing import TextIO

from palimpsest.transcript.visible_text import fitting, visible

PAGE_ROWS, COLUMNS = 40, 80
"""Of a terminal whose size is not known, as behind a kernel; a smaller one still has what scrolled by."""
LEAST_ROWS, LEAST_COLUMNS = 10, 40


def terminal_size() -> os.terminal_size:
    """Return how much the terminal that standard output is shows at once, or one which is not known."""
    if sys.stdout is None or not sys.stdout.isatty():
        return os.terminal_size((COLUMNS, PAGE_ROWS))
    columns, rows = shutil.get_terminal_size((COLUMNS, PAGE_ROWS))
    return os.terminal_size((max(columns - 1, LEAST_COLUMNS), max(rows - 1, LEAST_ROWS)))


def write(text: str) -> None:
    """Write text to standard output at once; nothing where it is closed."""
    _write(text, sys.stdout)


def write_error(sentence: str) -> None:
    """Write a sentence as a line of standard error."""
    _write(f"{sentence}\n", sys.stderr)


def read_line(prompt: str) -> str:
    """Show a question, and return the line that a person types; raises what ``input`` raises."""
    return input(fitting(visible(prompt), sys.stdout))


def show_progress(words: str) -> None:
    """Show how far something is, on standard error, in place of what was shown before."""
    sys.stderr.write("\r" + fitting(visible(words), sys.stderr))
    sys.stderr.flush()


def end_progress() -> None:
    """Remove what was shown of a progress."""
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()


def fitting_output(bundle: dict[str, str]) -> dict[str, str]:
    """Return formats by MIME type whose plain text standard output can be written, as IPython does in a terminal."""
    return {**bundle, "text/plain": visible(fitting(bundle["text/plain"], sys.stdout))}


def takes_unicode() -> bool:
    """Tell whether standard output can be written any letter."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def _write(text: str, stream: TextIO | None) -> None:
    if text and stream is not None:
        stream.write(fitting(visible(text), stream))
        stream.flush()
