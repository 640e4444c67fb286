"""Notice when a turn goes round in circles.

Three equal calls in a row anywhere in the turn, or a cycle of two or three calls repeated over
three rounds (DESIGN.md 5). Upstream looks inside one message only and so misses both.
"""

import json
from collections.abc import Sequence
from typing import Any

ROUNDS = 3
PERIODS = (1, 2, 3)


def fingerprint(tool: str, given: dict[str, Any]) -> str:
    """Return what makes two calls equal: the tool and its input."""
    return tool + " " + json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)


def circles(calls: Sequence[str]) -> int | None:
    """Return the period of the circle that the newest calls make, or None."""
    for period in PERIODS:
        needed = period * ROUNDS
        newest = list(calls[-needed:])
        if len(newest) == needed and newest == newest[:period] * ROUNDS:
            return period
    return None
