"""Match names, paths and commands against patterns with ``*`` and ``?``.

Border: text only. A star also matches slashes and newlines, since patterns are used for commands as
well as paths; everything else is literal, and the whole text must match.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

Choice = TypeVar("Choice")


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to a regular expression for a whole text with slashes for backslashes."""
    escaped = re.escape(pattern.replace("\\", "/")).replace(r"\*", ".*").replace(r"\?", ".")
    # "git *" is meant to cover a bare "git" too.
    if escaped.endswith(r"\ .*"):
        escaped = escaped.removesuffix(r"\ .*") + r"(?:\ .*)?"
    return re.compile(escaped, re.DOTALL)


def matches(text: str, pattern: str) -> bool:
    """Return whether the whole text matches; backslashes count as slashes."""
    return compiled(pattern).fullmatch(text.replace("\\", "/")) is not None


def beginning(pattern: str) -> str:
    """Return the literal beginning of a pattern, before the first wildcard."""
    text = pattern.replace("\\", "/")
    at = min((found for found in map(text.find, "*?") if found >= 0), default=len(text))
    # "git *" is meant to cover a bare "git" too.
    return text[: at - 1] if text.endswith(" *") and at == len(text) - 1 else text[:at]


def most_specific(text: str, patterns: Mapping[str, Choice]) -> Choice | None:
    """Return the value of the longest matching pattern, or None; the order of the table does not matter."""
    chosen: Choice | None = None
    for pattern, choice in sorted(patterns.items(), key=lambda entry: (len(entry[0]), entry[0])):
        if matches(text, pattern):
            chosen = choice
    return chosen
