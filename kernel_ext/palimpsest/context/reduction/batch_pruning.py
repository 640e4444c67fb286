"""Clear old outputs in batches near the budget, or when the provider's cache is cold: our own rule.

Every change early in a request invalidates the provider's cache from there on, so ``batch`` clears
seldom and much at once: near the budget, also in the middle of a turn, or when the cache is cold
anyway. Out-of-date reads are cleared first, then the oldest outputs. The newest turns stay whole, unless
they alone bring the request near the budget: one turn of a hundred steps can fill a window by
itself, and would otherwise be compacted while it still has unneeded outputs.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.context.reduction.request_outputs import (
    LookedAt,
    OutputReduction,
    RequestOutputs,
    RuleAnswer,
)
from palimpsest.context.reduction.superseded_reads import NewerCall
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PrunePolicy
from palimpsest.transcript.ids import short_id

MIN_SAVED_TOKENS = 100
"""Tokens that clearing an output must save: a smaller output costs little more than its placeholder."""
REASONS = {"read-again": "the same file was read again later", "changed": "the file changed later"}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An output that may be cleared, and the tokens that this saves."""

    part_id: str
    newer_call: NewerCall | None
    text: str
    tokens: int
    tokens_saved: int
    is_recent: bool
    """Whether the output belongs to one of the newest turns."""


@dataclass(frozen=True, slots=True)
class _BatchLimits:
    """The thresholds of a batch, in estimated tokens."""

    used_tokens: float
    start_tokens: float
    target_tokens: float
    cache_expired: bool
    """Whether the provider's cache has expired."""
    protected_tokens: int
    minimum_tokens: int


def prune_batch(outputs: RequestOutputs, rule: PrunePolicy, facts: Facts) -> RuleAnswer:
    """Decide which outputs are cleared before the next request; none where it does not pay."""
    if not facts.window:  # no limit, so it never fills
        return RuleAnswer()
    limits = _limits(rule, facts)
    checked_figure = LookedAt("tokens of the request", limits.used_tokens, limits.start_tokens)
    if not limits.cache_expired and limits.used_tokens < limits.start_tokens:
        return RuleAnswer((), checked_figure)
    if outputs.tokens_at_most - limits.protected_tokens < limits.minimum_tokens:
        return RuleAnswer((), checked_figure)
    chosen_outputs = _chosen_outputs(_candidates(outputs, rule, limits), limits)
    tokens_saved = sum(candidate.tokens_saved for candidate in chosen_outputs)
    if tokens_saved < limits.minimum_tokens:
        return RuleAnswer((), checked_figure)
    numbers = {
        "used_tokens": round(limits.used_tokens),
        "start_tokens": None if limits.start_tokens == math.inf else round(limits.start_tokens),
        "target_tokens": round(limits.target_tokens),
        "cold": limits.cache_expired,
        "protect_tokens": limits.protected_tokens,
        "minimum_tokens": limits.minimum_tokens,
        "batch_tokens": tokens_saved,
    }
    reductions = (
        OutputReduction(
            candidate.part_id,
            "clear",
            numbers | {"text": candidate.text} | _reason_fields(candidate),
            candidate.text,
            candidate.tokens,
        )
        for candidate in chosen_outputs
    )
    return RuleAnswer(tuple(reductions), checked_figure)


def _limits(rule: PrunePolicy, facts: Facts) -> _BatchLimits:
    budget = max(facts.window - facts.reserve, 0) / facts.calibration
    window_share = min(1.0, facts.window / rule.full_window)
    minimum_share = window_share**2 if rule.minimum_scaled == "square" else window_share
    cache_age = facts.cache_age_seconds
    return _BatchLimits(
        used_tokens=facts.used_tokens or 0,
        start_tokens=math.inf if facts.used_tokens is None else budget * rule.start_share,
        target_tokens=budget * rule.target_share,
        cache_expired=cache_age is not None and cache_age >= rule.ttl_seconds,
        protected_tokens=int(rule.protect_tokens * window_share),
        minimum_tokens=int(rule.minimum_tokens * minimum_share),
    )


