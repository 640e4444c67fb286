"""Prune at the end of a turn whose requests are held: with the next request that is let go.

What is postponed is decided about the messages up to the end of that turn, so that it is what would have been decided
then, with the clock of the release. Where it ends is kept beyond the kernel (``PostponedPruning.keep``).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

from palimpsest.context.request_assembly.fit import DecisionBatch
from palimpsest.context.request_assembly.fit import prune_after_turn as pruning
from palimpsest.context.request_assembly.message_request import MessageRequest
from palimpsest.context.request_assembly.projection import Projection, project
from palimpsest.context.visible_messages import View
from palimpsest.loop.model_requests.request_builder import facts_for
from palimpsest.loop.run_inputs.run_context import RunContext, StepSetup
from palimpsest.transcript.session_record.events import DecisionMade


def postpone_pruning(run_context: RunContext) -> None:
    """Note that the next released request prunes what the policy prunes at the end of the turn that ended now."""
    messages = run_context.log.state.messages()
    _put(run_context, messages[-1].id if messages else "")


def prune_postponed(run_context: RunContext, setup: StepSetup) -> None:
    """Journal what was postponed, before the request that a person let go."""
    found = postponed_batches(run_context, setup, run_context.view(), _ids(run_context))
    _journal(run_context, found)
    _put(run_context, "")


def _put(run_context: RunContext, until: str) -> None:
    run_context.postponed.until = until
    run_context.postponed.keep(until)


def postponed_batches(
    run_context: RunContext, setup: StepSetup, view: View, new_id: Callable[[], str]
) -> Iterator[DecisionBatch]:
    """Yield what was postponed as it would be decided about a view now; nothing where the turn is gone."""
    until = run_context.postponed.until
    ids = [message.id for message in view.messages]
    if until not in ids:
        return
    ended = dataclasses.replace(view, messages=view.messages[: ids.index(until) + 1])
    yield from _batches(run_context, setup, ended, new_id)


def _batches(
    run_context: RunContext, setup: StepSetup, view: View, new_id: Callable[[], str]
) -> Iterator[DecisionBatch]:
    def projected(seen: View) -> Projection:
        return project(
            seen,
            system=setup.system,
            tools=setup.specs,
            model=setup.info,
            policy=setup.policy,
            count=setup.count,
        )

    request = run_context.log.state.request
    facts = facts_for(run_context, setup, request.tokens if request is not None else 0)
    for told in pruning(MessageRequest(view, setup.policy, facts, setup.count, projected, new_id)):
        if isinstance(told, DecisionBatch):
            yield told


def _ids(run_context: RunContext) -> Callable[[], str]:
    return functools.partial(run_context.ids.new, "dec")


def _journal(run_context: RunContext, found: Iterator[DecisionBatch]) -> None:
    for told in found:
        first, *others = told.decisions
        run_context.write(
            DecisionMade(decision=first, facts=told.facts),
            *(DecisionMade(decision=one) for one in others),
        )
