"""Read the outcome of each recorded compaction from the journal, before a replay reaches its marker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.context.compaction.summary_request import COMPACT_RULE as COMPACT
from palimpsest.context.visible_messages import marker
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, StepRequest
from palimpsest.transcript.errors import AbortedError, ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.session_record.events import (
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    Record,
    StepRequested,
)


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """One recorded compaction with its outcome."""

    marker_id: str
    is_automatic: bool
    overflow: bool
    summary_ids: frozenset[str]
    """Ids of the summary's messages; several where the summary was requested again."""
    continuation_id: str | None
    """Id of the synthetic message after it that continued the turn."""
    succeeded: bool
    was_stopped: bool
    """Whether the user or the end of the kernel stopped it."""
    summary_request: StepRequest | None
    """The first request for the summary; None where none was sent."""
    requested_tokens: int = 0
    """Input tokens of all requests for the summary."""
    tokens_before: int = 0
    """Tokens of the context, as the check of the summary recorded them; 0 where the summary was rejected."""
    tokens_after: int = 0
    """Tokens of the context with the summary, recorded likewise."""


@dataclass(frozen=True, slots=True)
class RecordedCompactions:
    """Facts about later records that a replay needs in advance."""

    compactions: dict[str, RecordedCompaction] = field(default_factory=dict)
    """The compactions, by the ids of their markers."""
    requests_following: dict[str, StepRequest] = field(default_factory=dict)
    """The first step request after each message appeared; for an answer, its own request."""
    unsent_answers: frozenset[str] = frozenset()
    """Ids of answers whose request was not sent, since it could not be reduced enough to fit."""
    seq: int = 0
    """Sequence number of the newest record that was read."""


def read_compactions(records: Iterable[Record]) -> RecordedCompactions:
    """Read a whole journal, and return its compactions with their outcomes."""
    state, state_with_removed = State(), State()
    summary_requests: dict[str, list[StepRequest]] = {}
    requests_following: dict[str, StepRequest] = {}
    messages_before_request: list[str] = []
    answers_with_request: set[str | None] = set()
    for record in records:
        state.apply(record)
        if not isinstance(record.event, MessageRemoved | PartRemoved):
            # Messages that the user reverted later existed when the compaction was decided.
            state_with_removed.apply(record)
        if isinstance(record.event, MessageUpdated):
            message_id = record.event.info.id
            if message_id not in requests_following and message_id not in messages_before_request:
                messages_before_request.append(message_id)
        if not isinstance(record.event, StepRequested):
            continue
        request = record.event.request
        answers_with_request.add(request.message_id)
        if request.purpose == "compaction" and request.message_id is not None:
            message = state.message(request.message_id)
            if message is not None and isinstance(message.info, AssistantMessage):
                summary_requests.setdefault(message.info.parent_id, []).append(request)
        elif request.purpose == "step":
            requests_following |= dict.fromkeys(messages_before_request, request)
            messages_before_request.clear()
    messages = state_with_removed.messages()
    graded_decisions = {
        decision.message_id: decision
        for decision in state.decisions
        if decision.rule == COMPACT and "retention" in decision.numbers
    }
    compactions = {
        message.id: _compaction_at(
            messages, index, summary_requests.get(message.id, ()), graded_decisions
        )
        for index, message in enumerate(messages)
        if marker(message) is not None
    }
    unsent_answers = (
        message.id
        for message in messages
        if message.id not in answers_with_request and _has_overflowed(message)
    )
    return RecordedCompactions(
        compactions, requests_following, frozenset(unsent_answers), state.seq
    )


def _has_overflowed(message: Message) -> bool:
    info = message.info
    if not isinstance(info, AssistantMessage) or info.summary:
        return False
    return isinstance(info.error, ContextOverflowError)


def _compaction_at(
    messages: Messages,
    index: int,
    requests: Sequence[StepRequest],
    graded_decisions: Mapping[str | None, Decision],
) -> RecordedCompaction:
    part = marker(messages[index])
    assert part is not None
    marker_id = messages[index].id
    answers = (message.info for message in messages if isinstance(message.info, AssistantMessage))
    summaries = [info for info in answers if info.summary and info.parent_id == marker_id]
    newest_summary = summaries[-1] if summaries else None
    grades = (graded_decisions.get(summary.id) for summary in summaries)
    graded_decision = next(filter(None, grades), None)
    error = newest_summary.error if newest_summary is not None else None
    return RecordedCompaction(
        marker_id=marker_id,
        is_automatic=part.auto,
        overflow=part.overflow,
        summary_ids=frozenset(summary.id for summary in summaries),
        continuation_id=_continuation_id(messages, index),
        succeeded=newest_summary is not None and bool(newest_summary.finish) and error is None,
        was_stopped=isinstance(error, AbortedError) or newest_summary is None,
        summary_request=requests[0] if requests else None,
        requested_tokens=sum(request.tokens for request in requests),
        tokens_before=graded_decision.tokens_before if graded_decision is not None else 0,
        tokens_after=graded_decision.tokens_after if graded_decision is not None else 0,
    )


def _continuation_id(messages: Messages, index: int) -> str | None:
    """Return the id of the first user message after the summary, if it is the engine's and no marker."""
    for message in messages[index + 1 :]:
        if isinstance(message.info, UserMessage):
            return message.id if message.info.by_engine and marker(message) is None else None
        if not message.info.summary:
            return None
    return None
