"""Prune at the end of a turn whose requests are held: with the next request that is let go.

What is postponed is decided about the messages up to the end of that turn, so that it is what would have been decided
then, with the clock of the release. Where it ends is kept beyond the kernel (``PostponedPruning.keep``).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

from palimpsest.context.request_assembly.fit import DecisionBatch, MessageRequest
from palimpsest.context.request_assembly.fit import prune_after_turn as pruning
from palimpsest.context.visible_messages import View
from palimpsest.loop.model_requests.request_builder import facts_for, projected, write_decisions
from palimpsest.loop.run_inputs.run_context import RunContext, StepSetup


def postpone_pruning(run_context: RunContext) -> None:
    """Note that the next released request prunes what the policy prunes at the end of the turn that ended now."""
    messages = run_context.log.state.messages()
    _put(run_context, messages[-1].id if messages else "")


def prune_postponed(run_context: RunContext, setup: StepSetup) -> None:
    """Journal what was postponed, before the request that a person let go."""
    found = postponed_batches(
        run_context, setup, run_context.view(), functools.partial(run_context.ids.new, "dec")
    )
    for told in found:
        write_decisions(run_context, told.decisions, told.facts)
    _put(run_context, "")


def _put(run_context: RunContext, until: str) -> None:
    run_context.turn.postponed.until = until
    run_context.turn.postponed.keep(until)


def postponed_batches(
    run_context: RunContext, setup: StepSetup, view: View, new_id: Callable[[], str]
) -> Iterator[DecisionBatch]:
    """Yield what was postponed as it would be decided about a view now; nothing where the turn is gone."""
    until = run_context.turn.postponed.until
    ids = [message.id for message in view.messages]
    if until not in ids:
        return
    ended = dataclasses.replace(view, messages=view.messages[: ids.index(until) + 1])

    facts = facts_for(run_context, setup)
    project = functools.partial(projected, setup=setup)
    yield from pruning(MessageRequest(ended, setup.policy, facts, setup.count, project, new_id))
