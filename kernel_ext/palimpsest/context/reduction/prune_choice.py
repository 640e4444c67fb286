"""Choose which old outputs are cleared, by their sizes and flags alone.

Border: pure; it knows no messages. ``pruning.py`` gives it the outputs of a session's messages, and
``review/policies/engine_reduction.py`` those of a timeline, so that both decide the same.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.reduction.superseded_reads import NewerCall
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PrunePolicy
from palimpsest.transcript.ids import short

BATCH = f"{PRUNE_RULE}batch"
OPENCODE = f"{PRUNE_RULE}opencode"

WORTH_TOKENS = 100
"""Tokens that clearing an output must save: a smaller output costs little more than its placeholder."""

NOTES = {"read-again": "the same file was read again later", "changed": "the file changed later"}


@dataclass(frozen=True, slots=True)
class SizedOutput:
    """An output that is shown, and what decides whether it may be cleared."""

    part_id: str
    tool: str
    tokens: int
    kept: bool
    """A person pinned or restored it."""
    recent: bool
    """It belongs to one of the newest turns."""


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """An output that may be cleared, and what that saves."""

    part_id: str
    newer: NewerCall | None
    text: str
    tokens_before: int
    tokens_after: int
    recent: bool
    """It belongs to one of the newest turns."""

    @property
    def saved(self) -> int:
        """Tokens that clearing it frees."""
        return self.tokens_before - self.tokens_after


@dataclass(frozen=True, slots=True)
class PruneTarget:
    """When to start, where to stop, and what is kept, in tokens as the estimator counts them."""

    used: float
    start: float
    target: float
    cold: bool
    protect: int
    minimum: int

    @property
    def is_due(self) -> bool:
        """The cache is cold, or the request is near the budget."""
        return self.cold or self.used >= self.start


def prune_target(rule: PrunePolicy, facts: Facts) -> PruneTarget:
    """Return when the ``batch`` rule starts and where it stops."""
    budget = max(facts.window - facts.reserve, 0) / facts.calibration
    scale = min(1.0, facts.window / rule.full_window)
    age = facts.cache_age_seconds
    return PruneTarget(
        used=facts.used_tokens or 0,
        start=math.inf if facts.used_tokens is None else budget * rule.start_share,
        target=budget * rule.target_share,
        cold=age is not None and age >= rule.ttl_seconds,
        protect=int(rule.protect_tokens * scale),
        minimum=int(rule.minimum_tokens * scale),
    )


def batch_to_clear(
    newest_first: Iterable[SizedOutput],
    rule: PrunePolicy,
    aim: PruneTarget,
    newer: Callable[[str], NewerCall | None],
    count: Callable[[str], int],
) -> tuple[PruneCandidate, ...]:
    """Choose what the ``batch`` rule clears at once, oldest first; nothing where it does not pay.

    ``newer`` returns the call that made a read out of date, by the read's part.
    """
    chosen = _choose(_candidates(newest_first, rule, aim, newer, count), aim)
    saved = sum(one.saved for one in chosen)
    return tuple(chosen) if chosen and saved >= aim.minimum else ()


def batch_numbers(chosen: Sequence[PruneCandidate], aim: PruneTarget) -> list[dict[str, Any]]:
    """Return what is recorded with each decision of a batch."""
    numbers = {
        "used_tokens": round(aim.used),
        "start_tokens": None if aim.start == math.inf else round(aim.start),
        "target_tokens": round(aim.target),
        "cold": aim.cold,
        "protect_tokens": aim.protect,
        "minimum_tokens": aim.minimum,
        "batch_tokens": sum(one.saved for one in chosen),
    }
    return [numbers | {"text": one.text} | _why(one) for one in chosen]


def _candidates(
    newest_first: Iterable[SizedOutput],
    rule: PrunePolicy,
    aim: PruneTarget,
    newer: Callable[[str], NewerCall | None],
    count: Callable[[str], int],
) -> list[PruneCandidate]:
    """Return what may be cleared, oldest first: nothing pinned, restored, protected, new or tiny."""
    behind = []
    newest_tokens = 0
    for output in newest_first:
        is_behind = newest_tokens >= aim.protect
        newest_tokens += output.tokens
        if is_behind and not output.kept and output.tool not in rule.protected_tools:
            behind.append(output)
    if sum(output.tokens for output in behind) < aim.minimum:
        return []
    found = []
    for output in behind:
        one = newer(output.part_id)
        text = _note(rule, output.part_id, one)
        after = count(text)
        if output.tokens - after >= WORTH_TOKENS:
            found.append(
                PruneCandidate(output.part_id, one, text, output.tokens, after, output.recent)
            )
    return found[::-1]


def _choose(candidates: Sequence[PruneCandidate], aim: PruneTarget) -> list[PruneCandidate]:
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


def _in_order(candidates: Iterable[PruneCandidate]) -> list[PruneCandidate]:
    """Put out-of-date reads first; else the oldest stay first."""
    return sorted(candidates, key=lambda one: one.newer is None)


def _until(candidates: Iterable[PruneCandidate], enough: float, least: int) -> list[PruneCandidate]:
    """Take as many as free enough tokens, and no fewer than are worth it at once."""
    chosen: list[PruneCandidate] = []
    saved = 0
    for one in candidates:
        if saved >= enough and saved >= least:
            break
        chosen.append(one)
        saved += one.saved
    return chosen


def _why(one: PruneCandidate) -> dict[str, str]:
    if one.newer is None:
        return {"reason": "old"}
    return {"reason": one.newer.reason, "by_part_id": one.newer.part_id}


def _note(rule: PrunePolicy, part_id: str, newer: NewerCall | None) -> str:
    """Return the placeholder: that the output is cleared, what made it out of date, how to recall it."""
    why = f": {NOTES[newer.reason]}" if newer is not None else ""
    back = f"; recall {short(part_id)} shows it" if rule.recall else ""
    return f"{rule.placeholder.removesuffix(']')}{why}{back}]" if why or back else rule.placeholder


@dataclass(frozen=True, slots=True)
class OlderOutput:
    """An output as the ``opencode`` rule meets it on its way back."""

    part_id: str
    tool: str
    turns: int
    """User messages from its own message on."""
    cleared: bool
    spared: bool
    """A person pinned or restored it, or it is not shown."""


@dataclass(frozen=True, slots=True)
class ClearedOutput:
    """An output beyond the protected tokens."""

    part_id: str
    tokens: int
    reached: int
    """Tokens of outputs from the newest to this one."""


def beyond_protected(
    newest_first: Iterable[OlderOutput], rule: PrunePolicy, tokens_of: Callable[[str], int]
) -> tuple[tuple[ClearedOutput, ...], int]:
    """Return what the ``opencode`` rule clears, newest first, and the tokens that would be freed.

    It clears nothing where that frees too little, and stops at an output that was cleared: everything older
    was considered for pruning before.
    """
    total = behind = 0
    found: list[ClearedOutput] = []
    for one in newest_first:
        if one.turns < rule.protect_turns or one.tool in rule.protected_tools:
            continue
        if one.cleared:
            break
        if one.spared:
            continue
        tokens = tokens_of(one.part_id)
        total += tokens
        if total > rule.protect_tokens:
            behind += tokens
            found.append(ClearedOutput(one.part_id, tokens, total))
    return (tuple(found) if behind > rule.minimum_tokens else ()), behind


def opencode_numbers(one: ClearedOutput, rule: PrunePolicy, batch: int) -> dict[str, int | str]:
    """Return what is recorded with a decision of the ``opencode`` rule."""
    return {
        "text": rule.placeholder,
        "reached_tokens": one.reached,
        "protect_tokens": rule.protect_tokens,
        "batch_tokens": batch,
        "minimum_tokens": rule.minimum_tokens,
    }
