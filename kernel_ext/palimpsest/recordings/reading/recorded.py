"""The values that every importer yields: the neutral form of another agent's recorded session.

The values come in the recording's order, so that a log of any size is read in one pass. Times are milliseconds since
1970, None where the recording has none; texts are whole, as recorded. Ids are the recording's own and unique within a
session; where there are none, the importer numbers the values (``m1``, ``m2``, ...).
Fields named ``message``, ``call``, ``session``, ``parent`` and the like hold ids.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from palimpsest.direct_init import with_direct_init
from palimpsest.transcript.timeline import RecordedTotals
from palimpsest.transcript.values import ToolSpec, Usage

Json = dict[str, Any]
REQUESTS_NOT_RECORDED = "The system prompt and the tools are not in the recording."
NO_ANSWER_SENTENCE = "The answer of this request is not in the recording."
NO_TOOLS_SENTENCE = "The tools that were offered are not in the recording."
OTHER_SYSTEM_SENTENCE = "Another system prompt was sent from here on."
SUBAGENT_KEY = "task"
"""Key in a call's metadata for the id of the session that the call started, as in Palimpsest's own tool."""
"""The gap of a recording without them; a capture of its requests has both."""


@dataclass(frozen=True, slots=True)
class SessionBegin:
    """The beginning of a session, to which all values up to the next ``SessionBegin`` belong."""

    id: str
    format: str
    """Name of the importer, such as ``pi``."""
    format_version: str = ""
    """Version of the format or of the recording program, as recorded."""
    title: str = ""
    directory: str = ""
    """Working directory on the recording machine; data only, never opened."""
    created: int | None = None
    model: str = ""
    """``provider/name`` of the first model, where it is known before the first answer."""
    window: int | None = None
    """Context window in tokens, as recorded."""
    system: str | None = None
    """The system prompt, where it was recorded."""
    tools: tuple[ToolSpec, ...] | None = None
    """The offered tools; None where they were not recorded."""
    permissions: str = ""
    """What the agent was allowed to do without asking, in the recording's own word."""
    parent: str | None = None
    """Id of the session in the same recording that started this one as a subagent."""
    parent_call: str | None = None
    """Id of the parent's tool call that started this session."""
    branch_of: str | None = None
    """Id of the session off which this one branches, in the same recording or in a file beside it."""
    branch_at: str | None = None
    """Id of the last message that both branches have in common."""
    copied_messages: Collection[str] = frozenset()
    """Ids of the messages and compactions that the other branch also has; they are only counted there."""


@with_direct_init
@dataclass(frozen=True, slots=True)
class Text:
    """Text of a message."""

    text: str
    synthetic: bool = False
    """Whether the agent's program wrote the text as a message of the user."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning of a model; ``encrypted`` where only an opaque form was recorded, whose text is empty."""

    text: str
    encrypted: bool = False
    tokens: int | None = None
    """Length of the reasoning in tokens, where it was recorded."""


@dataclass(frozen=True, slots=True)
class Media:
    """An image or file of a message, or of a result."""

    mime: str
    data: str | None = None
    """The content as base64; None where it is not in the recording."""
    name: str | None = None


@with_direct_init
@dataclass(frozen=True, slots=True)
class Call:
    """A tool call by the model."""

    id: str
    tool: str
    input: Json
    at_provider: bool = False
    """Whether the provider itself ran the call, within the request."""


MessagePart = Text | Thinking | Media | Call
"""A part of a message; one of the user has no thinking and no calls."""


def text_of_parts(parts: Iterable[object], separator: str = "\n") -> str:
    """Return the joined texts of parts."""
    return separator.join(part.text for part in parts if isinstance(part, Text))


