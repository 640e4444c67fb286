"""Store the tool calls that wait for their results, and the positions of ended calls.

Border: values in, parts out. Only open calls are stored whole; of an ended call its ids and the beginning of its output
are stored, so that a later reduction can be recognised as a cut or a clearing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palimpsest.recordings.reading.recorded import SUBAGENT_KEY, Call, Media, ResultRead
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
MAX_BEGINNING_CHARS = 40
"""Maximum characters of an ended call's output that are stored."""
NO_RESULT_SENTENCE = "No result of this call was recorded."


@dataclass(slots=True)
class OpenCall:
    """A call without a result yet."""

    part: ToolPart
    requested_ms: int
    """Time at which the model made the call, in milliseconds since 1970."""
    gaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EndedCall:
    """The position of an ended call's part, with the length and the beginning of its output."""

    message_id: str
    part_id: str
    output_chars: int
    output_beginning: str

    def as_line(self) -> str:
        """Return the position as one line, which takes half the memory."""
        return f"{self.message_id} {self.part_id} {self.output_chars} {self.output_beginning}"

    @classmethod
    def of_line(cls, line: str) -> "EndedCall":
        """Return the position in a line."""
        message_id, part_id, output_chars, output_beginning = line.split(" ", 3)
        return cls(message_id, part_id, int(output_chars), output_beginning)


class OpenCalls:
    """The calls of one session."""

    def __init__(self) -> None:
        self._open_calls: dict[str, OpenCall] = {}
        self._ended_lines: dict[str, str] = {}
        """Each ended call's position as a line, by the call's id: a long recording has tens of thousands."""
        self._newest_ended: tuple[str, ToolPart] | None = None
        """Id and part of the call that ended last, to which later gaps are added."""

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

    def give_up_before(self, call_id: str) -> Iterator[ToolPart]:
        """Yield the parts of calls that can get no result once a new call begins: of one with its id, and the oldest."""
        if call_id in self._open_calls:
            yield self._give_up_call(call_id)
        while len(self._open_calls) >= MAX_OPEN_CALLS:
            yield self._give_up_call(next(iter(self._open_calls)))

    def _give_up_call(self, call_id: str) -> ToolPart:
        part = _part_without_result(self._open_calls.pop(call_id))
        self._ended_lines[call_id] = EndedCall(part.message_id, part.id, 0, "").as_line()
        return part

    def end(
        self, result: ResultRead, time_ms: int, subagent_session_id: str | None = None
    ) -> ToolPart | None:
        """End a call, and return its part with the result and the subagent's imported session; None if it is not open."""
        open_call = self._open_calls.pop(result.call, None)
        if open_call is None:
            return None
        part = _part_with_result(open_call, result, time_ms, subagent_session_id)
        output_beginning = result.output[:MAX_BEGINNING_CHARS]
        self._ended_lines[result.call] = EndedCall(
            part.message_id, part.id, len(result.output), output_beginning
        ).as_line()
        self._newest_ended = result.call, part
        return part

    def position_of_ended(self, call_id: str) -> EndedCall | None:
        """Return the position of an ended call's part; None where no call with the id has ended."""
        line = self._ended_lines.get(call_id)
        return None if line is None else EndedCall.of_line(line)

    def add_gap(self, call_id: str, gap_sentence: str) -> ToolPart | None:
        """Add a gap in the recording of a call; return the call's part if it has ended and so changes."""
        if call_id in self._open_calls:
            self._open_calls[call_id].gaps.append(gap_sentence)
            return None
        if self._newest_ended is None or self._newest_ended[0] != call_id:
            return None
        part = self._newest_ended[1]
        metadata = part.metadata or {}
        gaps = [*metadata.get("gaps", ()), gap_sentence]
        part = part.model_copy(update={"metadata": {**metadata, "gaps": gaps}})
        self._newest_ended = call_id, part
        return part

    def unanswered_parts(self) -> Iterator[ToolPart]:
        """Yield the parts of the calls without a result at the end of a recording; the calls stay open."""
        for open_call in self._open_calls.values():
            yield _part_without_result(open_call)


def _part_without_result(open_call: OpenCall) -> ToolPart:
    state = ToolFailed(
        input=open_call.part.state.input,
        error=NO_RESULT_SENTENCE,
        metadata={"interrupted": True},
        time=Span(start=open_call.requested_ms, end=open_call.requested_ms),
    )
    return _part_with_gaps(open_call, open_call.part.model_copy(update={"state": state}))


def _part_with_result(
    open_call: OpenCall, result: ResultRead, time_ms: int, subagent_session_id: str | None
) -> ToolPart:
    tool_input = open_call.part.state.input
    start_ms = open_call.requested_ms if result.started is None else result.started
    span = Span(start=start_ms, end=time_ms if result.ended is None else result.ended)
    metadata: dict[str, Any] = dict(result.metadata)
    if subagent_session_id is not None:
        metadata[SUBAGENT_KEY] = subagent_session_id
    missing_media = [file.name or file.mime for file in result.media if file.data is None]
    if missing_media:
        metadata["media_not_recorded"] = missing_media
    state: ToolCompleted | ToolFailed
    if result.is_error:
        state = ToolFailed(input=tool_input, error=result.output, metadata=metadata, time=span)
    else:
        state = ToolCompleted(
            input=tool_input,
            output=result.output,
            metadata=metadata,
            time=span,
            attachments=tuple(
                Attachment(mime=file.mime, filename=file.name, url=data_url(file))
                for file in result.media
                if file.data is not None
            ),
        )
    return _part_with_gaps(open_call, open_call.part.model_copy(update={"state": state}))


def _part_with_gaps(open_call: OpenCall, part: ToolPart) -> ToolPart:
    if not open_call.gaps:
        return part
    return part.model_copy(update={"metadata": {**(part.metadata or {}), "gaps": open_call.gaps}})


def data_url(media: Media) -> str:
    """Return an image or file as a ``data:`` url."""
    return f"data:{media.mime};base64,{media.data}"
