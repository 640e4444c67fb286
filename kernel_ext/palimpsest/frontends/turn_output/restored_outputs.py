"""Rebuild outputs of a turn's cell from the log, for a notebook that was not saved, a reloaded page or a recorded answer.

Border: pure except for images, which the caller reads; segments are cut and written as for a running
cell. Native outputs come from the log: figures as it keeps them, but no HTML, since no file in a
project's folder may become markup of a page. A reloaded page gets no more updates of the outputs it shows, so it requests
the last one when the turn has ended and writes it into the notebook itself.
"""

import base64
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from palimpsest.frontends.protocol.segments import SegmentCut, TurnSegment
from palimpsest.frontends.turn_output.mime_bundle import Scrub, ended_turn_facts, segment_bundle
from palimpsest.frontends.turn_output.segments import (
    MAX_OUTPUTS,
    Segment,
    cut_after_call,
    cut_when_long,
    segment_after,
    segment_messages,
)
from palimpsest.frontends.turn_output.turn_feed import shown_messages
from palimpsest.render.content.outline import Caps, OutlineNotes
from palimpsest.render.safety.allowed_elements import PICTURE_TYPES
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage, parts_of
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import PromptDelivered, Record
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible_text

Output = dict[str, Any]
"""One output of a cell, as a notebook saves it."""
MAX_MIME_CHARS = 40
FINAL_REASONS = frozenset({"stop", "length", "content-filter", "error"})
"""Finish reasons after which a user message begins another turn."""


@dataclass(frozen=True, slots=True)
class OutputPlace:
    """The place below a call of Python where its outputs are shown."""

    call_id: str
    figures: tuple[dict[str, Any], ...]
    """Its recorded figures, as MIME bundles."""


def turn_pieces(
    session_id: str,
    turn_id: str,
    snapshot: Snapshot,
    records: Sequence[Record],
    *,
    scrub: Scrub,
    read_image: Callable[[str], str],
    density: Density,
    call_ids_with_place: Collection[str] = (),
) -> Iterator[dict[str, Any] | OutputPlace]:
    """Yield the segments of a turn that has ended as MIME bundles, and places for outputs below its Python calls.

    A call has a place if it has figures, or if its id is in ``call_ids_with_place``. ``read_image`` returns the image at an
    attachment's URL.
    """
    messages = _turn_messages(snapshot.messages, turn_id)
    notes = OutlineNotes.of_records(records)
    delivery_seqs = (
        record.seq
        for record in records
        if isinstance(record.event, PromptDelivered) and record.event.message_id == turn_id
    )
    turn_facts = ended_turn_facts(session_id, turn_id, snapshot, next(delivery_seqs, 0), density)
    for piece in _segments_and_places(messages, read_image, call_ids_with_place):
        if not isinstance(piece, Segment):
            yield piece
            continue
        bundle = segment_bundle(messages, piece, turn_facts, notes=notes, scrub=scrub)
        if bundle["text/markdown"]:
            yield bundle


def closed_bundle(
    command: TurnSegment, snapshot: Snapshot, notes: OutlineNotes, scrub: Scrub, density: Density
) -> dict[str, Any]:
    """Return the MIME bundle of a segment of a turn that has ended."""
    messages = _turn_messages(snapshot.messages, command.turn)
    start, end = command.start, command.end
    earlier_parts = parts_of(segment_messages(messages, Segment(0, SegmentCut(), start)))
    segment = Segment(
        index=0,
        start=start,
        end=end,
        closing_text=end.joint if end is not None else "",
        caps=Caps().caps_after([*earlier_parts]),
        first_step=command.first_step,
    )
    turn_facts = ended_turn_facts(
        command.session, command.turn, snapshot, command.first_seq, density
    )
    return segment_bundle(messages, segment, turn_facts, notes=notes, scrub=scrub)


