"""Parse OpenClaw's configuration of cold-cache pruning into our policy.

Border: pure. A missing or invalid value leaves the policy's own, so that a typing error in a file does not
remove half of the history from a request.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from palimpsest.transcript.context_values.policies import PrunePolicy

SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")

NAMES = {"ttl": "ttl_seconds"}
"""Settings whose name differs from the policy's."""


def prune_settings(given: object, policy: PrunePolicy) -> PrunePolicy:
    """Return the configured policy; without ``mode`` ``cache-ttl`` nothing is pruned.

    The names are those of the policy, and ``ttl``: a time such as ``90s``, ``5m`` or ``1h``; a
    bare number is minutes.
    """
    if not isinstance(given, Mapping) or given.get("mode") != "cache-ttl":
        return policy.model_copy(update={"rule": "none"})
    update: dict[str, Any] = {"rule": "cache-ttl"}
    for name, read in READERS.items():
        value = read(given.get(name))
        if value is not None:
            update[NAMES.get(name, name)] = value
    return policy.model_copy(update=update)


def _seconds(ttl: object) -> float | None:
    if not isinstance(ttl, str):
        return None
    match = DURATION.fullmatch(ttl.strip().lower())
    return None if match is None else float(match[1]) * SECONDS[match[2] or "m"]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None else max(0, math.floor(number))


def _ratio(value: object) -> float | None:
    number = _number(value)
    return None if number is None else min(1.0, max(0.0, float(number)))


def _tools(value: object) -> tuple[str, ...] | None:
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _words(value: object) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


READERS: dict[str, Callable[[object], Any]] = {
    "ttl": _seconds,
    "keep_assistants": _count,
    "soft_ratio": _ratio,
    "hard_ratio": _ratio,
    "min_prunable_chars": _count,
    "soft_max_chars": _count,
    "soft_head_chars": _count,
    "soft_tail_chars": _count,
    "allow_tools": _tools,
    "deny_tools": _tools,
    "hard_clear": _flag,
    "placeholder": _words,
}
"""The parser of each setting's value; an invalid value is ignored."""
