"""Build the outputs of a turn's cell again from the log: of a notebook that was not saved, or of a recorded answer.

Border: pure but for the images, which the caller reads; the segments are cut and made as the cell's
own. Native outputs come from the log too: figures as it keeps them, and no HTML, since no file in a
folder may become a page's own markup.
"""

import base64
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.closed_segment import turn_messages
from palimpsest.frontends.turn_output.mime_bundle import bundle, ended_frame
from palimpsest.frontends.turn_output.segments import (
    MOST_OUTPUTS,
    Segment,
    cut_after_call,
    cut_when_long,
    following,
    parts_of,
)
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.safety.allowed_elements import PICTURES
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import PromptDelivered, Record
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible

Output = dict[str, Any]
"""One output of a cell, as a notebook saves it."""


def turn_outputs(
    session: str,
    turn: str,
    snapshot: Snapshot,
    records: Sequence[Record],
    *,
    scrub: Callable[[str], str],
    picture: Callable[[str], str],
    density: Density,
) -> tuple[Output, ...]:
    """Return the outputs of a turn that is over; ``picture`` reads the image at an attachment's URL."""
    found: list[Output] = []
    pieces = turn_pieces(
        session, turn, snapshot, records, scrub=scrub, picture=picture, density=density
    )
    for piece in pieces:
        found += [
            {"output_type": "display_data", "data": data, "metadata": {}}
            for data in (piece.figures if isinstance(piece, ShownCall) else [piece])
        ]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ShownCall:
    """The place below a call of Python where its outputs are shown."""

    call_id: str
    figures: tuple[dict[str, Any], ...]
    """Its recorded figures, as MIME bundles."""


def turn_pieces(
    session: str,
    turn: str,
    snapshot: Snapshot,
    records: Sequence[Record],
    *,
    scrub: Callable[[str], str],
    picture: Callable[[str], str],
    density: Density,
    below: Collection[str] = (),
) -> Iterator[dict[str, Any] | ShownCall]:
    """Yield the segments of a turn that is over, as MIME bundles, and, below its calls of Python, their places.

    A call has a place if it has figures, or if its id is in ``below``.
    """
    messages = turn_messages(snapshot.messages, turn)
    notes = OutlineNotes.of(records)
    delivered = (
        record.seq
        for record in records
        if isinstance(record.event, PromptDelivered) and record.event.message_id == turn
    )
    frame = ended_frame(session, turn, snapshot, next(delivered, 0), density)
    for piece in _pieces(messages, picture, below):
        if not isinstance(piece, Segment):
            yield piece
            continue
        data = bundle(messages, piece, frame, notes=notes, scrub=scrub)
        if data["text/markdown"]:
            yield data


def _pieces(
    messages: Sequence[Message], picture: Callable[[str], str], below: Collection[str]
) -> Iterator[Segment | ShownCall]:
    """Yield the segments of a turn and, below their calls, the places of their outputs."""
    segment, outputs = Segment(0, SegmentCut()), 0
    for call in parts_of(messages):
        if not isinstance(call, ToolPart) or (call.tool != "python" and call.call_id not in below):
            continue
        figures = tuple(_figures(call, picture))
        wanted = figures or call.call_id in below
        while wanted and outputs + 1 + max(1, len(figures)) < MOST_OUTPUTS:
            closed = cut_after_call(messages, segment, call.call_id)
            long = cut_when_long(messages, segment)
            if closed is None:
                break
            first = long if long is not None and _ends(long) < _ends(closed) else closed
            yield first
            segment, outputs = following(messages, first), outputs + 1
            if first is closed:
                yield ShownCall(call.call_id, figures)
                outputs += len(figures)
                break
    while outputs + 1 < MOST_OUTPUTS and (closed := cut_when_long(messages, segment)) is not None:
        yield closed
        segment, outputs = following(messages, closed), outputs + 1
    yield segment


def _ends(segment: Segment) -> tuple[int, int]:
    """Return where a closed segment ends, as a value that can be compared."""
    end = segment.end or SegmentCut()
    return end.part, end.offset


def _figures(part: ToolPart, picture: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return the figures of a Python call as outputs; one that cannot be read becomes a text about it."""
    attached = part.state.attachments if isinstance(part.state, ToolCompleted) else ()
    found: list[dict[str, Any]] = []
    for one in attached:
        named = f"<{one_line(one.mime, 40)}>"
        try:
            address = one.url if one.url.startswith("data:") else picture(one.url)
        except UserError as problem:
            found.append({"text/plain": visible(f"{named} {problem}")})
            continue
        mime, _, content = address.removeprefix("data:").partition(";base64,")
        # The log may come from anybody: what is no picture, such as HTML, must not become an output that a page trusts.
        if mime in PICTURES and _is_base64(content):
            found.append({mime: content, "text/plain": visible(named)})
        else:
            found.append(
                {"text/plain": visible(f"{named} This is no picture, so it is not shown.")}
            )
    return found


def _is_base64(content: str) -> bool:
    try:
        return bool(base64.b64decode(content, validate=True))
    except ValueError:
        return False
