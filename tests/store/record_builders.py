"""Build the values that store tests write: sessions, messages, parts and records."""

from collections.abc import Iterable
from typing import Any

from palimpsest.store.interface import Owner
from palimpsest.store.session_state.state import State
from palimpsest.store.session_state.state_values import CheckpointState
from palimpsest.transcript.messages import (
    AssistantMessage,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    Span,
    TextPart,
    ToolCompleted,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.session_record.events import Event, MessageUpdated, PartUpdated, Record
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import ModelRef

SESSION = "ses_a"
MODEL = ModelRef(provider="rehearsal", name="rehearsal")
OWNER = Owner(host="here", pid=1, kernel_id="kernel-a")
OTHER = Owner(host="there", pid=2, kernel_id="kernel-b")


def session(
    id: str = SESSION, *, title: str = "Penguins", parent_id: str | None = None
) -> SessionInfo:
    return SessionInfo(
        id=id,
        project_id="p",
        directory="/data",
        title=title,
        parent_id=parent_id,
        version="0.1.0",
        time=SessionTime(created=1, updated=2),
    )


def user(id: str, *, created: int = 1) -> MessageUpdated:
    return MessageUpdated(
        info=UserMessage(
            id=id, session_id=SESSION, time=MessageTime(created=created), agent="build", model=MODEL
        )
    )


def assistant(
    id: str,
    parent_id: str = "msg_1",
    *,
    created: int = 1,
    completed: int | None = None,
    summary: bool = False,
) -> MessageUpdated:
    return MessageUpdated(
        info=AssistantMessage(
            id=id,
            session_id=SESSION,
            parent_id=parent_id,
            time=MessageTime(created=created, completed=completed),
            agent="build",
            model=MODEL,
            path=MessagePath(cwd="/data", root="/data"),
            finish=None if completed is None else "stop",
            summary=summary,
        )
    )


def text(
    id: str, message_id: str, words: str = "", *, time: Span | None = None, pinned: bool = False
) -> PartUpdated:
    return PartUpdated(
        part=TextPart(
            id=id, session_id=SESSION, message_id=message_id, text=words, time=time, pinned=pinned
        )
    )


def compaction(id: str, message_id: str, tail_start_id: str | None = None) -> PartUpdated:
    return PartUpdated(
        part=CompactionPart(
            id=id, session_id=SESSION, message_id=message_id, auto=True, tail_start_id=tail_start_id
        )
    )


def tool(id: str, message_id: str, state: ToolPending | ToolRunning | ToolCompleted) -> PartUpdated:
    return PartUpdated(part=tool_part(id, message_id, state))


def tool_part(id: str, message_id: str, state: ToolPending | ToolRunning | ToolCompleted) -> Part:
    return ToolPart(
        id=id,
        session_id=SESSION,
        message_id=message_id,
        call_id="call_" + id,
        tool="python",
        state=state,
    )


def records(events: Iterable[Event], first: int = 1) -> list[Record]:
    return [Record(seq=seq, ts=seq * 10, event=event) for seq, event in enumerate(events, first)]


def whole_state(state: State) -> dict[str, Any]:
    """Return everything of a state, for a comparison."""
    return {"messages": state.messages(), "items": state.request_items, "summary": state.summary()}


def restored_state(summary: Any) -> State:
    """Return a state without messages from what ``State.summary`` returned."""
    state = State()
    state.restore_summary(CheckpointState.model_validate(summary))
    return state
