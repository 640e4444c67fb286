"""Clear old tool outputs: the calls stay visible, only what they returned is replaced.

Border: pure and total. A decider reads a view, a policy and recorded facts, and decides the
same again; the loop journals what it returns and projects anew. Which outputs are cleared depends on
the policy's rule: ``opencode`` after each turn, ``cache-ttl`` when rewriting costs nothing
(``context/reduction/cache_ttl_pruning.py``), ``batch``, which is ours, near the budget too.

Every change early in a request invalidates the provider's cache from there on, so ``batch`` clears
seldom and much at once: near the budget, also in the middle of a turn, or when the cache is cold
anyway. Out-of-date reads are cleared first, then the oldest outputs. The newest turns stay whole, unless
they alone bring the request near the budget: one turn of a hundred steps can fill a window by
itself, and would otherwise be compacted while it still holds outputs that are not needed.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard, assert_never, get_args

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.context.reduction.cache_ttl_pruning import prune_cache
from palimpsest.context.reduction.shown_outputs import CallOutput, shown_outputs
from palimpsest.context.reduction.superseded_reads import NewerCall, superseded
from palimpsest.context.visible_messages import View, turn_spans
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    Facts,
    effective_reductions,
    pinned_parts,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PrunePolicy, PruneRule
from palimpsest.transcript.ids import short
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage
from palimpsest.transcript.parts import NotebookPart, Part, ToolCompleted, ToolPart

BATCH = f"{PRUNE_RULE}batch"

WORTH_TOKENS = 100
"""Tokens that clearing an output must save: a smaller output costs little more than its placeholder."""

NOTES = {"read-again": "the same file was read again later", "changed": "the file changed later"}


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """An output that may be cleared, and what that saves."""

    output: CallOutput
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


def prune_batch(
    view: View,
    policy: Policy,
    facts: Facts,
    new_id: Callable[[], str],
    count: Callable[[str], int],
) -> tuple[Decision, ...]:
    """Decide what is cleared before the coming request; nothing where it does not pay."""
    rule = policy.prune
    if not facts.window:  # no limit, so it never fills
        return ()
    aim = _aim(rule, facts)
    if not aim.cold and aim.used < aim.start:
        return ()
    messages = view.folded(policy.compact)
    chosen = _choose(_candidates(view, messages, rule, aim, count), aim)
    saved = sum(one.saved for one in chosen)
    if not chosen or saved < aim.minimum:
        return ()
    numbers = {
        "used_tokens": round(aim.used),
        "start_tokens": None if aim.start == math.inf else round(aim.start),
        "target_tokens": round(aim.target),
        "cold": aim.cold,
        "protect_tokens": aim.protect,
        "minimum_tokens": aim.minimum,
        "batch_tokens": saved,
    }
    return tuple(
        Decision(
            id=new_id(),
            action="clear",
            rule=BATCH,
            message_id=one.output.part.message_id,
            part_id=one.output.part.id,
            numbers=numbers | {"text": one.text} | _why(one),
            tokens_before=one.tokens_before,
            tokens_after=one.tokens_after,
        )
        for one in chosen
    )


def _aim(rule: PrunePolicy, facts: Facts) -> PruneTarget:
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


def _candidates(
    view: View, messages: Messages, rule: PrunePolicy, aim: PruneTarget, count: Callable[[str], int]
) -> list[PruneCandidate]:
    """Return what may be cleared, oldest first: nothing pinned, restored, protected, new or tiny."""
    shown = shown_outputs(view, messages)
    newer = superseded(messages, [output.part.id for output in shown])
    kept = pinned_parts(messages, view.decisions) | EffectiveDecisions(view.decisions).restored
    spans = turn_spans(messages)
    recent = spans[-rule.protect_turns :] if rule.protect_turns else []
    recent_from = recent[0][0] if recent else len(messages)
    found = []
    newest_tokens = 0
    for output in reversed(shown):
        tokens = count(output.shown) + MEDIA_TOKENS * output.media
        behind = newest_tokens >= aim.protect
        newest_tokens += tokens
        if not behind or output.part.id in kept or output.tool in rule.protected_tools:
            continue
        one = newer.get(output.part.id)
        text = _note(rule, output.part.id, one)
        if tokens - count(text) >= WORTH_TOKENS:
            is_recent = output.position >= recent_from
            found.append(PruneCandidate(output, one, text, tokens, count(text), is_recent))
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
    order = {one.output.part.id: at for at, one in enumerate(candidates)}
    return sorted(chosen, key=lambda one: order[one.output.part.id])


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


OPENCODE = f"{PRUNE_RULE}opencode"

Decide = Callable[
    [View, Policy, Facts, Callable[[], str], Callable[[str], int]], tuple[Decision, ...]
]


class Pruner(NamedTuple):
    """The decider of a pruning rule, and when it runs."""

    decide: Decide
    before_requests: bool
    """It runs before each request; otherwise when a turn has ended."""


def prune(
    view: View,
    policy: Policy,
    facts: Facts,
    new_id: Callable[[], str],
    count: Callable[[str], int],
) -> tuple[Decision, ...]:
    """Decide which old outputs later requests no longer show; usually none.

    ``view`` is of the whole session. ``batch`` and ``cache-ttl`` run before each request,
    ``opencode`` when a turn has ended. What was decided before is not decided again; a decision
    to restore undoes one that was for a single request.
    """
    return _pruner(policy.prune.rule).decide(view, policy, facts, new_id, count)


def _prune_nothing(
    _view: View,
    _policy: Policy,
    _facts: Facts,
    _new_id: Callable[[], str],
    _count: Callable[[str], int],
) -> tuple[Decision, ...]:
    return ()


def _prune_opencode(
    view: View,
    policy: Policy,
    _facts: Facts,
    new_id: Callable[[], str],
    count: Callable[[str], int],
) -> tuple[Decision, ...]:
    """Clear outputs older than the newest ``protect_tokens`` of output, if that frees enough at once.

    Follows spec/session-engine.md 1.13; the output that crosses the line is cleared too.
    """
    rule = policy.prune
    shown = {output.part.id: output.shown for output in shown_outputs(view, view.messages)}
    kept = pinned_parts(view.messages, view.decisions) | EffectiveDecisions(view.decisions).restored
    total = behind = 0
    found: list[tuple[ToolPart | NotebookPart, int, int]] = []
    for part in _older_outputs(view, rule):
        if part.id in kept or part.id not in shown:
            continue
        tokens = count(shown[part.id])
        total += tokens
        if total > rule.protect_tokens:
            behind += tokens
            found.append((part, tokens, total))
    if behind <= rule.minimum_tokens:
        return ()
    return tuple(
        Decision(
            id=new_id(),
            action="clear",
            rule=OPENCODE,
            message_id=part.message_id,
            part_id=part.id,
            numbers={
                "text": rule.placeholder,
                "reached_tokens": reached,
                "protect_tokens": rule.protect_tokens,
                "batch_tokens": behind,
                "minimum_tokens": rule.minimum_tokens,
            },
            tokens_before=tokens,
            tokens_after=count(rule.placeholder),
        )
        for part, tokens, reached in found
    )


def _older_outputs(view: View, rule: PrunePolicy) -> Iterator[ToolPart | NotebookPart]:
    """Yield completed calls of all but the newest turns, newest first, back to a summary or cleared output.

    Everything older than those was considered for pruning before.
    """
    effective = effective_reductions(view.decisions)
    cleared = {part_id for part_id, one in effective.items() if one.action == "clear"}
    turns = 0
    for message in reversed(view.messages):
        turns += isinstance(message.info, UserMessage)
        if turns < rule.protect_turns:
            continue
        if isinstance(message.info, AssistantMessage) and message.info.summary:
            return
        for part in reversed(message.parts):
            if not _is_output(part) or _name_of(part) in rule.protected_tools:
                continue
            if part.id in cleared:
                return
            yield part


def _is_output(part: Part) -> TypeGuard[ToolPart | NotebookPart]:
    if isinstance(part, ToolPart):
        return isinstance(part.state, ToolCompleted)
    return isinstance(part, NotebookPart)


def _name_of(part: ToolPart | NotebookPart) -> str:
    return part.tool if isinstance(part, ToolPart) else part.type


def _pruner(rule: PruneRule) -> Pruner:
    match rule:
        case "none":
            return Pruner(_prune_nothing, before_requests=False)
        case "opencode":
            return Pruner(_prune_opencode, before_requests=False)
        case "cache-ttl":
            return Pruner(prune_cache, before_requests=True)
        case "batch":
            return Pruner(prune_batch, before_requests=True)
        case _:
            assert_never(rule)


BEFORE_REQUESTS = frozenset(rule for rule in get_args(PruneRule) if _pruner(rule).before_requests)
"""Rules that run before each request; the others run when a turn has ended."""
