"""The events of a session: the same records are journaled and sent to front ends.

A record is an event with its place: version, sequence number and time. Names follow OpenCode's;
``prompt.*``, ``decision``, ``step.requested`` and ``session.checkpoint`` are ours.
"""

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from palimpsest.transcript.context_values.decisions import Decision, Facts, StepRequest
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import AssistantMessage, MessageInfo, Origin
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.sessions import SessionInfo, Status
from palimpsest.transcript.strings.surrogates import joined_surrogates
from palimpsest.transcript.values import Answers, Ask, Question, Reply, Todo, Value

RECORD_VERSION = 1


class SessionCreated(Value):
    """A session began."""

    type: Literal["session.created"] = "session.created"
    session: SessionInfo


class SessionUpdated(Value):
    """The session's own record changed."""

    type: Literal["session.updated"] = "session.updated"
    session: SessionInfo


class SessionDeleted(Value):
    """The user deleted the session."""

    type: Literal["session.deleted"] = "session.deleted"
    session_id: str
    session: SessionInfo | None = None
    """The deleted session's record; None in older logs, and where the record cannot be read."""


class SessionDiff(Value):
    """The files that the session changed."""

    type: Literal["session.diff"] = "session.diff"
    diff: tuple[dict[str, Any], ...] = ()


class SessionCompacted(Value):
    """A compaction was completed."""

    type: Literal["session.compacted"] = "session.compacted"
    message_id: str


class SessionError(Value):
    """A failure that is shown to the user: an answer's error, or a failure outside of any answer."""

    type: Literal["session.error"] = "session.error"
    error: ErrorValue
    message_id: str | None = None


class SessionStatus(Value):
    """The runner's status changed."""

    type: Literal["session.status"] = "session.status"
    status: Status


class MessageUpdated(Value):
    """A message appeared or its info changed."""

    type: Literal["message.updated"] = "message.updated"
    info: MessageInfo


class MessageRemoved(Value):
    """A message and its parts were removed by the user (cleanup after a revert)."""

    type: Literal["message.removed"] = "message.removed"
    message_id: str


class PartUpdated(Value):
    """A part appeared or changed; the event has the whole part."""

    type: Literal["message.part.updated"] = "message.part.updated"
    part: Part


class PartRemoved(Value):
    """A part was removed by the user."""

    type: Literal["message.part.removed"] = "message.part.removed"
    message_id: str
    part_id: str


class PartDelta(Value):
    """New text of a part, coalesced per tick.

    ``field`` is a dotted path to a string: ``text``, ``state.raw`` or ``state.metadata.output``.
    """

    type: Literal["message.part.delta"] = "message.part.delta"
    message_id: str
    part_id: str
    field: str
    delta: str


class PermissionAsked(Value):
    """A tool call waits for the user's permission."""

    type: Literal["permission.asked"] = "permission.asked"
    ask: Ask


class PermissionReplied(Value):
    """A permission ask was answered."""

    type: Literal["permission.replied"] = "permission.replied"
    ask_id: str
    reply: Reply


class QuestionAsked(Value):
    """The model asks the user a question."""

    type: Literal["question.asked"] = "question.asked"
    question_id: str
    questions: tuple[Question, ...]
    message_id: str | None = None
    call_id: str | None = None


class QuestionReplied(Value):
    """The user answered the model's question."""

    type: Literal["question.replied"] = "question.replied"
    question_id: str
    answers: Answers


class QuestionRejected(Value):
    """The model's question ended without an answer."""

    type: Literal["question.rejected"] = "question.rejected"
    question_id: str
    by: str = "restart"
    """Why it ended: ``person`` (the user declined), ``headless``, ``cancel`` or ``restart``."""


class TodoUpdated(Value):
    """The todo list was replaced."""

    type: Literal["todo.updated"] = "todo.updated"
    todos: tuple[Todo, ...]


class PromptAdmitted(Value):
    """A prompt was accepted into the inbox."""

    type: Literal["prompt.admitted"] = "prompt.admitted"
    prompt_id: str
    text: str
    delivery: Literal["steer", "queue"]
    origin: Origin | None = None
    options: dict[str, Any] = {}
    """The prompt's settings: model, variant, agent, system, tools, files, max_steps."""


class PromptDelivered(Value):
    """A prompt left the inbox and became a message, or was withdrawn."""

    type: Literal["prompt.delivered"] = "prompt.delivered"
    prompt_id: str
    message_id: str | None = None
    """None when the prompt was withdrawn before it was delivered."""
    stopped: bool | None = None
    """Whether the prompt was withdrawn because the turn before it was stopped, and not by the user."""


