"""Cut a turn into the segments that become outputs of the cell.

Border: pure; returns slices of messages. Only the newest segment is shown
again, so that the output of a long answer grows with its length and not with its square. A cut falls after a tool call
whose figures are shown between two segments, or at the end of a block of text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.render.content.outline import Caps
from palimpsest.transcript.messages import Message, parts_of
from palimpsest.transcript.parts import Part, ReasoningPart, TextPart, ToolPart

MAX_SEGMENT_CHARS = 8_000
"""Characters after which a segment is closed, so that a refresh never sends much more."""
MAX_BLOCK_CHARS = 24_000
"""Characters after which a block of text (a table, a code listing) is cut between two lines."""
MAX_OUTPUTS = 30
"""Maximum outputs of one turn, segments and native ones together; notebooks slow down with more."""
SHOWN_CALL_CHARS = 2_000
"""Characters that a call counts for: its limit, since the shown length changes until the call ends."""
SHOWN_REASONING_CHARS = 240
SHOWN_OTHER_CHARS = 80

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])\s")


@dataclass(frozen=True, slots=True)
class Segment:
    """The piece of a turn in one output, from ``start`` to ``end`` (None while it is open)."""

    index: int
    start: SegmentCut
    end: SegmentCut | None = None
    closing_text: str = ""
    """Text to append where the cut fell inside a code fence."""
    caps: Caps = field(default_factory=Caps)
    first_step: int = 1
    """The number in the turn of the segment's first step."""


def segment_messages(messages: Sequence[Message], segment: Segment) -> Iterator[Message]:
    """Yield the messages of a segment, each with its parts inside the segment.

    The error of a message is in the segment in which the message ends.
    """
    part_index = 0
    for message in messages:
        parts_inside = []
        for part in message.parts:
            piece = _part_inside(part, part_index, segment)
            if piece is not None:
                parts_inside.append(piece)
            part_index += 1
        is_before_end = segment.end is None or part_index <= segment.end.part
        ends_here = segment.start.part <= part_index and is_before_end
        error = getattr(message.info, "error", None)
        if parts_inside or (error is not None and ends_here):
            info = message.info
            if error is not None and not ends_here:
                info = info.model_copy(update={"error": None})
            yield message.model_copy(update={"info": info, "parts": tuple(parts_inside)})


def cut_after_call(messages: Sequence[Message], segment: Segment, call_id: str) -> Segment | None:
    """Return the segment closed after a tool call; None where the call is not in it."""
    for part_index, part in enumerate(parts_of(messages)):
        if (
            isinstance(part, ToolPart)
            and part.call_id == call_id
            and part_index >= segment.start.part
        ):
            return replace(segment, end=SegmentCut(part_index + 1))
    return None


def cut_when_long(messages: Sequence[Message], segment: Segment) -> Segment | None:
    """Return the segment closed at the end of a block if it is too long, else None."""
    chars = 0
    for part_index, part in enumerate(parts_of(messages)):
        if part_index < segment.start.part:
            continue
        start = segment.start if part_index == segment.start.part else SegmentCut()
        offset = start.offset
        length = _shown_length(part) - offset
        if chars + length <= MAX_SEGMENT_CHARS:
            chars += length
            continue
        if isinstance(part, TextPart):
            cut = _cut_text(part.text, start, MAX_SEGMENT_CHARS - chars)
            if cut is not None:
                end_offset, closing_text, opening_text = cut
                return replace(
                    segment,
                    end=SegmentCut(part_index, end_offset, opening_text),
                    closing_text=closing_text,
                )
        if chars > 0 and not isinstance(part, TextPart):
            return replace(segment, end=SegmentCut(part_index))
        chars += length
    return None


def segment_after(messages: Sequence[Message], closed_segment: Segment) -> Segment:
    """Return the segment that begins where a closed one ends."""
    if closed_segment.end is None:
        raise ValueError("Only a closed segment has one that follows.")
    parts = [*parts_of(segment_messages(messages, closed_segment))]
    steps = sum(part.type == "step-finish" for part in parts)
    return Segment(
        index=closed_segment.index + 1,
        start=closed_segment.end,
        caps=closed_segment.caps.caps_after(parts),
        first_step=closed_segment.first_step + steps,
    )


def _part_inside(part: Part, part_index: int, segment: Segment) -> Part | None:
    """Return the piece of a part inside the segment; None where there is none."""
    start, end = segment.start, segment.end
    if part_index < start.part or (end is not None and part_index > end.part):
        return None
    is_last = end is not None and part_index == end.part
    if is_last and (end is None or end.offset == 0):
        return None
    is_continued = part_index == start.part and start.offset > 0
    if not isinstance(part, TextPart) or not (is_continued or is_last):
        return part
    first_offset = start.offset if is_continued else 0
    end_offset = end.offset if is_last and end is not None else len(part.text)
    text = (
        (start.joint if is_continued else "")
        + part.text[first_offset:end_offset]
        + (segment.closing_text if is_last else "")
    )
    return part.model_copy(update={"text": text})


def _shown_length(part: Part) -> int:
    """Return the approximate number of characters that a part shows."""
    if isinstance(part, TextPart):
        return len(part.text)
    if isinstance(part, ToolPart):
        return SHOWN_CALL_CHARS
    return SHOWN_REASONING_CHARS if isinstance(part, ReasoningPart) else SHOWN_OTHER_CHARS


def _cut_text(text: str, start: SegmentCut, max_chars: int) -> tuple[int, str, str] | None:
    """Return where to cut a text: the offset, the text that closes the piece, and the text that opens the next."""
    offset = start.offset
    last_break = read_chars = 0
    open_fence = _FENCE.match(start.joint.rstrip("\n"))
    fence, fence_line = (open_fence[1], start.joint) if open_fence else ("", "")
    lines = text[offset:].splitlines(keepends=True)
    for number, line in enumerate(lines):
        read_chars += len(line)
        match = _FENCE.match(line.rstrip("\n"))
        if match and not fence:
            fence, fence_line = match[1], line
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        if not line.endswith("\n"):
            break
        if read_chars >= MAX_BLOCK_CHARS and read_chars - last_break >= MAX_BLOCK_CHARS:
            closing_text, opening_text = (f"{fence}\n", fence_line) if fence else ("", "")
            return offset + read_chars, closing_text, opening_text
        if not fence and not line.strip() and _is_block_start(lines, number + 1):
            last_break = read_chars
            # After the block that reaches the limit: it was drawn here while it grew.
            if last_break >= max_chars:
                return offset + last_break, "", ""
    return None


def _is_block_start(lines: list[str], index: int) -> bool:
    """Return whether the line exists and begins a new block, so that a growing text can be cut before it."""
    if index >= len(lines) or not lines[index].strip():
        return False
    line = lines[index]
    return not (line.startswith(("    ", "\t", "  ")) or _LIST_ITEM.match(line))
