"""Messages of the user and the assistant: role, time, model and the parts in order; and why a turn ended.

Why a turn ended is one value, journaled with the turn's last answer: the loop and the runner choose
it; cell, panel, replay, exports and review read it. Logs of older versions have none, and it is
derived from how the last answer ended.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from palimpsest.transcript.errors import (
    AbortedError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    OutputLengthError,
)
from palimpsest.transcript.parts import Part, StepFinishPart, StepStartPart, TextPart
from palimpsest.transcript.values import ModelRef, Usage, Value


class MessageTime(Value):
    """When a message was created and finished, in milliseconds since 1970."""

    created: int
    completed: int | None = None


class Origin(Value):
    """Where a prompt came from."""

    kind: Literal["cell", "panel", "api", "engine"] = "api"
    user: str | None = None
    """The login name of the user who sent the prompt; None for the engine, and where it is unknown."""
    cell_id: str | None = None
    execution_count: int | None = None
    notebook: str | None = None


class UserMessage(Value):
    """The info of a message by the user, or by the engine in the user's place."""

    role: Literal["user"] = "user"
    id: str
    session_id: str
    time: MessageTime
    agent: str
    model: ModelRef
    system: str | None = None
    """The user's addition to the system prompt of this turn."""
    tools: dict[str, bool] | None = None
    """Tools switched on or off for this turn."""
    summary: dict[str, Any] | None = None
    """The outcome of the turn: ``diffs`` of files, and ``title`` and ``body`` as text where a model wrote them."""
    format: dict[str, Any] | None = None
    """The form that the answer must have: ``type`` (``json_schema``), ``schema`` and ``retryCount``."""
    origin: Origin | None = None
    max_steps: int | None = None
    joins: bool | None = None
    """Whether the message was sent while a turn was running, and so belongs to that turn."""

    @property
    def by_engine(self) -> bool:
        """Whether the engine wrote it in the user's place."""
        return self.origin is not None and self.origin.kind == "engine"


class MessagePath(Value):
    """Where the session worked."""

    cwd: str
    root: str


class AssistantMessage(Value):
    """The info of one answer of the model: one step."""

    role: Literal["assistant"] = "assistant"
    id: str
    session_id: str
    parent_id: str
    time: MessageTime
    agent: str
    model: ModelRef
    path: MessagePath
    error: ErrorValue | None = None
    summary: bool = False
    """Whether it is the summary that a compaction wrote."""
    cost: float | None = None
    tokens: Usage = Usage()
    finish: str | None = None
    """``stop``, ``tool-calls``, ``length``, ``content-filter``, ``error``, ``unknown``, or None while it runs."""
    structured: dict[str, Any] | list[Any] | str | int | float | bool | None = None
    """The answer in the form that the prompt's ``format`` requires: an object; any JSON value in imported logs."""
    stopped_by: str | None = None
    """Why the turn ended, one of ``StoppedBy``; None in all but its last answer, and in older logs."""


MessageInfo = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]


class Message(Value):
    """Info and parts, parts in the order in which they first appeared."""

    info: MessageInfo
    parts: tuple[Part, ...] = ()

    @property
    def id(self) -> str:
        """The message's id."""
        return self.info.id


Messages = tuple[Message, ...]


def parts_of(messages: Iterable[Message]) -> Iterator[Part]:
    """Yield the parts of messages, in order."""
    for message in messages:
        yield from message.parts


def typed_texts(message: Message) -> list[str]:
    """Return the texts of a message that the engine did not add to it, in order."""
    parts = [part for part in message.parts if isinstance(part, TextPart)]
    return [part.text for part in parts if not part.synthetic]


StoppedBy = Literal[
    "finished", "length", "content_filter", "rejected", "cancelled", "steps", "budget", "circle",
    "window", "compaction", "interrupted", "withdrawn", "error",
]  # fmt: skip
"""Why a turn ended; ``finished`` means only that the provider itself ended the answer."""

STOP_REASONS: tuple[StoppedBy, ...] = get_args(StoppedBy)

KERNEL_ENDED = ("Interrupted: the kernel ended before the answer did.", "The kernel ends.")
"""Error messages of answers that the end of the kernel interrupted, and not a user."""

_REASON_BY_FINISH: dict[str, StoppedBy] = {
    "stop": "finished",
    "length": "length",
    "content-filter": "content_filter",
    "error": "error",
    "unknown": "error",
}


def is_summary(message: Message) -> bool:
    """Return whether a message is the summary that a compaction wrote."""
    return isinstance(message.info, AssistantMessage) and message.info.summary


def summaries(messages: Messages) -> set[str]:
    """Return the ids of the summaries that compactions wrote."""
    return {message.id for message in messages if is_summary(message)}


def reported_usage(message: Message, info: AssistantMessage, request_id: str) -> Usage:
    """Return the usage reported for one request: the message of a summary may hold several."""
    is_of_request = False
    for part in message.parts:
        if isinstance(part, StepStartPart):
            is_of_request = part.request_id == request_id
        elif is_of_request and isinstance(part, StepFinishPart):
            return part.tokens
    return Usage() if info.summary else info.tokens


def stop_reason_of(info: AssistantMessage) -> StoppedBy | None:
    """Return the reason why a turn with this last answer ended; None where it continues or is unknown."""
    for reason in STOP_REASONS:
        if info.stopped_by == reason:
            return reason
    if info.error is not None:
        return stop_reason_of_error(info.error)
    return _REASON_BY_FINISH.get(info.finish or "")


def stop_reason_of_error(error: ErrorValue) -> StoppedBy:
    """Return the reason for the end of a turn that ended with this error."""
    match error:
        case AbortedError():
            return "interrupted" if error.message in KERNEL_ENDED else "cancelled"
        case OutputLengthError():
            return "length"
        case ContentFilterError():
            return "content_filter"
        case ContextOverflowError():
            return "window"
        case _:
            return "error"
