"""Cut a turn into the segments that become outputs of the cell.

Border: pure; parts go in, slices of messages come out. Only the newest segment is ever shown
again, so a long answer costs its own length and not its square; a cut falls after a tool call
whose figures are shown between two segments, or at the end of a block of text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.render.content.outline import Caps
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Part, ReasoningPart, TextPart, ToolPart

SEGMENT_CHARS = 8_000
"""A segment is closed at this length; so a refresh never sends much more than this."""
LONGEST_CHARS = 24_000
"""A block of text this long (a table, a code listing) is cut between two lines after all."""
MOST_OUTPUTS = 30
"""Outputs of one turn, ours and native ones together; notebooks slow down with more."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])\s")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a turn that is one output, from ``start`` to ``end`` (None while it is open)."""

    index: int
    start: SegmentCut
    end: SegmentCut | None = None
    tail: str = ""
    """Text to append, because the cut fell inside a code fence."""
    caps: Caps = field(default_factory=Caps)
    first_step: int = 1


def parts_of(messages: Sequence[Message]) -> list[Part]:
    """Return the parts of a turn, in order."""
    return [part for message in messages for part in message.parts]


def slices(messages: Sequence[Message], segment: Segment) -> Iterator[Message]:
    """Yield the messages of a segment, each with those of its parts that are inside it.

    The error of a message belongs to the segment in which the message ends.
    """
    number = 0
    for message in messages:
        inside = []
        for part in message.parts:
            piece = _piece(part, number, segment)
            if piece is not None:
                inside.append(piece)
            number += 1
        ends_here = segment.start.part <= number and (
            segment.end is None or number <= segment.end.part
        )
        error = getattr(message.info, "error", None)
        if inside or (error is not None and ends_here):
            info = message.info
            if error is not None and not ends_here:
                info = info.model_copy(update={"error": None})
            yield message.model_copy(update={"info": info, "parts": tuple(inside)})


def cut_after_call(messages: Sequence[Message], segment: Segment, call_id: str) -> Segment | None:
    """Close the segment after a tool call, or return None when the call is not in it."""
    for number, part in enumerate(parts_of(messages)):
        if isinstance(part, ToolPart) and part.call_id == call_id and number >= segment.start.part:
            return replace(segment, end=SegmentCut(number + 1))
    return None


def cut_when_long(messages: Sequence[Message], segment: Segment) -> Segment | None:
    """Close the segment at the end of a block when it has grown too long, else return None."""
    grown = 0
    for number, part in enumerate(parts_of(messages)):
        if number < segment.start.part:
            continue
        begins = segment.start if number == segment.start.part else SegmentCut()
        offset = begins.offset
        length = _length(part) - offset
        if grown + length <= SEGMENT_CHARS:
            grown += length
            continue
        if isinstance(part, TextPart):
            cut = _cut_text(part.text, begins, SEGMENT_CHARS - grown)
            if cut is not None:
                place, tail, lead = cut
                return replace(segment, end=SegmentCut(number, place, lead), tail=tail)
        if grown > 0 and not isinstance(part, TextPart):
            return replace(segment, end=SegmentCut(number))
        grown += length
    return None


def following(messages: Sequence[Message], closed: Segment) -> Segment:
    """Return the segment that begins where a closed one ends."""
    if closed.end is None:
        raise ValueError("Only a closed segment has one that follows.")
    shown = [part for message in slices(messages, closed) for part in message.parts]
    steps = sum(part.type == "step-finish" for part in shown)
    return Segment(
        index=closed.index + 1,
        start=closed.end,
        caps=closed.caps.after(shown),
        first_step=closed.first_step + steps,
    )


def _piece(part: Part, number: int, segment: Segment) -> Part | None:
    """Return the piece of a part that is inside the segment, or None."""
    start, end = segment.start, segment.end
    if number < start.part or (end is not None and number > end.part):
        return None
    ends = end is not None and number == end.part
    if ends and (end is None or end.offset == 0):
        return None
    begins = number == start.part and start.offset > 0
    if not isinstance(part, TextPart) or not (begins or ends):
        return part
    first = start.offset if begins else 0
    last = end.offset if ends and end is not None else len(part.text)
    text = (start.joint if begins else "") + part.text[first:last] + (segment.tail if ends else "")
    return part.model_copy(update={"text": text})


def _length(part: Part) -> int:
    """Return roughly how many characters a part shows."""
    if isinstance(part, TextPart):
        return len(part.text)
    if isinstance(part, ToolPart):
        return 2_000  # its cap; what it really shows changes until it ends
    return 240 if isinstance(part, ReasoningPart) else 80


def _cut_text(text: str, begins: SegmentCut, room: int) -> tuple[int, str, str] | None:
    """Find where to cut a text: the offset, the text that closes the piece, the text that opens the next."""
    offset = begins.offset
    best = place = 0
    inside = _FENCE.match(begins.joint.rstrip("\n"))
    fence, opener = (inside[1], begins.joint) if inside else ("", "")
    lines = text[offset:].splitlines(keepends=True)
    for number, line in enumerate(lines):
        place += len(line)
        match = _FENCE.match(line.rstrip("\n"))
        if match and not fence:
            fence, opener = match[1], line
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        if not line.endswith("\n"):
            break
        if place >= LONGEST_CHARS and place - best >= LONGEST_CHARS:
            return (offset + place, f"{fence}\n", opener) if fence else (offset + place, "", "")
        if not fence and not line.strip() and _block_begins(lines, number + 1):
            if place > max(room, 1) and best:
                return offset + best, "", ""
            best = place
            if best >= room:
                return offset + best, "", ""
    return None


def _block_begins(lines: list[str], number: int) -> bool:
    """Tell whether the next line is there and begins a new block, so that a growing text can be cut."""
    if number >= len(lines) or not lines[number].strip():
        return False
    line = lines[number]
    return not (line.startswith(("    ", "\t", "  ")) or _LIST_ITEM.match(line))
