"""Match names, paths and commands against patterns with ``*`` and ``?``.

Border: text only. A star also crosses slashes and newlines, because a pattern is written for
commands as much as for paths; everything else is literal, and the whole text must match.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

Choice = TypeVar("Choice")


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return what the whole text must match, with slashes for backslashes."""
    escaped = re.escape(pattern.replace("\\", "/")).replace(r"\*", ".*").replace(r"\?", ".")
    # "git *" is meant to cover a bare "git" too.
    if escaped.endswith(r"\ .*"):
        escaped = escaped.removesuffix(r"\ .*") + r"(?:\ .*)?"
    return re.compile(escaped, re.DOTALL)


def matches(text: str, pattern: str) -> bool:
    """Tell whether the whole text matches; backslashes count as slashes."""
    return compiled(pattern).fullmatch(text.replace("\\", "/")) is not None


def beginning(pattern: str) -> str:
    """Return how every text that matches begins: what stands before the first star or question mark."""
    text = pattern.replace("\\", "/")
    at = min((found for found in map(text.find, "*?") if found >= 0), default=len(text))
    # "git *" is meant to cover a bare "git" too.
    return text[: at - 1] if text.endswith(" *") and at == len(text) - 1 else text[:at]


def _by_length(patterns: Mapping[str, Choice]) -> list[tuple[str, Choice]]:
    return sorted(patterns.items(), key=lambda entry: (len(entry[0]), entry[0]))


def most_specific(text: str, patterns: Mapping[str, Choice]) -> Choice | None:
    """Return what the longest matching pattern stands for, whatever the order of the table."""
    chosen: Choice | None = None
    for pattern, choice in _by_length(patterns):
        if matches(text, pattern):
            chosen = choice
    return chosen
