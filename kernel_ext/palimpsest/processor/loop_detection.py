"""Detect doom loops: a turn that repeats the same tool calls.

Three equal calls in a row anywhere in the turn, or a cycle of two or three calls repeated over
three rounds (DESIGN.md 5). OpenCode compares calls inside one message only and so misses both.
"""

import json
from collections.abc import Sequence
from typing import Any

ROUNDS = 3
PERIODS = (1, 2, 3)


def fingerprint(tool: str, given: dict[str, Any]) -> str:
    """Return what makes two calls equal: the tool and its input."""
    return tool + " " + json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)


def repeated_calls(calls: Sequence[str]) -> frozenset[str]:
    """Return the calls of the loop that the newest calls form; empty when they form none.

    The set is the same wherever the loop began, so that the user's answer about it is remembered.
    """
    for period in PERIODS:
        needed = period * ROUNDS
        newest = list(calls[-needed:])
        if len(newest) == needed and newest == newest[:period] * ROUNDS:
            return frozenset(newest[:period])
    return frozenset()
