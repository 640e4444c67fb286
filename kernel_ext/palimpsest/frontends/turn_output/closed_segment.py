"""Build the final output of a segment whose cell stopped receiving updates of its turn.

A page that was reloaded gets no more updates of the outputs it shows, so it requests them when
the turn is over and writes them into the notebook itself.

Border: pure; a snapshot of the session goes in, one bundle comes out, made as the cell makes it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.frontends.protocol.segments import SegmentCut, TurnSegment
from palimpsest.frontends.turn_output.mime_bundle import bundle, ended_frame
from palimpsest.frontends.turn_output.segments import Segment, slices
from palimpsest.frontends.turn_output.turn_feed import shown_messages
from palimpsest.render.content.outline import Caps, OutlineNotes
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
from palimpsest.transcript.values import Density

OVER = frozenset({"stop", "length", "content-filter", "error"})
"""Finish reasons after which a user message begins another turn."""


def closed_bundle(
    command: TurnSegment,
    snapshot: Snapshot,
    notes: OutlineNotes,
    scrub: Callable[[str], str],
    density: Density,
) -> dict[str, Any]:
    """Return the MIME bundle of a segment of a turn that is over."""
    messages = turn_messages(snapshot.messages, command.turn)
    start, end = command.start, command.end
    before = slices(messages, Segment(0, SegmentCut(), start))
    shown = [part for message in before for part in message.parts]
    segment = Segment(
        index=0,
        start=start,
        end=end,
        tail=end.joint if end is not None else "",
        caps=Caps().after(shown),
        first_step=command.first_step,
    )
    frame = ended_frame(command.session, command.turn, snapshot, command.first_seq, density)
    return bundle(messages, segment, frame, notes=notes, scrub=scrub)


def turn_messages(messages: Sequence[Message], turn: str) -> list[Message]:
    """Return the messages that a turn shows, up to the user message that begins the next one."""
    places = [number for number, message in enumerate(messages) if message.id == turn]
    if not places:
        raise NotFound(f"This session has no turn {turn!r}; open the session that has it.")
    found: list[Message] = []
    for message in shown_messages(messages[places[-1] + 1 :]):
        if isinstance(message.info, UserMessage) and _begins(message.info, found):
            break
        found.append(message)
    return found


def _begins(info: UserMessage, before: Sequence[Message]) -> bool:
    if info.joins:
        return False
    if info.origin is not None and info.origin.kind == "cell":
        return True
    last = before[-1].info if before else None
    return isinstance(last, AssistantMessage) and (last.error is not None or last.finish in OVER)
