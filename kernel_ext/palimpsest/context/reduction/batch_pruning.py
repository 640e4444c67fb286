"""Clear old outputs in batches near the budget, or when the provider's cache is cold: our own rule.

Every change early in a request invalidates the provider's cache from there on, so ``batch`` clears
seldom and much at once: near the budget, also in the middle of a turn, or when the cache is cold
anyway. Out-of-date reads are cleared first, then the oldest outputs. The newest turns stay whole, unless
they alone bring the request near the budget: one turn of a hundred steps can fill a window by
itself, and would otherwise be compacted while it still holds outputs that are not needed.
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
from palimpsest.transcript.ids import short

WORTH_TOKENS = 100
"""Tokens that clearing an output must save: a smaller output costs little more than its placeholder."""

NOTES = {"read-again": "the same file was read again later", "changed": "the file changed later"}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An output that may be cleared, and what that saves."""

    part_id: str
    newer: NewerCall | None
    text: str
    tokens: int
    saved: int
    recent: bool
    """It belongs to one of the newest turns."""


@dataclass(frozen=True, slots=True)
class _Target:
    """When to start, where to stop, and what is kept, in tokens as the estimator counts them."""

    used: float
    start: float
    target: float
    cold: bool
    protect: int
    minimum: int


def prune_batch(outputs: RequestOutputs, rule: PrunePolicy, facts: Facts) -> RuleAnswer:
    """Decide what is cleared before the coming request; nothing where it does not pay."""
    if not facts.window:  # no limit, so it never fills
        return RuleAnswer()
    aim = _target(rule, facts)
    looked_at = LookedAt("tokens of the request", aim.used, aim.start)
    if not aim.cold and aim.used < aim.start:
        return RuleAnswer((), looked_at)
    if outputs.tokens_at_most - aim.protect < aim.minimum:
        return RuleAnswer((), looked_at)
    chosen = _choose(_candidates(outputs, rule, aim), aim)
    saved = sum(one.saved for one in chosen)
    if saved < aim.minimum:
        return RuleAnswer((), looked_at)
    numbers = {
        "used_tokens": round(aim.used),
        "start_tokens": None if aim.start == math.inf else round(aim.start),
        "target_tokens": round(aim.target),
        "cold": aim.cold,
        "protect_tokens": aim.protect,
        "minimum_tokens": aim.minimum,
        "batch_tokens": saved,
    }
    made = (
        OutputReduction(
            one.part_id, "clear", numbers | {"text": one.text} | _why(one), one.text, one.tokens
        )
        for one in chosen
    )
    return RuleAnswer(tuple(made), looked_at)


def _target(rule: PrunePolicy, facts: Facts) -> _Target:
    budget = max(facts.window - facts.reserve, 0) / facts.calibration
    scale = min(1.0, facts.window / rule.full_window)
    age = facts.cache_age_seconds
    return _Target(
        used=facts.used_tokens or 0,
        start=math.inf if facts.used_tokens is None else budget * rule.start_share,
        target=budget * rule.target_share,
        cold=age is not None and age >= rule.ttl_seconds,
        protect=int(rule.protect_tokens * scale),
        minimum=int(rule.minimum_tokens * (scale**2 if rule.minimum_scaled == "square" else scale)),
    )


def _candidates(outputs: RequestOutputs, rule: PrunePolicy, aim: _Target) -> list[_Candidate]:
    """Return what may be cleared, oldest first: nothing pinned, restored, protected, new or tiny."""
    behind = []
    newest_tokens = 0
    for output in outputs.newest_first():
        is_behind = newest_tokens >= aim.protect
        tokens = output.tokens + MEDIA_TOKENS * output.media
        newest_tokens += tokens
        if is_behind and not output.kept and output.tool not in rule.protected_tools:
            behind.append((output, tokens))
    if sum(tokens for _, tokens in behind) < aim.minimum:
        return []
    found = []
    for output, tokens in reversed(behind):
        newer = outputs.newer_call(output.part_id)
        text = _note(rule, output.part_id, newer)
        saved = tokens - outputs.count(text)
        if saved >= WORTH_TOKENS:
            recent = output.is_recent(rule.protect_turns)
            found.append(_Candidate(output.part_id, newer, text, tokens, saved, recent))
    return found


def _choose(candidates: Sequence[_Candidate], aim: _Target) -> list[_Candidate]:
    """Take from the older turns first; from the newest only where those alone fill the window."""
    older = [one for one in candidates if not one.recent]
    chosen = older if aim.cold else _until(_in_order(older), aim.used - aim.target, aim.minimum)
    left = aim.used - sum(one.saved for one in chosen)
    if left >= aim.start:
        recent = [one for one in candidates if one.recent]
        least = aim.minimum - round(aim.used - left)
        chosen = [*chosen, *_until(_in_order(recent), left - aim.target, least)]
    order = {one.part_id: at for at, one in enumerate(candidates)}
    return sorted(chosen, key=lambda one: order[one.part_id])


def _in_order(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    """Put out-of-date reads first; else the oldest stay first."""
    return sorted(candidates, key=lambda one: one.newer is None)


def _until(candidates: Iterable[_Candidate], enough: float, least: int) -> list[_Candidate]:
    """Take as many as free enough tokens, and no fewer than are worth it at once."""
    chosen: list[_Candidate] = []
    saved = 0
    for one in candidates:
        if saved >= enough and saved >= least:
            break
        chosen.append(one)
        saved += one.saved
    return chosen


def _why(one: _Candidate) -> dict[str, Any]:
    if one.newer is None:
        return {"reason": "old"}
    return {"reason": one.newer.reason, "by_part_id": one.newer.part_id}


def _note(rule: PrunePolicy, part_id: str, newer: NewerCall | None) -> str:
    """Return the placeholder: that the output is cleared, what made it out of date, how to recall it."""
    why = f": {NOTES[newer.reason]}" if newer is not None else ""
    back = f"; recall {short(part_id)} shows it" if rule.recall else ""
    return f"{rule.placeholder.removesuffix(']')}{why}{back}]" if why or back else rule.placeholder
