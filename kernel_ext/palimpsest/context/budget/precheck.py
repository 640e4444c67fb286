"""Choose the cheapest way to make a request fit, before it is sent.

The actions and their numbers are OpenClaw's: truncating long tool results costs nothing, so it is chosen where it frees
enough with a margin; a compaction takes a model request.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.transcript.context_values.policies import OverflowPolicy, RecoveryPolicy

FitAction = Literal["fits", "compact_only", "truncate_tool_results_only", "compact_then_truncate"]

CHARS_PER_TOKEN = 4
MIN_PROMPT_TOKENS = 8_000
MIN_PROMPT_SHARE = 0.5
"""The reserve leaves the prompt at least so many tokens, or this share of a small window."""
RESERVE_SHARE = 0.25
"""At most this share of the window is kept in reserve."""
SPARE_CHARS = 2_048
SPARE_SHARE = 1.5
"""Truncating results alone must free more than the overflow: by this many characters, and by this factor."""
RESULT_CAPS = ((200_000, 64_000), (100_000, 32_000), (0, 16_000))
"""Maximum characters of one tool result, by the minimum window in tokens."""


@dataclass(frozen=True, slots=True)
class Precheck:
    """The estimate of a request, its budget, and the action that makes it fit."""

    fit_action: FitAction
    tokens: int
    budget: int
    overflow: int
    reducible_chars: int
    reserved_tokens: int


RESULTS_TOGETHER = 4
SHARE_TOGETHER = 0.5
"""All results together may take this many times the limit of one, or this share of the window, if more."""


def result_chars(window: int, policy: RecoveryPolicy) -> int:
    """Return the maximum characters of one tool result, for a window in tokens."""
    share = math.floor(window * policy.result_share) * CHARS_PER_TOKEN
    cap = policy.result_cap
    if cap is None:
        cap = next(chars for least, chars in RESULT_CAPS if window >= least)
    return min(share, cap)


def results_chars(window: int, policy: RecoveryPolicy) -> int | None:
    """Return the maximum characters of all tool results together; None means no limit."""
    limit = result_chars(window, policy)
    match policy.results_together:
        case "none":
            return None
        case "single":
            return limit
        case "window":
            share = int(window * SHARE_TOGETHER) * CHARS_PER_TOKEN
            return max(limit * RESULTS_TOGETHER, share)


def count_reducible_chars(results: Sequence[int], window: int, policy: RecoveryPolicy) -> int:
    """Return the characters that truncating tool results would free: each long one, then all together."""
    limit = result_chars(window, policy)
    together = results_chars(window, policy)
    each = sum(min(chars, limit) for chars in results)
    return sum(results) - (each if together is None else min(each, together))


def reserve_of(window: int, reserved_tokens: int, policy: OverflowPolicy) -> int:
    """Return the tokens that are kept free, at most the requested ``reserved_tokens``."""
    prompt = min(MIN_PROMPT_TOKENS, int(window * MIN_PROMPT_SHARE))
    reserved = min(reserved_tokens, max(0, window - prompt))
    return min(reserved, int(window * RESERVE_SHARE)) if policy.reserve_share else reserved


def precheck(
    tokens: int, reducible_chars: int, window: int, reserved_tokens: int, policy: OverflowPolicy
) -> Precheck:
    """Compare an estimate, which includes the margin, with the budget and choose the action."""
    reserve = reserve_of(window, reserved_tokens, policy)
    budget = window - reserve
    overflow = max(0, tokens - budget)
    chars_needed = overflow * CHARS_PER_TOKEN
    action: FitAction = "compact_then_truncate"
    if overflow == 0:
        action = "fits"
    elif reducible_chars <= 0:
        action = "compact_only"
    elif reducible_chars >= max(chars_needed + SPARE_CHARS, math.ceil(chars_needed * SPARE_SHARE)):
        action = "truncate_tool_results_only"
    return Precheck(action, tokens, budget, overflow, reducible_chars, reserve)