def _turn_messages(messages: Sequence[Message], turn_id: str) -> list[Message]:
    """Return the messages that a turn shows, up to the user message that begins the next one."""
    indexes = [index for index, message in enumerate(messages) if message.id == turn_id]
    if not indexes:
        raise NotFound(f"This session has no turn {turn_id!r}; open the session that has it.")
    turn_messages: list[Message] = []
    for message in shown_messages(messages[indexes[-1] + 1 :]):
        if isinstance(message.info, UserMessage) and _is_new_turn(message.info, turn_messages):
            break
        turn_messages.append(message)
    return turn_messages


def _is_new_turn(info: UserMessage, messages_before: Sequence[Message]) -> bool:
    if info.joins:
        return False
    if info.origin is not None and info.origin.kind == "cell":
        return True
    last_info = messages_before[-1].info if messages_before else None
    if not isinstance(last_info, AssistantMessage):
        return False
    return last_info.error is not None or last_info.finish in FINAL_REASONS


def notebook_outputs(pieces: Iterable[dict[str, Any] | OutputPlace]) -> tuple[Output, ...]:
    """Return the pieces of a turn as outputs of its cell, in which figures stand below their calls."""
    bundles = ((piece.figures if isinstance(piece, OutputPlace) else (piece,)) for piece in pieces)
    return tuple(
        {"output_type": "display_data", "data": bundle, "metadata": {}}
        for bundle in chain.from_iterable(bundles)
    )


def _segments_and_places(
    messages: Sequence[Message],
    read_image: Callable[[str], str],
    call_ids_with_place: Collection[str],
) -> Iterator[Segment | OutputPlace]:
    segment, output_count = Segment(0, SegmentCut()), 0
    for call in parts_of(messages):
        if not isinstance(call, ToolPart):
            continue
        if call.tool != "python" and call.call_id not in call_ids_with_place:
            continue
        figures = tuple(_recorded_figures(call, read_image))
        needs_place = bool(figures) or call.call_id in call_ids_with_place
        while needs_place and output_count + 1 + max(1, len(figures)) < MAX_OUTPUTS:
            cut_segment = cut_after_call(messages, segment, call.call_id)
            cut_by_length = cut_when_long(messages, segment)
            if cut_segment is None:
                break
            next_segment = cut_segment
            if cut_by_length is not None and _end_of(cut_by_length) < _end_of(cut_segment):
                next_segment = cut_by_length
            yield next_segment
            segment, output_count = segment_after(messages, next_segment), output_count + 1
            if next_segment is cut_segment:
                yield OutputPlace(call.call_id, figures)
                output_count += len(figures)
                break
    while output_count + 1 < MAX_OUTPUTS and (cut_segment := cut_when_long(messages, segment)):
        yield cut_segment
        segment, output_count = segment_after(messages, cut_segment), output_count + 1
    yield segment


def _end_of(segment: Segment) -> tuple[int, int]:
    """Return the end of a closed segment as a comparable value."""
    end = segment.end or SegmentCut()
    return end.part, end.offset


def _recorded_figures(call: ToolPart, read_image: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return the figures of a Python call as outputs; an unreadable figure becomes a sentence."""
    attachments = call.state.attachments if isinstance(call.state, ToolCompleted) else ()
    outputs: list[dict[str, Any]] = []
    for attachment in attachments:
        label = f"<{one_line(attachment.mime, MAX_MIME_CHARS)}>"
        try:
            url = attachment.url
            data_url = url if url.startswith("data:") else read_image(url)
        except UserError as error:
            outputs.append({"text/plain": visible_text(f"{label} {error}")})
            continue
        mime, _, content = data_url.removeprefix("data:").partition(";base64,")
        # The log may come from anybody: content other than an image, such as HTML, must not become a trusted output.
        if mime in PICTURE_TYPES and _is_base64(content):
            outputs.append({mime: content, "text/plain": visible_text(label)})
        else:
            sentence = f"{label} This is no picture, so it is not shown."
            outputs.append({"text/plain": visible_text(sentence)})
    return outputs


def _is_base64(content: str) -> bool:
    try:
        return bool(base64.b64decode(content, validate=True))
    except ValueError:
        return False
