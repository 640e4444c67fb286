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
    segments: Segments, writer: JsonlWriter, cut_offset: int, records: Sequence[Record]
) -> tuple[ForkedFrom, SessionInfo | None, list[Record]]:
    """Return the fork point, the session's info at it (None if unknown), and the records after it.

    ``records`` are those that the writer still holds; some of them may be in its segment already.
    """
    session_id, segment = writer.session_id, writer.path.name
    fork_point = ForkedFrom(session_id=session_id, seq=0, segment=segment, offset=cut_offset)
    state = State()
    for segment_range in segments.parent_ranges(fork_point):
        for _, line in lines_forward(segment_range):
            state.apply_line(line)
    unsaved_records = [
        record for record in _records_after(writer, cut_offset) if record.seq > state.seq
    ]
    newest_seq = unsaved_records[-1].seq if unsaved_records else state.seq
    unsaved_records += [record for record in records if record.seq > newest_seq]
    session = state.session or apply_records(unsaved_records).session
    return fork_point.model_copy(update={"seq": state.seq}), session, unsaved_records


def _records_after(writer: JsonlWriter, cut_offset: int) -> list[Record]:
    """Return the records of a writer's segment that extend beyond the cut."""
    segment_range = writer.own_range()
    requests = full_requests(segment_range)
    cut_at = max(cut_offset, segment_range.start)
    unfinished_at = unfinished_line_offset(replace(segment_range, end=cut_at))
    records: list[Record] = []
    start = cut_at if unfinished_at is None else unfinished_at
    for _, line in lines_forward(segment_range, start):
        with suppress(UnreadableLine):
            record = record_of(line, requests.filled_record)
            if record is not None:
                records.append(record)
    return records
