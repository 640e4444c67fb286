"""Wildcard patterns match as in the recorded OpenCode."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.golden.data import load

from palimpsest.tools.permission_rules.wildcard import matches_pattern


def most_specific_value(text: str, patterns: Mapping[str, Any]) -> Any:
    """Return the value of the longest matching pattern, or None, independent of the order of the table."""
    chosen = None
    for pattern, choice in sorted(patterns.items(), key=lambda entry: (len(entry[0]), entry[0])):
        if matches_pattern(text, pattern):
            chosen = choice
    return chosen


def most_specific_command(head: str, tail: Sequence[str], patterns: Mapping[str, Any]) -> Any:
    """Decide as ``most_specific_value`` does, for a command given as a list of words, like its patterns."""
    chosen = None
    for pattern, choice in sorted(patterns.items(), key=lambda entry: (len(entry[0]), entry[0])):
        first, *rest = pattern.split() or [""]
        if matches_pattern(head, first) and (not rest or in_order(tail, rest)):
            chosen = choice
    return chosen


def in_order(words: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether words match patterns in order, with other words between them."""
    if not patterns:
        return True
    first, *rest = patterns
    if first == "*":
        return in_order(words, rest)
    return any(
        matches_pattern(word, first) and in_order(words[position + 1 :], rest)
        for position, word in enumerate(words)
    )


def test_every_recorded_match_is_ours() -> None:
    cases = load("opencode", "wildcard")["match"]

    ours = [case | {"match": matches_pattern(case["input"], case["pattern"])} for case in cases]

    assert ours == cases


def test_of_many_patterns_the_most_specific_decides() -> None:
    cases = load("opencode", "wildcard")["all"]

    ours = [
        case | {"result": most_specific_value(case["input"], case["patterns"])} for case in cases
    ]

    assert ours == cases


def test_of_many_command_patterns_the_most_specific_decides() -> None:
    cases = load("opencode", "wildcard")["allStructured"]

    ours = [
        case | {"result": most_specific_command(case["head"], case["tail"], case["patterns"])}
        for case in cases
    ]

    assert ours == cases
