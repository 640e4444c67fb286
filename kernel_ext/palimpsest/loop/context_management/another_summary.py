"""Set a new summary aside and request another, or restore it, before a request uses either.

The summary stays in the log with its report and its cost. Its compaction is undone, as the user undoes a compaction,
and a marker with the same options requests the next summary of the same messages. Restoring the summary redoes its
compaction and undoes that of a newer summary.
"""

from typing import Any

from palimpsest.context.compaction.summary_grade import (
    set_aside_summary_report,
    unused_summary_report,
)
from palimpsest.context.visible_messages import marker, marker_of
from palimpsest.loop.context_management.compaction import SummaryOptions, write_marker
from palimpsest.loop.model_requests.engine_messages import write_engine_message
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.context_values.decisions import (
    ANOTHER,
    OLDER_SUMMARY_KEY,
    REDO,
    UNDO,
    Decision,
)
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.session_record.events import DecisionMade

NO_OTHER_SUMMARY_TEXT = (
    "No other summary came of the conversation, so all of it is here again. Go on with the request that is not "
    "answered yet."
)
OLDER_SUMMARY_TEXT = (
    "The summary written first is used. Go on with the request that is not answered yet."
)


def ask_for_another_summary(log: SessionLog, user: UserMessage) -> str:
    """Set the new summary aside and write the marker for another one; returns the marker's id, or "" without a new summary.

    ``user`` is the newest user message, whose settings the marker gets.
    """
    state = log.state
    report = unused_summary_report(log.view())
    summary = state.message(report.message_id) if report and report.message_id else None
    if report is None or summary is None or not isinstance(summary.info, AssistantMessage):
        return ""
    marker_message = state.message(summary.info.parent_id)
    marker_part = marker(marker_message) if marker_message is not None else None
    if marker_part is None:
        return ""
    log.append(DecisionMade(decision=_set_aside_decision(log, report, {ANOTHER: True})))
    options = SummaryOptions(marker_part.focus, marker_part.model, goes_on=True)
    return write_marker(log, user, auto=False, overflow=marker_part.overflow, options=options).id


def use_older_summary(log: SessionLog, user: UserMessage) -> None:
    """Restore the summary that was set aside; a newer summary is set aside in its place.

    ``user`` is the newest user message; where that is the marker of another summary, which then is not requested, a
    synthetic message continues the turn.
    """
    view = log.view()
    older_summary, newer_summary = set_aside_summary_report(view), unused_summary_report(view)
    if older_summary is None:
        return
    restoration = Decision(
        id=log.ids.new("dec"),
        action="keep",
        rule=REDO,
        message_id=older_summary.message_id,
        tokens_before=older_summary.tokens_before,
        tokens_after=older_summary.tokens_after,
    )
    if newer_summary is not None:
        numbers: dict[str, Any] = {ANOTHER: True, OLDER_SUMMARY_KEY: older_summary.message_id}
        log.append(DecisionMade(decision=_set_aside_decision(log, newer_summary, numbers)))
    log.append(DecisionMade(decision=restoration))
    if marker_of(view.messages, user) is not None:
        write_engine_message(log, user, OLDER_SUMMARY_TEXT)


def _set_aside_decision(log: SessionLog, report: Decision, numbers: dict[str, Any]) -> Decision:
    return Decision(
        id=log.ids.new("dec"),
        action="restore",
        rule=UNDO,
        message_id=report.message_id,
        numbers=numbers,
        tokens_before=report.tokens_after,
        tokens_after=report.tokens_before,
    )


def continue_without_summary(log: SessionLog, user: UserMessage) -> None:
    """Continue the turn with the whole conversation after the other summary failed."""
    write_engine_message(log, user, NO_OTHER_SUMMARY_TEXT)