def _candidates(
    outputs: RequestOutputs, rule: PrunePolicy, limits: _BatchLimits
) -> list[_Candidate]:
    """Return the clearable outputs, oldest first: not pinned, restored, protected, new or tiny."""
    unprotected_outputs = []
    newest_tokens = 0
    for output in outputs.newest_first():
        is_protected = newest_tokens < limits.protected_tokens
        tokens = output.tokens + MEDIA_TOKENS * output.media_count
        newest_tokens += tokens
        is_exempt = output.is_kept_by_user or output.tool in rule.protected_tools
        if not is_protected and not is_exempt:
            unprotected_outputs.append((output, tokens))
    if sum(tokens for _, tokens in unprotected_outputs) < limits.minimum_tokens:
        return []
    candidates = []
    for output, tokens in reversed(unprotected_outputs):
        newer_call = outputs.newer_call(output.part_id)
        text = _placeholder(rule, output.part_id, newer_call)
        tokens_saved = tokens - outputs.count(text)
        if tokens_saved >= MIN_SAVED_TOKENS:
            is_recent = output.is_recent(rule.protect_turns)
            candidates.append(
                _Candidate(output.part_id, newer_call, text, tokens, tokens_saved, is_recent)
            )
    return candidates


def _chosen_outputs(candidates: Sequence[_Candidate], limits: _BatchLimits) -> list[_Candidate]:
    """Choose outputs of older turns first; of the newest only where those alone fill the window."""
    chosen_candidates = [candidate for candidate in candidates if not candidate.is_recent]
    if not limits.cache_expired:
        tokens_to_free = limits.used_tokens - limits.target_tokens
        chosen_candidates = _take_enough(chosen_candidates, tokens_to_free, limits.minimum_tokens)
    tokens_used_after = limits.used_tokens - sum(
        candidate.tokens_saved for candidate in chosen_candidates
    )
    if tokens_used_after >= limits.start_tokens:
        recent_candidates = [candidate for candidate in candidates if candidate.is_recent]
        minimum_left = limits.minimum_tokens - round(limits.used_tokens - tokens_used_after)
        tokens_to_free = tokens_used_after - limits.target_tokens
        chosen_candidates += _take_enough(recent_candidates, tokens_to_free, minimum_left)
    order = {candidate.part_id: index for index, candidate in enumerate(candidates)}
    return sorted(chosen_candidates, key=lambda candidate: order[candidate.part_id])


def _take_enough(
    candidates: Iterable[_Candidate], tokens_to_free: float, min_tokens: int
) -> list[_Candidate]:
    """Take candidates, out-of-date reads first, until they free enough tokens and at least the minimum of a batch."""
    taken_candidates: list[_Candidate] = []
    tokens_saved = 0
    for candidate in sorted(candidates, key=lambda candidate: candidate.newer_call is None):
        if tokens_saved >= tokens_to_free and tokens_saved >= min_tokens:
            break
        taken_candidates.append(candidate)
        tokens_saved += candidate.tokens_saved
    return taken_candidates


def _reason_fields(candidate: _Candidate) -> dict[str, Any]:
    if candidate.newer_call is None:
        return {"reason": "old"}
    return {"reason": candidate.newer_call.reason, "by_part_id": candidate.newer_call.part_id}


def _placeholder(rule: PrunePolicy, part_id: str, newer_call: NewerCall | None) -> str:
    """Return the placeholder with the reason for clearing and how to recall the output."""
    reason = f": {REASONS[newer_call.reason]}" if newer_call is not None else ""
    recall_hint = f"; recall {short_id(part_id)} shows it" if rule.recall else ""
    if reason or recall_hint:
        return f"{rule.placeholder.removesuffix(']')}{reason}{recall_hint}]"
    return rule.placeholder
