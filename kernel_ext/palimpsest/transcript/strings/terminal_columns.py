"""The columns that text takes in a terminal: East Asian characters take two, combining marks none."""

import unicodedata


def columns_of(text: str) -> int:
    """Return the columns that a text without tabs takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_column_count, text))


def _column_count(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
