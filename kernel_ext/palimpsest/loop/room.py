"""Make room in the window: prune before a request, choose the way out, cut oversized results.

The order is the seeds' (spec/context-stability.md 1.10 and 1.11): what costs nothing first, then a
compaction, then oversized results, then a sentence. Each decision is journaled when it is made,
with the facts it was made by, and the request is built anew from what is journaled.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.overflow import overflows
from palimpsest.context.oversized import truncate_oversized
from palimpsest.context.precheck import Way
from palimpsest.context.prune import BEFORE_REQUESTS, prune
from palimpsest.context.texts import load_texts
from palimpsest.context.undo import folded
from palimpsest.context.view import View
from palimpsest.context.ways import routed
from palimpsest.loop.reminding import remind_model
from palimpsest.loop.request import Assembled, build, facts_for
from palimpsest.loop.saying import say
from palimpsest.loop.stage import Setup, Stage
from palimpsest.transcript.decisions import Decision, Facts
from palimpsest.transcript.events import DecisionMade
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage

SHORTENED = (
    "Long tool outputs were shortened, because the conversation no longer fits the context window. Go on "
    "with what was asked; where something left out matters, read a narrower piece of it again."
)


@dataclass(slots=True)
class Tries:
    """What was tried in one turn to make room, and what may still be."""

    compactions: int = 0
    refused: int = 0
    """Of those, how often because the provider refused a request as too long."""
    truncations: int = 0
    shorten: bool = False
    """The way out asks for oversized results to be cut once the summary is there."""

    def may_compact(self, setup: Setup) -> bool:
        """Tell whether another compaction may be tried in this turn."""
        policy = setup.policy
        return policy.overflow.auto and self.compactions < policy.compact.max_attempts

    def may_answer_refusal(self, setup: Setup) -> bool:
        """Tell whether a compaction may answer another refusal of the provider."""
        return self.may_compact(setup) and self.refused < setup.policy.recovery.compactions

    def may_truncate(self, setup: Setup) -> bool:
        """Tell whether oversized results may still be cut in this turn."""
        return self.truncations < setup.policy.recovery.truncations


def prepare(
    stage: Stage, setup: Setup, message_id: str, parameters: dict[str, Any], tries: Tries
) -> Assembled:
    """Build the request of a step, with less in it where the policy says so; it may still not fit."""
    remind_model(stage, setup)
    assembled = build(stage, setup, message_id, parameters)
    facts = assembled.record.facts
    if setup.policy.prune.rule in BEFORE_REQUESTS:
        found = prune(_view(stage), setup.policy, facts, _ids(stage), setup.count)
        if found:
            _write(stage, found, facts)
            assembled = build(stage, setup, message_id, parameters, facts=facts)
    way, assembled = _routed(stage, setup, assembled)
    if _cuts_now(setup, way, tries) and shorten_results(stage, setup, tries, facts):
        assembled = build(stage, setup, message_id, parameters, facts=facts)
        way, assembled = _routed(stage, setup, assembled)
    tries.shorten = way == "compact_then_truncate"
    return assembled


def _cuts_now(setup: Setup, way: Way, tries: Tries) -> bool:
    """Tell whether oversized results are to be cut before anything else, or at last."""
    if way == "fits" or not tries.may_truncate(setup):
        return False
    first = way == "truncate_tool_results_only" or tries.shorten
    return first or not tries.may_compact(setup)


def _routed(stage: Stage, setup: Setup, assembled: Assembled) -> tuple[Way, Assembled]:
    """Choose the cheapest way to make a request fit, as the policy weighs it."""
    facts = assembled.record.facts
    way, route = routed(_view(stage), assembled.projection, setup.policy, facts)
    return way, dataclasses.replace(assembled, route=route)


def reported_full(setup: Setup, message: AssistantMessage) -> bool:
    """Tell whether the tokens of an answer call for a compaction; ours looks at the next request instead."""
    policy = setup.policy.overflow
    return policy.rule.startswith("opencode") and overflows(message.tokens, setup.info, policy)


def stored_full(setup: Setup, messages: Messages) -> bool:
    """Tell whether the newest answer that ended, if no summary came since, calls for a compaction."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, AssistantMessage) and (info.finish is not None or info.summary):
            return not info.summary and reported_full(setup, info)
    return False


def prune_after_turn(stage: Stage, setup: Setup) -> None:
    """Prune where the policy does that when a turn has ended."""
    if setup.policy.prune.rule not in BEFORE_REQUESTS:
        facts = _facts(stage, setup)
        _write(stage, prune(_view(stage), setup.policy, facts, _ids(stage), setup.count), facts)


def shorten_results(stage: Stage, setup: Setup, tries: Tries, facts: Facts | None = None) -> bool:
    """Cut tool results that are too long for the window; false when there are none."""
    tries.truncations += 1
    facts = facts or _facts(stage, setup)
    view = _view(stage)
    policy = setup.policy
    seen = folded(view, policy.compact)
    ids = _ids(stage)
    found = truncate_oversized(view, seen, policy.recovery, facts, ids, setup.count)
    _write(stage, found, facts)
    return bool(found)


def go_on_shortened(stage: Stage, user: UserMessage) -> None:
    """Say in the engine's name that outputs were cut and that the work goes on."""
    say(stage, user, SHORTENED)


def _write(stage: Stage, found: Sequence[Decision], facts: Facts) -> None:
    if found:
        first, *others = found
        stage.write(
            DecisionMade(decision=first, facts=facts),
            *(DecisionMade(decision=decision) for decision in others),
        )


def _facts(stage: Stage, setup: Setup) -> Facts:
    request = stage.log.state.request
    return facts_for(stage, setup, request.tokens if request else 0)


def _view(stage: Stage) -> View:
    state = stage.log.state
    messages = state.messages()
    return View(
        messages, state.decisions, load_texts(messages, stage.blobs.get_blob, state.decisions)
    )


def _ids(stage: Stage) -> Callable[[], str]:
    return lambda: stage.ids.new("dec")
