"""Report the names that a summary lost by the rules of earlier versions, to repeat decisions in their logs.

Border: pure, and does not judge meaning. New summaries are graded by ``summary_grade.py`` over ``names.py``.
"""

import re
from collections.abc import Iterator

from palimpsest.lazy_patterns import lazy_pattern

NAME_PATTERNS: dict[str, re.Pattern[str]] = {
    # No file system allows a longer name, and without a bound long rows of dashes take minutes to match.
    "paths": lazy_pattern(
        r"(?<![\w/.])(?:~?/|\./|\.\./)?(?:[\w.-]{1,255}/)*[\w-]{1,255}\.[A-Za-z]{1,5}\b(?!\()"
    ),
    "errors": lazy_pattern(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b(?:: [^\n]{1,80})?"),
    "identifiers": lazy_pattern(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b"),
    "numbers": lazy_pattern(r"(?<![\w.])-?\d[\d,]*\.\d+\b|(?<![\w.,])\d{3,}\b"),
}
"""Patterns of names, by kind."""
MIN_NAME_CHARS = 4
MAX_LISTED_NAMES = 20
"""Lost names that a report lists of each kind; the others are only counted."""


def earlier_names_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each name in a text, kind by kind, as grades without a version found them."""
    for kind, pattern in NAME_PATTERNS.items():
        for match in pattern.finditer(text):
            name = match[0].rstrip(".,:;")
            if len(name) >= MIN_NAME_CHARS:
                yield kind, name


def loss_report(text_before: str, text_after: str) -> dict[str, dict[str, object]]:
    """Return by kind the number of names, the number of lost names, and the first lost names."""
    by_kind: dict[str, dict[str, object]] = {}
    words_after = set(re.findall(r"[\w.,/-]+", text_after))
    for kind, pattern in NAME_PATTERNS.items():
        names = dict.fromkeys(match[0].rstrip(".,:") for match in pattern.finditer(text_before))
        lost_names = [name for name in names if name not in text_after and name not in words_after]
        if names:
            by_kind[kind] = {
                "found": len(names),
                "lost": len(lost_names),
                "names": lost_names[:MAX_LISTED_NAMES],
            }
    return by_kind
