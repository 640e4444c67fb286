"""Postpone the pruning at the end of a turn, in step mode, to the next released request.

The pruning decides about the messages up to the end of its turn, as it would have at that time, but with the clock of
the release. The turn's end is stored beyond the kernel (``PostponedPruning.store``).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

from palimpsest.context.request_assembly.fit import DecisionBatch
from palimpsest.context.request_assembly.fit import prune_after_turn as turn_end_batches
from palimpsest.context.visible_messages import View
from palimpsest.loop.model_requests.request_builder import (
    message_request,
    project_request,
    write_decisions,
)
from palimpsest.loop.run_inputs.request_hold import PostponedPruning
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.processor.session_log import SessionLog


def postpone_pruning(log: SessionLog, postponed: PostponedPruning) -> None:
    """Postpone the pruning of the turn that ended now to the next released request."""
    messages = log.state.messages()
    postponed.postpone(messages[-1].id if messages else "")


def prune_postponed(log: SessionLog, postponed: PostponedPruning, setup: StepSetup) -> None:
    """Journal the postponed pruning, before the request that the user released."""
    new_id = functools.partial(log.ids.new, "dec")
    for batch in postponed_batches(log, postponed.last_message_id, setup, log.view(), new_id):
        write_decisions(log, batch)
    postponed.postpone("")


def postponed_batches(
    log: SessionLog, last_message_id: str, setup: StepSetup, view: View, new_id: Callable[[], str]
) -> Iterator[DecisionBatch]:
    """Yield the postponed decisions about a view; nothing where the turn is gone.

    ``last_message_id`` is the id of the newest message of that turn.
    """
    message_ids = [message.id for message in view.messages]
    if last_message_id not in message_ids:
        return
    turn_view = dataclasses.replace(
        view, messages=view.messages[: message_ids.index(last_message_id) + 1]
    )
    project = functools.partial(project_request, setup=setup)
    yield from turn_end_batches(message_request(log, setup, project, turn_view, new_id))