class DecisionMade(Value):
    """A decider made a decision."""

    type: Literal["decision"] = "decision"
    decision: Decision
    facts: Facts | None = None
    """The decider's inputs; of several decisions made at once, only the first has them."""


class StepRequested(Value):
    """A model request is about to be sent."""

    type: Literal["step.requested"] = "step.requested"
    request: StepRequest


class Checkpoint(Value):
    """The folded state without messages, and where the live window begins.

    Written at each compaction and clean close; opening a session reads the last checkpoint and the records after it.
    """

    type: Literal["session.checkpoint"] = "session.checkpoint"
    state: dict[str, Any]
    """``State.summary()``: session, status, todos, open asks, inbox, decisions, newest request."""
    window_seq: int
    """The first sequence number whose records the live window needs."""
    window_segment: str
    window_offset: int


MessageEvent = MessageUpdated | MessageRemoved | PartUpdated | PartRemoved | PartDelta
"""Events about messages and their parts."""

SessionEvent = (
    SessionCreated
    | SessionUpdated
    | SessionDeleted
    | SessionDiff
    | SessionCompacted
    | SessionError
    | SessionStatus
)
"""Events about the session as a whole."""

WaitingEvent = (
    PermissionAsked
    | PermissionReplied
    | QuestionAsked
    | QuestionReplied
    | QuestionRejected
    | PromptAdmitted
    | PromptDelivered
)
"""Events that begin or end the wait for a reply of the user, or the wait of a prompt in the inbox."""

ContextEvent = TodoUpdated | DecisionMade | StepRequested | Checkpoint
"""Events on which later requests, or a reader that begins at a checkpoint, depend."""

Event = Annotated[
    SessionEvent | MessageEvent | WaitingEvent | ContextEvent, Field(discriminator="type")
]

EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))

OTHER_EVENT_TYPES = frozenset(
    kind.model_fields["type"].default
    for kinds in (SessionEvent, WaitingEvent, ContextEvent)
    for kind in get_args(kinds)
)
"""The types of events that are about no message."""


class Record(Value):
    """An event with its place in the journal.

    On disk and on the wire it is one flat object: ``{"v", "seq", "ts", "type", ...event}``.
    """

    v: int = RECORD_VERSION
    seq: int
    ts: int
    """Milliseconds since 1970."""
    event: Event

    @classmethod
    def of_event(cls, event: Event, *, seq: int, ts: int) -> "Record":
        """Return the record of an event that is one already, without a check, for which the forms of all events are built."""
        return cls.unchecked(seq=seq, ts=ts, event=event)

    def line(self) -> str:
        """Return the record as one line of JSON, without the newline."""
        head = f'{{"v":{self.v},"seq":{self.seq},"ts":{self.ts},'
        return head + self.event.model_dump_json(exclude_none=True)[1:]

    def encoded(self) -> bytes:
        """Return the record as a line of a log; values that JSON cannot represent are written as text."""
        try:
            return self.line().encode() + b"\n"
        except (PydanticSerializationError, UnicodeEncodeError):
            data = {"v": self.v, "seq": self.seq, "ts": self.ts}
            data |= self.event.model_dump(exclude_none=True)
            return json.dumps(_json_value(data), separators=(",", ":")).encode() + b"\n"

    def wire(self) -> dict[str, Any]:
        """Return the record as the flat object that is sent to front ends."""
        fields = self.event.model_dump(mode="json", exclude_none=True)
        return {"v": self.v, "seq": self.seq, "ts": self.ts} | fields


def _json_value(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _json_value(inner) for key, inner in value.items()}
        case list() | tuple() | set():
            return [_json_value(inner) for inner in value]
        case str():
            return joined_surrogates(value)
        case bool() | int() | float() | None:
            return value
        case _:
            return repr(value)


def parse_record(data: dict[str, Any]) -> Record:
    """Parse a flat object as a record; raises pydantic.ValidationError where it is none."""
    fields = dict(data)
    version, seq, ts = fields.pop("v"), fields.pop("seq"), fields.pop("ts")
    return Record(v=version, seq=seq, ts=ts, event=EVENT_ADAPTER.validate_python(fields))


def answer_end_events(info: AssistantMessage) -> tuple[Event, ...]:
    """Return the events to journal when an answer ends: the message, and its error where it has one."""
    if info.error is None:
        return (MessageUpdated(info=info),)
    return MessageUpdated(info=info), SessionError(error=info.error, message_id=info.id)
