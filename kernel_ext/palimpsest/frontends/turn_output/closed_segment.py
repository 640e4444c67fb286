"""Build the final output of a segment whose cell no longer received updates of its turn.

A reloaded page gets no more updates of the outputs it shows, so it requests them when
the turn has ended and writes them into the notebook itself.

Border: pure; builds a bundle from a snapshot of the session, as the cell does.
"""

from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.frontends.protocol.segments import SegmentCut, TurnSegment
from palimpsest.frontends.turn_output.mime_bundle import ended_frame, segment_bundle
from palimpsest.frontends.turn_output.segments import Segment, segment_messages
from palimpsest.frontends.turn_output.turn_feed import shown_messages
from palimpsest.render.content.outline import Caps, OutlineNotes
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
from palimpsest.transcript.values import Density

FINAL_REASONS = frozenset({"stop", "length", "content-filter", "error"})
"""Finish reasons after which a user message begins another turn."""


def closed_bundle(
    command: TurnSegment,
    snapshot: Snapshot,
    notes: OutlineNotes,
    scrub: Callable[[str], str],
    density: Density,
) -> dict[str, Any]:
    """Return the MIME bundle of a segment of a turn that has ended."""
    messages = turn_messages(snapshot.messages, command.turn)
    start, end = command.start, command.end
    before = segment_messages(messages, Segment(0, SegmentCut(), start))
    earlier_parts = [part for message in before for part in message.parts]
    segment = Segment(
        index=0,
        start=start,
        end=end,
        closing_text=end.joint if end is not None else "",
        caps=Caps().caps_after(earlier_parts),
        first_step=command.first_step,
    )
    frame = ended_frame(command.session, command.turn, snapshot, command.first_seq, density)
    return segment_bundle(messages, segment, frame, notes=notes, scrub=scrub)


def turn_messages(messages: Sequence[Message], turn: str) -> list[Message]:
    """Return the messages that a turn shows, up to the user message that begins the next one."""
    positions = [number for number, message in enumerate(messages) if message.id == turn]
    if not positions:
        raise NotFound(f"This session has no turn {turn!r}; open the session that has it.")
    turn_so_far: list[Message] = []
    for message in shown_messages(messages[positions[-1] + 1 :]):
        if isinstance(message.info, UserMessage) and _is_new_turn(message.info, turn_so_far):
            break
        turn_so_far.append(message)
    return turn_so_far


def _is_new_turn(info: UserMessage, messages_before: Sequence[Message]) -> bool:
    if info.joins:
        return False
    if info.origin is not None and info.origin.kind == "cell":
        return True
    last = messages_before[-1].info if messages_before else None
    if not isinstance(last, AssistantMessage):
        return False
    return last.error is not None or last.finish in FINAL_REASONS
