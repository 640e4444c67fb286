"""The names in a text: paths, errors, identifiers and numbers, as words and not as meanings."""

from collections.abc import Iterator

from palimpsest.context.compaction.loss_report import KINDS

LEAST_CHARS = 4
"""Shorter names are too often the same by chance."""


def names_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each name in a text, kind by kind."""
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            name = match[0].rstrip(".,:;")
            if len(name) >= LEAST_CHARS:
                yield kind, name
