"""Gather what a writer that was robbed wrote too late, so that it can go on in a fork.

What counts is the chain that this writer follows, which is not what is read as the session where
its segment was passed over. The cut may lie in the middle of a line: a file is seen growing while a
long line is written, and what is cut in two is kept by nobody else.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from palimpsest.store.format.record_lines import UnreadableLine, record_of
from palimpsest.store.log.segment_writer import JsonlWriter
from palimpsest.store.log.segments import Segments, full_requests, lines_forward, unfinished
from palimpsest.store.session_state.state import State, fold
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo


def late_records(
    segments: Segments, writer: JsonlWriter, cut: int, records: Sequence[Record]
) -> tuple[ForkedFrom, SessionInfo | None, list[Record]]:
    """Return where the fork begins, the session as it was there, and what comes behind.

    ``records`` are those that the writer still holds; some of them may be in its segment already.
    """
    place = ForkedFrom(session_id=writer.session_id, seq=0, segment=writer.path.name, offset=cut)
    state = State()
    for piece in segments.until(place):
        for _, line in lines_forward(piece):
            state.apply_line(line)
    late = [record for record in _after(writer, cut) if record.seq > state.seq]
    newest = late[-1].seq if late else state.seq
    late += [record for record in records if record.seq > newest]
    session = state.session or fold(late).session
    return place.model_copy(update={"seq": state.seq}), session, late


def _after(writer: JsonlWriter, cut: int) -> list[Record]:
    """Return the records of a writer's segment of which any byte lies behind the cut."""
    piece = writer.piece()
    whole = full_requests(piece)
    end = max(cut, piece.start)
    torn = unfinished(replace(piece, end=end))
    found: list[Record] = []
    for _, line in lines_forward(piece, start=end if torn is None else torn):
        with suppress(UnreadableLine):
            record = record_of(line, whole.fill)
            if record is not None:
                found.append(record)
    return found
