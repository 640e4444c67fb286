"""Bind the user's answer "always" to the description of a tool, so that it no longer applies after a change.

The server of a tool may change the tool at any time. So an approval is stored with a digest of the description as
its pattern, and applies only to that description; an approval with a wildcard does not apply to it.

Border: pure. ``session/permissions/asks.py`` asks and stores. A rule in the settings applies to the
tool's name with any description.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator

from palimpsest.transcript.values import Rule

DIGEST_PREFIX = "as described now, sha256 "
DIGEST_DIGITS = 40
MAX_STORED_CHARS = 40_000
"""Maximum characters, as JSON, of a description that is stored with an approval."""
MAX_COMPARED_LINES = 1_000
"""Maximum lines that are compared one by one; of more, all removed lines come before the added ones."""
CONTEXT_LINES = 3

_BOUND_PATTERN = re.compile(re.escape(DIGEST_PREFIX) + rf"[0-9a-f]{{{DIGEST_DIGITS}}}")


def bound_pattern(description: str) -> str:
    """Return the pattern for calls of a tool with exactly this description."""
    digest = hashlib.sha256(description.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{DIGEST_PREFIX}{digest[:DIGEST_DIGITS]}"


def is_bound_pattern(pattern: str) -> bool:
    """Return whether a pattern is the digest of a description."""
    return _BOUND_PATTERN.fullmatch(pattern) is not None


def can_approve_bound(rule: Rule) -> bool:
    """Return whether an approval can apply to a bound pattern: a bound approval, or that of mode bypass."""
    return is_bound_pattern(rule.pattern) or (rule.permission == "*" and rule.pattern == "*")


def stored_description(description: str) -> str:
    """Return a description as it is stored with an approval: of a long one, the beginning and a digest."""
    beginning = description
    while len(json.dumps(beginning)) > MAX_STORED_CHARS:
        beginning = beginning[: len(beginning) * 3 // 4]
    if beginning == description:
        return description
    left_out = len(description) - len(beginning)
    return f"{beginning}\n(and {left_out:,} more characters: {bound_pattern(description)})"


def description_change(before: str, now: str) -> str:
    """Return the unified diff between a stored description and the present one, in linear time."""
    old, new = stored_description(before).splitlines(), stored_description(now).splitlines()
    start = _common_lines(old, new)
    end = _common_lines(old[start:][::-1], new[start:][::-1])
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    first = max(0, start - CONTEXT_LINES)
    after = old[len(old) - end :][:CONTEXT_LINES]
    changed: list[str] = []
    for equal_lines, removed_lines, added_lines in _changed_stretches(removed, added):
        changed += [f" {line}" for line in equal_lines]
        changed += [*(f"-{line}" for line in removed_lines), *(f"+{line}" for line in added_lines)]
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


def _changed_stretches(old: list[str], new: list[str]) -> Iterator[tuple[list[str], ...]]:
    """Yield the lines that are equal, that are only in the old text, and that are only in the new one."""
    if len(old) + len(new) > MAX_COMPARED_LINES:
        yield [], old, new
        return
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield (old[i:j], [], []) if kind == "equal" else ([], old[i:j], new[k:m])


def _common_lines(old: list[str], new: list[str]) -> int:
    """Return the number of equal lines at the beginning of two lists."""
    count = 0
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count
