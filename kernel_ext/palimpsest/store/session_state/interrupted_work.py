"""Close the work that was left open when the kernel that wrote a session died.

Pure: reads a state and returns the events that close open messages, tool calls, asks and questions.
Nothing that was written is removed; partial outputs and answers stay, marked as interrupted.
"""

from collections.abc import Iterator
from typing import Any, TypeGuard

from palimpsest.store.session_state.state import State
from palimpsest.transcript.call_outcomes import ABORTED, LEFT_RUNNING, RUNNING_AT_THE_END
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
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
ENDED = (
    "The kernel ended while this code ran, and every variable is gone. Whether the code ended it is not known; "
    "do not run it again unchanged before that is clear."
)
ENDED_FOR_USER = (
    "The kernel ended while the agent's Python ran, and every variable is gone. It was running: {line} "
    "Whether it ended the kernel is not known."
)
ENDED_AFTER = (
    "The kernel ended, and every variable is gone. Something that the agent's Python had left running was still at "
    "work and may have ended it: {what}, started by {line}"
)
LINE_CHARS = 80
MOST_LINES = 3
"""How much of the code the sentence for the user quotes; the whole stands in the call."""
MOST_LEFT = 3
"""Calls that left something running which the sentence names, the newest."""


def close_interrupted(state: State, now_ms: int, *, ended: bool = True) -> list[Event]:
    """Return the events that close what a dead writer left open; empty when nothing was open.

    ``ended`` is False for a new fork, whose parent's kernel may go on.
    """
    events: list[Event] = []
    for message in state.unsettled():
        if isinstance(message.info, AssistantMessage):
            events.extend(_close_message(message, message.info, now_ms, _waiting(state), ended))
    for ask_id in state.asks:
        reply = Reply(answer="reject", by="restart")
        events.append(PermissionReplied(ask_id=ask_id, reply=reply))
    events.extend(QuestionRejected(question_id=question_id) for question_id in state.questions)
    session = state.session
    if session is not None and session.time.compacting is not None:
        time = session.time.model_copy(update={"compacting": None, "updated": now_ms})
        events.append(SessionUpdated(session=session.model_copy(update={"time": time})))
    if not isinstance(state.status, Idle):
        events.extend(_end_turn(state.newest_message()))
        events.append(SessionStatus(status=Idle()))
    return events


def is_settled(message: Message) -> bool:
    """Return whether all of a message has ended, so that ``close_interrupted`` leaves it as it is."""
    if isinstance(message.info, AssistantMessage) and message.info.time.completed is None:
        return False
    return all(_closed(part, 0, ran=True, ended=True) is part for part in message.parts)


def code_at_the_end(state: State) -> str:
    """Return sentences for the user about the Python that ran when the kernel ended; empty if none did.

    They name the call that ran, and else the calls that had left something running.
    """
    left: list[str] = []
    for message in reversed(state.unsettled()):
        for part in reversed(message.parts):
            if _ran_python(part, _waiting(state)):
                return ENDED_FOR_USER.format(line=_quoted(part))
            if isinstance(part, ToolPart) and (words := left_running(part)):
                left.append(ENDED_AFTER.format(what=", ".join(words), line=_quoted(part)))
    return "\n".join(left[:MOST_LEFT])


def left_running(part: ToolPart) -> tuple[str, ...]:
    """Return what a call's code left running, by its record; empty where nothing runs any more."""
    found = (getattr(part.state, "metadata", None) or {}).get(LEFT_RUNNING)
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


def without_left_running(part: ToolPart, **more: Any) -> ToolPart:
    """Return a call's record without what it left running, and with further metadata."""
    metadata = {**getattr(part.state, "metadata", {}), **more}
    metadata.pop(LEFT_RUNNING, None)
    return part.model_copy(update={"state": part.state.model_copy(update={"metadata": metadata})})


def _quoted(part: ToolPart) -> str:
    """Return the first lines of a call's code, for the user."""
    code = str(part.state.input.get("code", "")).strip()
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    shown = [line[:LINE_CHARS] for line in lines[:MOST_LINES]]
    return f"{' / '.join(shown)}{' / ...' if len(lines) > MOST_LINES else ''}"


def _waiting(state: State) -> frozenset[str | None]:
    """Return the ids of the calls that waited for an answer, which had not begun to run."""
    return frozenset(ask.call_id for ask in state.asks.values())


def _ran_python(part: Part, waiting: frozenset[str | None]) -> TypeGuard[ToolPart]:
    return (
        isinstance(part, ToolPart)
        and part.tool == "python"
        and isinstance(part.state, ToolRunning)
        and part.call_id not in waiting
        and None not in waiting  # a question that names no call may be this one's
    )


def _close_message(
    message: Message,
    info: AssistantMessage,
    now_ms: int,
    waiting: frozenset[str | None],
    ended: bool,  # noqa: FBT001  # passed on
) -> Iterator[Event]:
    for part in message.parts:
        closed = _closed(part, now_ms, ran=_ran_python(part, waiting), ended=ended)
        if closed is not part:
            yield PartUpdated(part=closed)
    if info.time.completed is None:
        time = info.time.model_copy(update={"completed": now_ms})
        error = info.error or AbortedError(message=INTERRUPTED)
        update = {"time": time, "error": error, "stopped_by": stop_reason_of_error(error)}
        yield MessageUpdated(info=info.model_copy(update=update))


def _end_turn(newest: Message | None) -> Iterator[Event]:
    """Mark a turn that was interrupted between two steps as interrupted."""
    info = newest.info if newest is not None else None
    if isinstance(info, AssistantMessage) and info.time.completed and stop_reason_of(info) is None:
        yield MessageUpdated(info=info.model_copy(update={"stopped_by": "interrupted"}))


def _closed(part: Part, now_ms: int, *, ran: bool, ended: bool) -> Part:
    match part:
        case ToolPart(state=ToolRunning()) if ran and ended:
            failed = _failed(part.state, now_ms)
            printed = failed.metadata.get("output")
            # What was printed is what the model is shown of a call that was interrupted.
            told = {"output": f"{printed}\n\n[interrupted]\n{ENDED}"} if printed else {}
            metadata = {**failed.metadata, **told}
            return part.model_copy(
                update={"state": failed.model_copy(update={"error": ENDED, "metadata": metadata})}
            )
        case ToolPart(state=ToolPending() | ToolRunning()):
            return part.model_copy(update={"state": _failed(part.state, now_ms)})
        case ToolPart() if words := left_running(part):
            marks = {RUNNING_AT_THE_END: list(words)} if ended else {}
            return without_left_running(part, **marks)
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
