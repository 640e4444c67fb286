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


def description_change(old_description: str, new_description: str) -> str:
    """Return the unified diff between a stored description and the present one, in linear time."""
    old_lines = stored_description(old_description).splitlines()
    new_lines = stored_description(new_description).splitlines()
    common_start_count = _common_line_count(old_lines, new_lines)
    common_end_count = _common_line_count(
        old_lines[common_start_count:][::-1], new_lines[common_start_count:][::-1]
    )
    old_middle = old_lines[common_start_count : len(old_lines) - common_end_count]
    new_middle = new_lines[common_start_count : len(new_lines) - common_end_count]
    first_shown_index = max(0, common_start_count - CONTEXT_LINES)
    lines_after = old_lines[len(old_lines) - common_end_count :][:CONTEXT_LINES]
    changed_lines: list[str] = []
    for equal_lines, removed_lines, added_lines in _changed_stretches(old_middle, new_middle):
        changed_lines += [f" {line}" for line in equal_lines]
        changed_lines += [f"-{line}" for line in removed_lines]
        changed_lines += [f"+{line}" for line in added_lines]
    context_size = common_start_count - first_shown_index + len(lines_after)
    old_size, new_size = context_size + len(old_middle), context_size + len(new_middle)
    return "\n".join(
        [
            "--- as you allowed it",
            "+++ as it is now",
            f"@@ -{first_shown_index + 1},{old_size} +{first_shown_index + 1},{new_size} @@",
            *(f" {line}" for line in old_lines[first_shown_index:common_start_count]),
            *changed_lines,
            *(f" {line}" for line in lines_after),
        ]
    )


def _changed_stretches(
    old_lines: list[str], new_lines: list[str]
) -> Iterator[tuple[list[str], ...]]:
    """Yield the lines that are equal, that are only in the old text, and that are only in the new one."""
    if len(old_lines) + len(new_lines) > MAX_COMPARED_LINES:
        yield [], old_lines, new_lines
        return
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old_part, new_part = old_lines[old_start:old_end], new_lines[new_start:new_end]
        yield (old_part, [], []) if kind == "equal" else ([], old_part, new_part)


def _common_line_count(old_lines: list[str], new_lines: list[str]) -> int:
    """Return the number of equal lines at the beginning of two lists."""
    count = 0
    while count < min(len(old_lines), len(new_lines)) and old_lines[count] == new_lines[count]:
        count += 1
    return count
