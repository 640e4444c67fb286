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

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeGuard, assert_never, get_args

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.context.reduction.cache_ttl_pruning import prune_cache
from palimpsest.context.reduction.prune_choice import (
    BATCH,
    OPENCODE,
    OlderOutput,
    SizedOutput,
    batch_numbers,
    batch_to_clear,
    beyond_protected,
    opencode_numbers,
    prune_target,
)
from palimpsest.context.reduction.shown_outputs import CallOutput, shown_outputs
from palimpsest.context.reduction.superseded_reads import superseded
from palimpsest.context.visible_messages import View, turn_spans
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    Facts,
    effective_reductions,
    pinned_parts,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PrunePolicy, PruneRule
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage
from palimpsest.transcript.parts import NotebookPart, Part, ToolCompleted, ToolPart


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
    aim = prune_target(rule, facts)
    if not aim.is_due:
        return ()
    messages = view.folded(policy.compact)
    shown = shown_outputs(view, messages)
    newer = superseded(messages, [output.part.id for output in shown])
    chosen = batch_to_clear(_sized(view, messages, shown, rule, count), rule, aim, newer.get, count)
    homes = {output.part.id: output.part.message_id for output in shown}
    return tuple(
        Decision(
            id=new_id(),
            action="clear",
            rule=BATCH,
            message_id=homes[one.part_id],
            part_id=one.part_id,
            numbers=numbers,
            tokens_before=one.tokens_before,
            tokens_after=one.tokens_after,
        )
        for one, numbers in zip(chosen, batch_numbers(chosen, aim), strict=True)
    )


def _sized(
    view: View,
    messages: Messages,
    shown: Sequence[CallOutput],
    rule: PrunePolicy,
    count: Callable[[str], int],
) -> Iterator[SizedOutput]:
    """Yield what is shown with its size, newest first."""
    kept = pinned_parts(messages, view.decisions) | EffectiveDecisions(view.decisions).restored
    spans = turn_spans(messages)
    recent = spans[-rule.protect_turns :] if rule.protect_turns else []
    recent_from = recent[0][0] if recent else len(messages)
    for output in reversed(shown):
        yield SizedOutput(
            part_id=output.part.id,
            tool=output.tool,
            tokens=count(output.shown) + MEDIA_TOKENS * output.media,
            kept=output.part.id in kept,
            recent=output.position >= recent_from,
        )


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
    homes: dict[str, str] = {}
    found, freed = beyond_protected(
        _older_outputs(view, rule, kept, shown, homes), rule, lambda part_id: count(shown[part_id])
    )
    return tuple(
        Decision(
            id=new_id(),
            action="clear",
            rule=OPENCODE,
            message_id=homes[one.part_id],
            part_id=one.part_id,
            numbers=opencode_numbers(one, rule, freed),
            tokens_before=one.tokens,
            tokens_after=count(rule.placeholder),
        )
        for one in found
    )


def _older_outputs(
    view: View, rule: PrunePolicy, kept: Set[str], shown: Mapping[str, str], homes: dict[str, str]
) -> Iterator[OlderOutput]:
    """Yield completed calls, newest first, back to a summary, and note the message of each."""
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
            if _is_output(part):
                homes[part.id] = part.message_id
                yield OlderOutput(
                    part_id=part.id,
                    tool=_name_of(part),
                    turns=turns,
                    cleared=part.id in cleared,
                    spared=part.id in kept or part.id not in shown,
                )


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
