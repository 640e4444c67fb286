"""Bind an "always" to a description of what was approved: it holds only while the description is the same.

A tool of a server is whatever its server says, today this and tomorrow that. So what is approved is not its name
but its description, whose digest takes the place of a pattern; no wildcard of an approval covers it.

Border: pure. ``session/permissions/asks.py`` asks and stores; a rule in the settings is the user's word about the
name, whatever the description is.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator

from palimpsest.transcript.values import Rule

PREFIX = "as described now, sha256 "
DIGITS = 40
LONGEST_TEXT = 40_000
"""Characters, as JSON, of a description that is stored with an approval."""
MOST_COMPARED = 1_000
"""Lines that are compared one by one; of more, the removed ones come before the added ones."""
CONTEXT = 3

_BOUND = re.compile(re.escape(PREFIX) + rf"[0-9a-f]{{{DIGITS}}}")


def bound_pattern(description: str) -> str:
    """Return the pattern of calls of exactly what is described."""
    digest = hashlib.sha256(description.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{PREFIX}{digest[:DIGITS]}"


def is_bound(pattern: str) -> bool:
    """Return whether a pattern stands for a description."""
    return _BOUND.fullmatch(pattern) is not None


def answers_bound(rule: Rule) -> bool:
    """Return whether an approval may answer for a description: one of a description, or that of mode bypass."""
    return is_bound(rule.pattern) or (rule.permission == "*" and rule.pattern == "*")


def kept_text(description: str) -> str:
    """Return a description as it is stored with an approval; of a long one the beginning, and a digest."""
    kept = description
    while len(json.dumps(kept)) > LONGEST_TEXT:
        kept = kept[: len(kept) * 3 // 4]
    if kept == description:
        return description
    left_out = len(description) - len(kept)
    return f"{kept}\n(and {left_out:,} more characters: {bound_pattern(description)})"


def description_change(before: str, now: str) -> str:
    """Return the unified diff between a stored description and the present one, in linear time."""
    old, new = kept_text(before).splitlines(), kept_text(now).splitlines()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    first = max(0, start - CONTEXT)
    after = old[len(old) - end :][:CONTEXT]
    changed: list[str] = []
    for same, gone, come in _stretches(removed, added):
        changed += [f" {line}" for line in same]
        changed += [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]
    sizes = (start - first + len(removed) + len(after), start - first + len(added) + len(after))
    return "\n".join(
        [
            "--- as you allowed it",
            "+++ as it is now",
            f"@@ -{first + 1},{sizes[0]} +{first + 1},{sizes[1]} @@",
            *(f" {line}" for line in old[first:start]),
            *changed,
            *(f" {line}" for line in after),
        ]
    )


def _stretches(old: list[str], new: list[str]) -> Iterator[tuple[list[str], ...]]:
    """Yield the lines that are equal, that are only in the old text, and that are only in the new one."""
    if len(old) + len(new) > MOST_COMPARED:
        yield [], old, new
        return
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield (old[i:j], [], []) if kind == "equal" else ([], old[i:j], new[k:m])


def _common(one: list[str], other: list[str]) -> int:
    """Return how many lines two lists have in common at their beginning."""
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    return at
