"""Choose the cheapest way to make a request fit, before it is sent.

The actions and their numbers are OpenClaw's: truncating long tool results costs nothing, so it is chosen where it frees
enough with a margin; a compaction takes a model request.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.transcript.context_values.policies import OverflowPolicy, RecoveryPolicy
from palimpsest.transcript.values import CHARS_PER_TOKEN

FitAction = Literal["fits", "compact_only", "truncate_tool_results_only", "compact_then_truncate"]

MIN_PROMPT_TOKENS = 8_000
MIN_PROMPT_SHARE = 0.5
"""The reserve leaves the prompt at least so many tokens, or this share of a small window."""
MAX_RESERVE_SHARE = 0.25
"""At most this share of the window is kept in reserve."""
MIN_SPARE_CHARS = 2_048
MIN_SPARE_FACTOR = 1.5
"""Truncating results alone must free more than the overflow: by this many characters, and by this factor."""
MAX_RESULT_CHARS_BY_WINDOW = ((200_000, 64_000), (100_000, 32_000), (0, 16_000))
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


MAX_RESULTS_TOGETHER = 4
MAX_SHARE_TOGETHER = 0.5
"""All results together may take this many times the limit of one, or this share of the window, if more."""


def result_chars(window: int, policy: RecoveryPolicy) -> int:
    """Return the maximum characters of one tool result, for a window in tokens."""
    max_share_chars = math.floor(window * policy.result_share) * CHARS_PER_TOKEN
    max_chars = policy.result_cap
    if max_chars is None:
        max_chars = next(
            chars for min_window, chars in MAX_RESULT_CHARS_BY_WINDOW if window >= min_window
        )
    return min(max_share_chars, max_chars)


def max_results_chars(window: int, policy: RecoveryPolicy) -> int | None:
    """Return the maximum characters of all tool results together; None means no limit."""
    max_result_chars = result_chars(window, policy)
    match policy.results_together:
        case "none":
            return None
        case "single":
            return max_result_chars
        case "window":
            share_chars = int(window * MAX_SHARE_TOGETHER) * CHARS_PER_TOKEN
            return max(max_result_chars * MAX_RESULTS_TOGETHER, share_chars)


def count_reducible_chars(
    result_lengths: Sequence[int], window: int, policy: RecoveryPolicy
) -> int:
    """Return the characters that truncating tool results would free: each long one, then all together."""
    max_chars = result_chars(window, policy)
    max_total_chars = max_results_chars(window, policy)
    truncated_chars = sum(min(chars, max_chars) for chars in result_lengths)
    return sum(result_lengths) - (
        truncated_chars if max_total_chars is None else min(truncated_chars, max_total_chars)
    )


def reserve_of(window: int, reserved_tokens: int, policy: OverflowPolicy) -> int:
    """Return the tokens that are kept free, at most the requested ``reserved_tokens``."""
    min_prompt_tokens = min(MIN_PROMPT_TOKENS, int(window * MIN_PROMPT_SHARE))
    reserve = min(reserved_tokens, max(0, window - min_prompt_tokens))
    return min(reserve, int(window * MAX_RESERVE_SHARE)) if policy.reserve_share else reserve


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
    elif reducible_chars >= max(
        chars_needed + MIN_SPARE_CHARS, math.ceil(chars_needed * MIN_SPARE_FACTOR)
    ):
        action = "truncate_tool_results_only"
    return Precheck(action, tokens, budget, overflow, reducible_chars, reserve)
