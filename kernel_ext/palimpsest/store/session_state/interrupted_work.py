"""Close the work that was left open when the kernel that wrote a session died.

Pure: reads a state and returns the events that close open messages, tool calls, asks and questions.
Nothing that was written is removed; partial outputs and answers stay, marked as interrupted.
"""

from collections.abc import Iterator

from palimpsest.store.session_state.state import State
from palimpsest.transcript.call_outcomes import ABORTED
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    Messages,
    stop_reason_of,
    stop_reason_of_error,
)
from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    Span,
    TextPart,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    PartUpdated,
    PermissionReplied,
    QuestionRejected,
    SessionStatus,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import Idle
from palimpsest.transcript.values import Reply

INTERRUPTED = "Interrupted: the kernel ended before the answer did."


def close_interrupted(state: State, now_ms: int) -> list[Event]:
    """Return the events that close what a dead writer left open; empty when nothing was open."""
    events: list[Event] = []
    for message in state.messages():
        if isinstance(message.info, AssistantMessage):
            events.extend(_close_message(message, message.info, now_ms))
    for ask_id in state.asks:
        reply = Reply(answer="reject", by="restart")
        events.append(PermissionReplied(ask_id=ask_id, reply=reply))
    events.extend(QuestionRejected(question_id=question_id) for question_id in state.questions)
    session = state.session
    if session is not None and session.time.compacting is not None:
        time = session.time.model_copy(update={"compacting": None, "updated": now_ms})
        events.append(SessionUpdated(session=session.model_copy(update={"time": time})))
    if not isinstance(state.status, Idle):
        events.extend(_end_turn(state.messages()))
        events.append(SessionStatus(status=Idle()))
    return events


def _close_message(message: Message, info: AssistantMessage, now_ms: int) -> Iterator[Event]:
    for part in message.parts:
        closed = _closed(part, now_ms)
        if closed is not part:
            yield PartUpdated(part=closed)
    if info.time.completed is None:
        time = info.time.model_copy(update={"completed": now_ms})
        error = info.error or AbortedError(message=INTERRUPTED)
        update = {"time": time, "error": error, "stopped_by": stop_reason_of_error(error)}
        yield MessageUpdated(info=info.model_copy(update=update))


def _end_turn(messages: Messages) -> Iterator[Event]:
    """Mark a turn that was interrupted between two steps as interrupted."""
    info = messages[-1].info if messages else None
    if isinstance(info, AssistantMessage) and info.time.completed and stop_reason_of(info) is None:
        yield MessageUpdated(info=info.model_copy(update={"stopped_by": "interrupted"}))


def _closed(part: Part, now_ms: int) -> Part:
    match part:
        case ToolPart(state=ToolPending() | ToolRunning()):
            return part.model_copy(update={"state": _failed(part.state, now_ms)})
        case TextPart() | ReasoningPart() if part.time is not None and part.time.end is None:
            time = part.time.model_copy(update={"end": now_ms})
            return part.model_copy(update={"time": time})
        case _:
            return part


def _failed(state: object, now_ms: int) -> ToolFailed:
    if isinstance(state, ToolRunning):
        return ToolFailed(
            input=state.input,
            error=ABORTED,
            metadata={**state.metadata, "interrupted": True},
            time=Span(start=state.time.start, end=now_ms),
        )
    assert isinstance(state, ToolPending)
    raw = {"raw": state.raw} if state.raw else {}
    return ToolFailed(
        input=state.input,
        error=ABORTED,
        metadata={**raw, "interrupted": True},
        time=Span(start=now_ms, end=now_ms),
    )
