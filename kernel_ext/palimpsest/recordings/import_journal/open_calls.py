"""Store the tool calls that wait for their result, and the positions of ended calls.

Border: values in, parts out. Only open calls are stored whole; of an ended call its ids and the beginning of its output
are stored, so that a later reduction can be recognised as a cut or a clearing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palimpsest.recordings.reading.recorded import Call, Media, ResultRead
from palimpsest.transcript.parts import (
    Attachment,
    Span,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
)
from palimpsest.transcript.provider_calls import EXECUTED

MAX_OPEN_CALLS = 1_000
"""Maximum calls that are open at a time: a recording without results has thousands."""
BEGINNING_CHARS = 40
SUBAGENT_TOOL = "task"
"""Key in a call's metadata for the session of a subagent, as in Palimpsest's own tool."""
NO_RESULT = "No result of this call was recorded."


@dataclass(slots=True)
class OpenCall:
    """A call without a result yet."""

    part: ToolPart
    requested_at: int
    """Time at which the model made the call, in milliseconds since 1970."""
    gaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EndedCall:
    """The position of an ended call's part."""

    message_id: str
    part_id: str
    chars: int
    first_chars: str

    def line(self) -> str:
        """Return it as one line, which takes half the memory."""
        return f"{self.message_id} {self.part_id} {self.chars} {self.first_chars}"

    @classmethod
    def of_line(cls, line: str) -> "EndedCall":
        """Return the position in a line."""
        message_id, part_id, chars, beginning = line.split(" ", 3)
        return cls(message_id, part_id, int(chars), beginning)


class OpenCalls:
    """The calls of one session."""

    def __init__(self) -> None:
        self._open_calls: dict[str, OpenCall] = {}
        self._ended_calls: dict[str, str] = {}
        """The line of each ended call, of which a long recording has tens of thousands."""
        self._newest: tuple[str, ToolPart] | None = None
        """The call that ended last, to which later facts about a result are added."""

    def add(self, call: Call, ids: dict[str, Any], time_ms: int) -> ToolPart:
        """Add a new call, and return its part; ``ids`` are the fields with the part's ids."""
        part = ToolPart(
            **ids,
            call_id=call.id,
            tool=call.tool,
            state=ToolPending(input=call.input),
            metadata={EXECUTED: True} if call.at_provider else None,
        )
        self._open_calls[call.id] = OpenCall(part, time_ms)
        return part

    def give_up_before(self, call: str) -> Iterator[ToolPart]:
        """Yield the calls that can have no result any more once a new call with this id begins."""
        if call in self._open_calls:
            yield self._give_up(call)
        while len(self._open_calls) >= MAX_OPEN_CALLS:
            yield self._give_up(next(iter(self._open_calls)))

    def _give_up(self, call: str) -> ToolPart:
        part = _without_result(self._open_calls.pop(call))
        self._ended_calls[call] = EndedCall(part.message_id, part.id, 0, "").line()
        return part

    def end(self, result: ResultRead, time_ms: int, subagent: str | None = None) -> ToolPart | None:
        """Return a call's part with its result, and the imported session of its ``subagent``; None for other calls."""
        open_call = self._open_calls.pop(result.call, None)
        if open_call is None:
            return None
        part = _with_result(open_call, result, time_ms, subagent)
        beginning = result.output[:BEGINNING_CHARS]
        self._ended_calls[result.call] = EndedCall(
            part.message_id, part.id, len(result.output), beginning
        ).line()
        self._newest = result.call, part
        return part

    def place_of_ended(self, call: str) -> EndedCall | None:
        """Return the position of an ended call's part."""
        line = self._ended_calls.get(call)
        return None if line is None else EndedCall.of_line(line)

    def add_gap(self, call: str, gap: str) -> ToolPart | None:
        """Add a gap in the recording of a call; return the call's part if it has ended and so changes."""
        if call in self._open_calls:
            self._open_calls[call].gaps.append(gap)
            return None
        if self._newest is None or self._newest[0] != call:
            return None
        part = self._newest[1]
        metadata = part.metadata or {}
        gaps = [*metadata.get("gaps", ()), gap]
        part = part.model_copy(update={"metadata": {**metadata, "gaps": gaps}})
        self._newest = call, part
        return part

    def unanswered(self) -> Iterator[ToolPart]:
        """Yield the parts of the calls without a result at the end of a recording; the calls stay open."""
        for open_call in self._open_calls.values():
            yield _without_result(open_call)


def _without_result(open_call: OpenCall) -> ToolPart:
    state = ToolFailed(
        input=open_call.part.state.input,
        error=NO_RESULT,
        metadata={"interrupted": True},
        time=Span(start=open_call.requested_at, end=open_call.requested_at),
    )
    return _with_gaps(open_call, open_call.part.model_copy(update={"state": state}))


def _with_result(
    open_call: OpenCall, result: ResultRead, time_ms: int, subagent: str | None
) -> ToolPart:
    tool_input = open_call.part.state.input
    start = open_call.requested_at if result.started is None else result.started
    time = Span(start=start, end=time_ms if result.ended is None else result.ended)
    metadata: dict[str, Any] = dict(result.metadata)
    if subagent is not None:
        metadata[SUBAGENT_TOOL] = subagent
    missing = [file.name or file.mime for file in result.media if file.data is None]
    if missing:
        metadata["media_not_recorded"] = missing
    state: ToolCompleted | ToolFailed
    if result.is_error:
        state = ToolFailed(input=tool_input, error=result.output, metadata=metadata, time=time)
    else:
        state = ToolCompleted(
            input=tool_input,
            output=result.output,
            metadata=metadata,
            time=time,
            attachments=tuple(
                Attachment(mime=file.mime, filename=file.name, url=data_url(file))
                for file in result.media
                if file.data is not None
            ),
        )
    return _with_gaps(open_call, open_call.part.model_copy(update={"state": state}))


def _with_gaps(open_call: OpenCall, part: ToolPart) -> ToolPart:
    if not open_call.gaps:
        return part
    return part.model_copy(update={"metadata": {**(part.metadata or {}), "gaps": open_call.gaps}})


def data_url(media: Media) -> str:
    """Return an image or file as a ``data:`` url."""
    return f"data:{media.mime};base64,{media.data}"
