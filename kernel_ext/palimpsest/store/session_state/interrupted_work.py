"""Close the work that was left open when the kernel that wrote a session died.

Pure: reads a state and returns the events that close open messages, tool calls, asks and questions.
Nothing is removed from the log; partial outputs and answers stay, marked as interrupted.
"""

from collections.abc import Iterator
from typing import Any, TypeGuard

from palimpsest.store.session_state.state import State
from palimpsest.transcript.call_outcomes import ABORTED, LEFT_RUNNING, RUNNING_AT_THE_END
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessageInfo,
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
CALL_ENDED = (
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
MAX_QUOTED_LINE_CHARS = 80
MAX_QUOTED_LINES = 3
"""Lines of the code that the sentence for the user quotes; the call holds all of it."""
MAX_LEFT_CALLS = 3
"""Maximum number of the newest calls that left something running, which the sentence names."""


def close_interrupted(state: State, now_ms: int, *, has_ended: bool = True) -> list[Event]:
    """Return the events that close the work a dead writer left open; empty when nothing was open.

    ``has_ended`` is False for a new fork, whose parent's kernel may go on.
    """
    events: list[Event] = []
    for message in state.unsettled_messages():
        if isinstance(message.info, AssistantMessage):
            waiting_call_ids = _waiting_call_ids(state)
            events += _close_message(message, message.info, now_ms, waiting_call_ids, has_ended)
    for ask_id in state.asks_by_id:
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


def is_settled_info(info: MessageInfo) -> bool:
    """Return whether an answer has ended, so that ``close_interrupted`` does not change it; also true for a prompt."""
    return not isinstance(info, AssistantMessage) or info.time.completed is not None


def is_settled_part(part: Part) -> bool:
    """Return whether the work in a part has ended, so that ``close_interrupted`` does not change it."""
    return _close_part(part, 0, ran_python=True, has_ended=True) is part


def code_at_the_end(state: State) -> str:
    """Return sentences for the user about the Python that ran when the kernel ended; empty if none did.

    They name the call that ran, and else the calls that had left something running.
    """
    sentences: list[str] = []
    for message in reversed(state.unsettled_messages()):
        for part in reversed(message.parts):
            if _ran_python(part, _waiting_call_ids(state)):
                return ENDED_FOR_USER.format(line=_quote_code(part))
            if isinstance(part, ToolPart) and (work_names := left_running(part)):
                sentences.append(
                    ENDED_AFTER.format(what=", ".join(work_names), line=_quote_code(part))
                )
    return "\n".join(sentences[:MAX_LEFT_CALLS])


def left_running(part: ToolPart) -> tuple[str, ...]:
    """Return the names of the work that a call's code left running, by its record; empty where it has ended."""
    names = (getattr(part.state, "metadata", None) or {}).get(LEFT_RUNNING)
    return tuple(map(str, names)) if isinstance(names, list | tuple) else ()


def without_left_running(part: ToolPart, **further_metadata: Any) -> ToolPart:
    """Return a call's record without the work that it left running, and with further metadata."""
    metadata = {**getattr(part.state, "metadata", {}), **further_metadata}
    metadata.pop(LEFT_RUNNING, None)
    return part.model_copy(update={"state": part.state.model_copy(update={"metadata": metadata})})


def _quote_code(part: ToolPart) -> str:
    """Return the first lines of a call's code, for the user."""
    code = str(part.state.input.get("code", "")).strip()
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    quoted_lines = [line[:MAX_QUOTED_LINE_CHARS] for line in lines[:MAX_QUOTED_LINES]]
    return f"{' / '.join(quoted_lines)}{' / ...' if len(lines) > MAX_QUOTED_LINES else ''}"


def _waiting_call_ids(state: State) -> frozenset[str | None]:
    """Return the ids of the calls that waited for an answer, which had not begun to run."""
    return frozenset(ask.call_id for ask in state.asks_by_id.values())


def _ran_python(part: Part, waiting_call_ids: frozenset[str | None]) -> TypeGuard[ToolPart]:
    return (
        isinstance(part, ToolPart)
        and part.tool == "python"
        and isinstance(part.state, ToolRunning)
        and part.call_id not in waiting_call_ids
        and None not in waiting_call_ids  # a question that names no call may be this one's
    )


def _close_message(
    message: Message,
    info: AssistantMessage,
    now_ms: int,
    waiting_call_ids: frozenset[str | None],
    has_ended: bool,  # noqa: FBT001  # passed on
) -> Iterator[Event]:
    for part in message.parts:
        ran_python = _ran_python(part, waiting_call_ids)
        closed_part = _close_part(part, now_ms, ran_python=ran_python, has_ended=has_ended)
        if closed_part is not part:
            yield PartUpdated(part=closed_part)
    if info.time.completed is None:
        time = info.time.model_copy(update={"completed": now_ms})
        error = info.error or AbortedError(message=INTERRUPTED)
        update = {"time": time, "error": error, "stopped_by": stop_reason_of_error(error)}
        yield MessageUpdated(info=info.model_copy(update=update))


def _end_turn(newest_message: Message | None) -> Iterator[Event]:
    """Mark a turn that was interrupted between two steps as interrupted."""
    info = None if newest_message is None else newest_message.info
    if isinstance(info, AssistantMessage) and info.time.completed and stop_reason_of(info) is None:
        yield MessageUpdated(info=info.model_copy(update={"stopped_by": "interrupted"}))


def _close_part(part: Part, now_ms: int, *, ran_python: bool, has_ended: bool) -> Part:
    match part:
        case ToolPart(state=ToolRunning() as state) if ran_python and has_ended:
            failed_state = _aborted_state(state, now_ms)
            printed_output = failed_state.metadata.get("output")
            # The model is shown the printed output of an interrupted call.
            output_note = (
                {"output": f"{printed_output}\n\n[interrupted]\n{CALL_ENDED}"}
                if printed_output
                else {}
            )
            update = {"error": CALL_ENDED, "metadata": {**failed_state.metadata, **output_note}}
            return part.model_copy(update={"state": failed_state.model_copy(update=update)})
        case ToolPart(state=ToolPending() | ToolRunning() as state):
            return part.model_copy(update={"state": _aborted_state(state, now_ms)})
        case ToolPart() if names := left_running(part):
            metadata = {RUNNING_AT_THE_END: list(names)} if has_ended else {}
            return without_left_running(part, **metadata)
        case TextPart() | ReasoningPart() if part.time is not None and part.time.end is None:
            time = part.time.model_copy(update={"end": now_ms})
            return part.model_copy(update={"time": time})
        case _:
            return part


def _aborted_state(state: ToolPending | ToolRunning, now_ms: int) -> ToolFailed:
    if isinstance(state, ToolRunning):
        metadata, start_ms = state.metadata, state.time.start
    else:
        metadata, start_ms = {"raw": state.raw} if state.raw else {}, now_ms
    return ToolFailed(
        input=state.input,
        error=ABORTED,
        metadata={**metadata, "interrupted": True},
        time=Span(start=start_ms, end=now_ms),
    )
