"""Prune at the end of a turn whose requests are held: with the next request that is let go.

What is postponed is decided about the messages up to the end of that turn, so that it is what would have been decided
then, with the clock of the release. Where it ends is kept beyond the kernel (``PostponedPruning.keep``).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

from palimpsest.context.request_assembly.fit import DecisionBatch
from palimpsest.context.request_assembly.fit import prune_after_turn as pruning
from palimpsest.context.visible_messages import View
from palimpsest.loop.model_requests.request_builder import (
    message_request,
    projected,
    write_decisions,
)
from palimpsest.loop.run_inputs.request_hold import PostponedPruning
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.processor.session_log import SessionLog


def postpone_pruning(log: SessionLog, postponed: PostponedPruning) -> None:
    """Note that the next released request prunes what the policy prunes at the end of the turn that ended now."""
    messages = log.state.messages()
    postponed.put(messages[-1].id if messages else "")


def prune_postponed(log: SessionLog, postponed: PostponedPruning, setup: StepSetup) -> None:
    """Journal what was postponed, before the request that a person let go."""
    new_id = functools.partial(log.ids.new, "dec")
    for told in postponed_batches(log, postponed.until, setup, log.view(), new_id):
        write_decisions(log, told)
    postponed.put("")


def postponed_batches(
    log: SessionLog, until: str, setup: StepSetup, view: View, new_id: Callable[[], str]
) -> Iterator[DecisionBatch]:
    """Yield what was postponed as it would be decided about a view now; nothing where the turn is gone.

    ``until`` is the id of the newest message of that turn.
    """
    ids = [message.id for message in view.messages]
    if until not in ids:
        return
    ended = dataclasses.replace(view, messages=view.messages[: ids.index(until) + 1])
    project = functools.partial(projected, setup=setup)
    yield from pruning(message_request(log, setup, project, ended, new_id))
