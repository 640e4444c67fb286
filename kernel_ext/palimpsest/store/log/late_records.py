"""Collect the records that a writer wrote after another kernel took its session over, for a fork.

They are read from the segments that this writer continued. A session that is read may have other segments, if this
writer's was skipped. The cut may be in the middle of a line, since the new writer may see the file while a long
line is written; that record is included, since no other file holds it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from palimpsest.store.log.segment_writer import JsonlWriter
from palimpsest.store.log.segments import (
    Segments,
    full_requests,
    lines_forward,
    unfinished_line_offset,
)
from palimpsest.store.log_lines import UnreadableLine, record_of
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo


def late_records(
    segments: Segments, writer: JsonlWriter, cut: int, records: Sequence[Record]
) -> tuple[ForkedFrom, SessionInfo | None, list[Record]]:
    """Return the fork point, the session's info at it (None if unknown), and the records after it.

    ``records`` are those that the writer still holds; some of them may be in its segment already.
    """
    place = ForkedFrom(session_id=writer.session_id, seq=0, segment=writer.path.name, offset=cut)
    state = State()
    for piece in segments.parent_ranges(place):
        for _, line in lines_forward(piece):
            state.apply_line(line)
    late = [record for record in _records_after(writer, cut) if record.seq > state.seq]
    newest = late[-1].seq if late else state.seq
    late += [record for record in records if record.seq > newest]
    session = state.session or apply_records(late).session
    return place.model_copy(update={"seq": state.seq}), session, late


def _records_after(writer: JsonlWriter, cut: int) -> list[Record]:
    """Return the records of a writer's segment that extend beyond the cut."""
    piece = writer.piece()
    requests = full_requests(piece)
    end = max(cut, piece.start)
    unfinished_at = unfinished_line_offset(replace(piece, end=end))
    records: list[Record] = []
    for _, line in lines_forward(piece, start=end if unfinished_at is None else unfinished_at):
        with suppress(UnreadableLine):
            record = record_of(line, requests.filled_record)
            if record is not None:
                records.append(record)
    return records
