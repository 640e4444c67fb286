"""The command for a session's records, and the notices with them."""

from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase, SessionHead
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.events import PromptAdmitted
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Reply, Todo, Value


class ContextFill(Value):
    """The fill of the context window in the newest request."""

    tokens: int
    """Estimated, like the numbers in ``kinds``."""
    kinds: dict[str, int] = {}
    """Tokens by kind of content."""
    window: int
    """0 where the model has no limit."""
    reserve: int
    message_id: str | None = None
    """The message that answers the request, which has the numbers reported by the provider."""


class Resync(CommandBase):
    """Send everything after a sequence number again, or the whole session when ``after`` is None."""

    type: Literal["resync"] = "resync"
    session: str | None = None
    after: int | None = Field(default=None, ge=0)
    client: str = ""


class RecordsNotice(Value):
    """Journal records, as they were written in one tick, or again after ``resync``."""

    kind: Literal["records"] = "records"
    session: str
    records: tuple[dict[str, Any], ...]
    resync: str | None = None
    """Id of the resync command that this answers."""
    after: int | None = None
    """In an answer to ``resync``: the number of the record directly before the first of these."""
    last: bool = False
    """The last notice of an answer to ``resync``."""


class SessionStateNotice(Value):
    """The present state of a session, in numbered pieces; a piece may arrive more than once."""

    kind: Literal["session-state"] = "session-state"
    session: str
    resync: str
    seq: int
    head: SessionHead
    messages: tuple[Message, ...]
    todos: tuple[Todo, ...] = ()
    inbox: tuple[PromptAdmitted, ...] = ()
    info: SessionInfo | None = None
    replies: dict[str, Reply] = {}
    """The answers to permission questions, by the id of the tool call that asked."""
    decisions: tuple[Decision, ...] = ()
    """The decisions that reduced the context; only in the last piece."""
    context_fill: ContextFill | None = None
    piece: int | None = None
    """The number of this piece, from 0."""
    pieces: int | None = None
    """The number of pieces; the session is complete when all have arrived."""
    last: bool = False
