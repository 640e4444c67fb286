"""Report what a summary lost: identifiers, paths, errors and numbers that occur in what it covers.

Border: pure, and does not judge meaning. It compares words: a name that still occurs in the summary, or in
the tail kept word for word, is not lost. The user reads the report and decides whether to undo.
"""

import re
from collections.abc import Iterable

KINDS: dict[str, re.Pattern[str]] = {
    # No file system allows a longer name, and without a bound long rows of dashes take minutes to match.
    "paths": re.compile(
        r"(?<![\w/.])(?:~?/|\./|\.\./)?(?:[\w.-]{1,255}/)*[\w-]{1,255}\.[A-Za-z]{1,5}\b(?!\()"
    ),
    "errors": re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b(?:: [^\n]{1,80})?"),
    "identifiers": re.compile(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\b"),
    "numbers": re.compile(r"(?<![\w.])-?\d[\d,]*\.\d+\b|(?<![\w.,])\d{3,}\b"),
}
"""What is looked for, by kind."""
LONGEST_LIST = 20
"""Lost names that a report lists of each kind; the others are only counted."""


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