def media_of(parts: Iterable[object]) -> tuple[Media, ...]:
    """Return the images and files of parts."""
    return tuple(part for part in parts if isinstance(part, Media))


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A place of a request after which the client asked the provider to keep the prompt in its cache."""

    place: str
    """``tool 25``, ``system block 3`` or ``message 7, block 2``, counted from 1 as sent."""
    lifetime: str = ""
    """``5m`` or ``1h``; empty where the client left it to the provider."""
    block: str = ""
    """What the marked block of a message is known by: ``call ID``, ``result ID``, or ``text``, the fingerprint of its text
    and how many later blocks have the same; empty where it is none of these."""


@dataclass(frozen=True, slots=True)
class SentRead:
    """The parts of a captured request besides its messages, exactly as sent."""

    system: tuple[str, ...] | None = None
    """The blocks of the system prompt; None where they are unchanged since the captured request before."""
    tools: str | None = None
    """The offered tools, as the JSON that was sent; None where they are unchanged since the request before."""
    cache_marks: tuple[CacheMark, ...] = ()

    def changed_since(self, earlier: "SentRead") -> "SentRead":
        """Return these parts with None for a system prompt and tools that are equal in the request before."""
        return replace(
            self,
            system=None if self.system == earlier.system else self.system,
            tools=None if self.tools == earlier.tools else self.tools,
        )


@with_direct_init
@dataclass(frozen=True, slots=True)
class MessageRead:
    """A user's message, or one answer of the model: one request.

    An answer is yielded once, whole: an importer whose format spreads an answer over records joins them first. The results
    of its calls follow as ``ResultRead``.
    """

    id: str
    role: Literal["user", "assistant"]
    parts: tuple[MessagePart, ...] = ()
    created: int | None = None
    """Time at which the request was sent or the message written, if known; else the time of the record."""
    completed: int | None = None
    model: str = ""
    """``provider/name``; the previous one where empty."""
    effort: str | None = None
    """Reasoning effort or thinking level of the request."""
    client: str = ""
    """Version of the agent's program that sent the request, as recorded."""
    cache_miss: str = ""
    """The provider's reason why less of the prompt was cached."""
    usage: Usage | None = None
    """``input`` without cached tokens, ``output`` without reasoning; None where not recorded."""
    cost: float | None = None
    """US dollars, as recorded."""
    finish: str | None = None
    """The finish reason: ``stop``, ``tool-calls``, ``length``, ``content-filter``, ``error`` or ``aborted``."""
    error: str | None = None
    by_program: bool = False
    """Whether the agent's program wrote this user message: a reminder, an instruction file, a result of a hook."""
    is_summary: bool = False
    """Whether the answer is the summary of the compaction before it."""
    session: str | None = None
    """For a user message: id of the subagent's session in the same recording whose result it contains."""
    captured_request: SentRead | None = None
    """For an answer: the other parts of its captured request; None where the request was not captured."""


@with_direct_init
@dataclass(frozen=True, slots=True)
class ResultRead:
    """The result of a call; it may come long after the call, and only a call's first result is used."""

    call: str
    output: str
    is_error: bool = False
    started: int | None = None
    ended: int | None = None
    media: tuple[Media, ...] = ()
    metadata: Json = field(default_factory=dict)
    """Small facts about the result, such as an exit code, without a copy of its text."""
    session: str | None = None
    """Id of the session in the same recording to which the call gave work."""


@dataclass(frozen=True, slots=True)
class UsageRead:
    """The usage of an answer that was yielded before, for formats that report it later."""

    message: str
    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class CompactionRead:
    """A replacement of earlier messages by a summary, which takes effect with the next request."""

    id: str
    summary: str | None
    """The summary's text; None where the recording has it only in encrypted form."""
    keeps_from: str | None = None
    """Id of the first message that stayed word for word; None where none did."""
    replaced_messages: tuple[str, ...] | None = None
    """Ids of the replaced messages, where the format lists them; None means all before ``keeps_from``."""
    created: int | None = None
    is_automatic: bool = True
    tokens_before: int | None = None
    tokens_after: int | None = None
    usage: Usage | None = None
    """Usage of the call that wrote the summary."""
    written_by: str | None = None
    """Id of the session in the same recording whose last request wrote the summary."""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ReducedRead:
    """A recorded reduction of a call's output, which takes effect with the next request."""

    call: str
    shown_text: str
    """The text in place of the output; empty where it was left out."""
    rule: str = ""
    """The rule's name, as far as it is recorded."""
    restored: bool = False
    """Whether the whole output is shown again instead."""


@dataclass(frozen=True, slots=True)
class RemovedRead:
    """Messages that the user reverted: they are no longer sent."""

    messages: tuple[str, ...]
    created: int | None = None


@dataclass(frozen=True, slots=True)
class TitleRead:
    """A title that the session received after it began."""

    title: str


@dataclass(frozen=True, slots=True)
class TotalsRead:
    """The recording's own totals of the whole session; the newest ones are used."""

    totals: RecordedTotals


@dataclass(frozen=True, slots=True)
class GapRead:
    """A difference between the recording and the context: a part that is missing in one of them."""

    sentence: str
    """A sentence, such as "The output was cut before it was recorded"."""
    message: str | None = None
    call: str | None = None
    chars: int | None = None
    """Size of the missing part in characters, where it is known."""


@dataclass(frozen=True, slots=True)
class UniqueGaps:
    """The gaps of a session that are yielded once each, however often they are found."""

    _sentences: set[str] = field(default_factory=set)

    def once(self, sentence: str, message: str | None = None) -> Iterator[GapRead]:
        """Yield a gap, unless one with its sentence was yielded before."""
        if sentence not in self._sentences:
            self._sentences.add(sentence)
            yield GapRead(sentence, message=message)


Recorded = (
    SessionBegin
    | MessageRead
    | ResultRead
    | UsageRead
    | CompactionRead
    | ReducedRead
    | RemovedRead
    | TitleRead
    | TotalsRead
    | GapRead
)
