"""Roll back a compaction that failed, so that the model sees the messages from before it.

Nothing is removed from the transcript: decisions drop the messages that the compaction added, and a second
attempt restores them. After a compaction that timed out, the policy decides how many of the messages
before it are kept (docs/design/0013-compaction.md).
"""

from itertools import takewhile
from typing import Any, Literal

from palimpsest.context.compaction.continuation import work_left
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.visible_messages import View, messages_before
from palimpsest.loop.context_management.summary_writer import TIMED_OUT_KEY
from palimpsest.loop.run_inputs.compaction_state import (
    CompactionState,
    MessagesSnapshot,
    choose_snapshot,
    compaction_timed_out,
    is_answerable,
)
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.context_values.decisions import Decision, OwnRule, effective_reductions
from palimpsest.transcript.errors import ApiError, ErrorValue
from palimpsest.transcript.messages import Message, Messages, parts_of
from palimpsest.transcript.parts import CompactionPart, Part, StepStartPart, TextPart
from palimpsest.transcript.session_record.events import DecisionMade

ASIDE_RULE: OwnRule = "compact/aside"


def history_snapshot(
    log: SessionLog,
    setup: StepSetup,
    messages: Messages,
    source: Literal["current", "pre-compaction"],
) -> MessagesSnapshot[Message]:
    """Return the messages that a request shows for a history."""
    view = View(messages, log.state.decisions)
    return MessagesSnapshot(view.folded_messages(setup.policy.compact), log.session_id, source)


def show_marker_again(log: SessionLog, marker_part: CompactionPart) -> None:
    """Restore the marker of a failed compaction before the next attempt; nothing where it is not hidden."""
    reduction = effective_reductions(log.state.decisions).get(marker_part.id)
    if reduction is not None and reduction.rule == ASIDE_RULE:
        _record_decision(log, "restore", marker_part, {})


def roll_back(
    log: SessionLog,
    compaction_state: CompactionState,
    setup: StepSetup,
    marker_id: str,
    marker_part: CompactionPart,
    earlier_snapshot: MessagesSnapshot[Message] | None,
    error: ErrorValue,
) -> None:
    """Drop the messages that a failed compaction added, so that the model sees those from before it."""
    if not setup.policy.compact.judge:
        return
    is_late = compaction_timed_out(
        timed_out=compaction_state.is_late
        or (isinstance(error, ApiError) and bool((error.metadata or {}).get(TIMED_OUT_KEY))),
        in_flight=compaction_state.in_flight,
        retrying=compaction_state.pending_retries > 0,
    )
    recovery = setup.policy.recovery
    messages_before_marker = messages_before(log.state.messages(), marker_id)
    if not marker_part.auto or work_left(messages_before_marker, log.state.todos) is None:
        # The turn does not continue from here, so a model's answer may come last.
        recovery = recovery.model_copy(update={"snapshot": "whole"})
    current_snapshot = history_snapshot(log, setup, log.state.messages(), "current")

    def can_be_answered(message: Message) -> bool:
        """Return whether the model can answer after this message, by the last of its neutral messages."""
        converted_messages = neutral_messages((message,), setup.info.ref, setup.policy.convert)
        return bool(converted_messages) and is_answerable(converted_messages[-1])

    snapshot = choose_snapshot(
        current_snapshot, earlier_snapshot, recovery, timed_out=is_late, answerable=can_be_answered
    )
    numbers = {"source": snapshot.source, "timed_out": is_late}
    snapshot_ids = (message.id for message in snapshot.messages)
    kept_ids = set(takewhile(lambda message_id: message_id != marker_id, snapshot_ids))
    for dropped_part in parts_of(
        message for message in current_snapshot.messages if message.id not in kept_ids
    ):
        if not isinstance(dropped_part, StepStartPart):
            text = dropped_part.text if isinstance(dropped_part, TextPart) else ""
            tokens_before = setup.count(text) if text else 0
            _record_decision(log, "drop", dropped_part, numbers, tokens_before)


def _record_decision(
    log: SessionLog,
    action: Literal["drop", "restore"],
    part: Part,
    numbers: dict[str, Any],
    tokens_before: int = 0,
) -> None:
    decision = Decision(
        id=log.ids.new("dec"),
        action=action,
        rule=ASIDE_RULE,
        message_id=part.message_id,
        part_id=part.id,
        numbers=numbers,
        tokens_before=tokens_before,
    )
    log.append(DecisionMade(decision=decision))
