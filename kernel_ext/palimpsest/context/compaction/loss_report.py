"""Report what a summary lost by the names of earlier versions, so that what they journalled is decided again alike.

Border: pure, and does not judge meaning. New summaries are graded by ``summary_grade.py`` over ``names.py``.
"""

import re
from collections.abc import Iterable, Iterator

from palimpsest.transcript.strings.lazy_patterns import lazy_pattern

KINDS: dict[str, re.Pattern[str]] = {
    # No file system allows a longer name, and without a bound long rows of dashes take minutes to match.
    "paths": lazy_pattern(
        r"(?<![\w/.])(?:~?/|\./|\.\./)?(?:[\w.-]{1,255}/)*[\w-]{1,255}\.[A-Za-z]{1,5}\b(?!\()"
    ),
    "errors": lazy_pattern(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b(?:: [^\n]{1,80})?"),
    "identifiers": lazy_pattern(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b"),
    "numbers": lazy_pattern(r"(?<![\w.])-?\d[\d,]*\.\d+\b|(?<![\w.,])\d{3,}\b"),
}
"""What was looked for, by kind."""
LEAST_CHARS = 4
LONGEST_LIST = 20
"""Lost names that a report lists of each kind; the others are only counted."""


def earlier_names_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each name in a text, kind by kind, as grades without a version found them."""
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            name = match[0].rstrip(".,:;")
            if len(name) >= LEAST_CHARS:
                yield kind, name


def loss_report(before: str, after: str) -> dict[str, dict[str, object]]:
    """Return by kind how many names were found, how many of them are lost, and the first of those."""
    told: dict[str, dict[str, object]] = {}
    kept = set(_words(after))
    for kind, pattern in KINDS.items():
        found = list(dict.fromkeys(match[0].rstrip(".,:") for match in pattern.finditer(before)))
        lost = [one for one in found if one not in after and one not in kept]
        if found:
            told[kind] = {"found": len(found), "lost": len(lost), "names": lost[:LONGEST_LIST]}
    return told


def _words(text: str) -> Iterable[str]:
    return re.findall(r"[\w.,/-]+", text)
