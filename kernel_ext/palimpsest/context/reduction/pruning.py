"""Clear old tool outputs: the calls stay visible, only what they returned is replaced.

Border: pure and total. A decider looks at a view, a policy and recorded facts, and decides the
same again; the loop journals what it returns and projects anew. Which outputs go is the rule of
the policy: ``opencode`` after each turn, ``cache-ttl`` when rewriting costs nothing
(``context/reduction/cache_ttl_pruning.py``), ``batch``, which is ours, near the budget too
(``context/reduction/batch_pruning.py``).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, assert_never, get_args

from palimpsest.context.reduction.batch_pruning import prune_batch
from palimpsest.context.reduction.cache_ttl_pruning import prune_cache
from palimpsest.context.reduction.shown_outputs import shown_outputs
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.effective_decisions import (
    EffectiveDecisions,
    effective_reductions,
    pinned_parts,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PrunePolicy, PruneRule
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import ToolCompleted, ToolPart

OPENCODE = f"{PRUNE_RULE}opencode"

Decide = Callable[
    [View, Policy, Facts, Callable[[], str], Callable[[str], int]], tuple[Decision, ...]
]


class Pruner(NamedTuple):
    """How a rule of pruning decides, and when it looks."""

    decide: Decide
    before_requests: bool
    """It looks before each request; else when a turn has ended."""


def prune(
    view: View,
    policy: Policy,
    facts: Facts,
    new_id: Callable[[], str],
    count: Callable[[str], int],
) -> tuple[Decision, ...]:
    """Decide which old outputs later requests no longer show; mostly that is none.

    ``view`` is of the whole session. ``batch`` and ``cache-ttl`` look at it before each request,
    ``opencode`` when a turn has ended. What was decided before is not decided again; a decision
    to restore takes back one that was for a single request.
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
    """Clear what lies behind the newest tokens of output, if that is much at once.

    Follows spec/session-engine.md 1.13; the output that crosses the line goes too.
    """
    rule = policy.prune
    shown = {output.part.id: output.shown for output in shown_outputs(view, view.messages)}
    kept = pinned_parts(view.messages, view.decisions) | EffectiveDecisions(view.decisions).restored
    total = behind = 0
    found: list[tuple[ToolPart, int, int]] = []
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


def _older_outputs(view: View, rule: PrunePolicy) -> Iterator[ToolPart]:
    """Yield completed calls, newest first, of all but the newest turns, back to what ends the walk.

    That is a summary, or an output that was cleared before: behind it all was looked at already.
    """
    holding = effective_reductions(view.decisions)
    cleared = {part_id for part_id, one in holding.items() if one.action == "clear"}
    turns = 0
    for message in reversed(view.messages):
        turns += isinstance(message.info, UserMessage)
        if turns < rule.protect_turns:
            continue
        if isinstance(message.info, AssistantMessage) and message.info.summary:
            return
        for part in reversed(message.parts):
            if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
                continue
            if part.tool in rule.protected_tools:
                continue
            if part.id in cleared:
                return
            yield part


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
"""Rules that look before each request; the others look when a turn has ended."""
