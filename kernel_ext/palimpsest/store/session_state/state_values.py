"""Immutable values of a session's state, as a checkpoint stores it."""

from typing import Any

from palimpsest.store.session_state.message_index import MessageIndex
from palimpsest.transcript.context_values.decisions import Decision, StepRequest
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.events import PromptAdmitted, QuestionAsked
from palimpsest.transcript.session_record.sessions import Idle, SessionInfo, Status
from palimpsest.transcript.values import Ask, Reply, Todo, Value


class WindowFields(Value):
    """The fields of a checkpoint about the live window and the messages before it."""

    ids: tuple[str, ...] = ()
    """The ids of the window's messages, up to the checkpoint."""
    older_created: int
    """The newest creation time, in milliseconds since 1970, among the messages before the window."""
    older: int = 0
    """Number of messages before the window."""
    kept: tuple[Message, ...] = ()
    """Pinned messages from before the window."""


class CheckpointState(Value):
    """The values of a state without its messages, as a checkpoint stores them."""

    session: SessionInfo | None = None
    status: Status = Idle()
    todos: tuple[Todo, ...] = ()
    asks: tuple[Ask, ...] = ()
    replies: dict[str, Reply] = {}
    """Replies to permission asks, by the id of the tool call that asked."""
    questions: tuple[QuestionAsked, ...] = ()
    inbox: tuple[PromptAdmitted, ...] = ()
    decisions: tuple[Decision, ...] = ()
    request: StepRequest | None = None
    """The newest request, with all its items expanded."""
    diff: tuple[dict[str, Any], ...] = ()
    """The files that the session changed."""
    compacted: str | None = None
    """The message id of the newest completed compaction."""
    deleted: bool = False
    seq: int = 0
    messages: int = 0
    """Number of messages of the session, including those before the window."""
    window: WindowFields | None = None
    """None when the window holds every message."""
    index: MessageIndex | None = None
    """Index of the window's messages; None where there are few, and in checkpoints of older versions."""
