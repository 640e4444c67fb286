"""Keep the tool calls that wait for their result, and where the parts of ended calls lie.

Border: values in, parts out. Only open calls are held whole; of an ended one its ids and the beginning of
its output stay, by which a later reduction is told apart as a cut or a clearing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palimpsest.review.importing.recorded import Call, Media, ResultRead
from palimpsest.transcript.parts import (
    Attachment,
    Span,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
)
from palimpsest.transcript.provider_calls import EXECUTED

MOST_OPEN = 1_000
"""More calls than this are not held open: a recording that has no results at all has thousands."""
BEGINNING_CHARS = 40

SUBAGENT = "task"
"""Under which name a call's metadata tell the session of a subagent, as those of our own tool do."""
NO_RESULT = "No result of this call was recorded."


@dataclass(slots=True)
class OpenCall:
    """A call without a result yet."""

    part: ToolPart
    asked: int
    """When the model asked for it, in milliseconds since 1970."""
    gaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EndedCall:
    """Where the part of an ended call lies."""

    message_id: str
    part_id: str
    chars: int
    beginning: str


class OpenCalls:
    """The calls of one session."""

    def __init__(self) -> None:
        self._open: dict[str, OpenCall] = {}
        self._ended: dict[str, EndedCall] = {}
        self._newest: tuple[str, ToolPart] | None = None
        """The call that ended last: what is said about a result follows it."""

    def ask(self, call: Call, base: dict[str, Any], at: int) -> ToolPart:
        """Return the part of a new call; ``base`` holds its ids."""
        part = ToolPart(
            **base,
            call_id=call.id,
            tool=call.tool,
            state=ToolPending(input=call.input),
            metadata={EXECUTED: True} if call.at_provider else None,
        )
        self._open[call.id] = OpenCall(part, at)
        return part

    def overdue(self, call: str) -> Iterator[ToolPart]:
        """Yield the calls that are given up, before another one with this id begins."""
        if call in self._open:
            yield self._give_up(call)
        while len(self._open) >= MOST_OPEN:
            yield self._give_up(next(iter(self._open)))

    def _give_up(self, call: str) -> ToolPart:
        part = _unanswered(self._open.pop(call))
        self._ended[call] = EndedCall(part.message_id, part.id, 0, "")
        return part

    def end(self, result: ResultRead, at: int, begun: str | None = None) -> ToolPart | None:
        """Return the part with its result; None for a call that has one, or that is not known.

        ``begun`` is our id of the subagent's session that the call is about.
        """
        held = self._open.pop(result.call, None)
        if held is None:
            return None
        part = _answered(held, result, at, begun)
        beginning = result.output[:BEGINNING_CHARS]
        self._ended[result.call] = EndedCall(
            part.message_id, part.id, len(result.output), beginning
        )
        self._newest = result.call, part
        return part

    def ended(self, call: str) -> EndedCall | None:
        """Return where the part of an ended call lies."""
        return self._ended.get(call)

    def miss(self, call: str, what: str) -> ToolPart | None:
        """Note that something of a call was not recorded; returns its part where that changes it."""
        if call in self._open:
            self._open[call].gaps.append(what)
            return None
        if self._newest is None or self._newest[0] != call:
            return None
        part = self._newest[1]
        metadata = part.metadata or {}
        gaps = [*metadata.get("gaps", ()), what]
        part = part.model_copy(update={"metadata": {**metadata, "gaps": gaps}})
        self._newest = call, part
        return part

    def unanswered(self) -> Iterator[ToolPart]:
        """Yield the calls without a result as they stand at the end of a recording; they stay open."""
        for held in self._open.values():
            yield _unanswered(held)


def _unanswered(held: OpenCall) -> ToolPart:
    state = ToolFailed(
        input=held.part.state.input,
        error=NO_RESULT,
        metadata={"interrupted": True},
        time=Span(start=held.asked, end=held.asked),
    )
    return _with_gaps(held, held.part.model_copy(update={"state": state}))


def _answered(held: OpenCall, result: ResultRead, at: int, begun: str | None) -> ToolPart:
    given = held.part.state.input
    start = held.asked if result.started is None else result.started
    time = Span(start=start, end=at if result.ended is None else result.ended)
    metadata: dict[str, Any] = dict(result.metadata)
    if begun is not None:
        metadata[SUBAGENT] = begun
    missing = [one.name or one.mime for one in result.media if one.data is None]
    if missing:
        metadata["media_not_recorded"] = missing
    state: ToolCompleted | ToolFailed
    if result.is_error:
        state = ToolFailed(input=given, error=result.output, metadata=metadata, time=time)
    else:
        state = ToolCompleted(
            input=given,
            output=result.output,
            metadata=metadata,
            time=time,
            attachments=tuple(attachments_of(result.media)),
        )
    return _with_gaps(held, held.part.model_copy(update={"state": state}))


def _with_gaps(held: OpenCall, part: ToolPart) -> ToolPart:
    if not held.gaps:
        return part
    return part.model_copy(update={"metadata": {**(part.metadata or {}), "gaps": held.gaps}})


def attachments_of(media: tuple[Media, ...]) -> Iterator[Attachment]:
    """Yield the images and files whose content was recorded."""
    for one in media:
        if one.data is not None:
            yield Attachment(mime=one.mime, filename=one.name, url=data_url(one))


def data_url(media: Media) -> str:
    """Return an image or file as a ``data:`` url."""
    return f"data:{media.mime};base64,{media.data}"
