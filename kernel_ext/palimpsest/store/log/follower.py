"""Follow a session that another kernel writes, by polling its log.

Polling works on network disks too. Records that were returned may turn out not to belong to the session, when a
takeover cut them off: ``reset_count`` is then incremented, and the records are returned again from the beginning.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import SegmentRange, full_requests, lines_forward, locate_record
from palimpsest.store.log_lines import RecordNumbering, readable_record
from palimpsest.transcript.session_record.events import Record

POLL_SECONDS = 0.1
"""Interval of polls: ten a second cost a kernel 0.2 % of a core, and the reader sees text stream."""


class Follower(RecordNumbering):
    """Reads new records of one session's log, and remembers its position."""

    def __init__(self, store: JsonlStore, session_id: str, after: int = 0) -> None:
        super().__init__(after)
        self.session_id = session_id
        self.reset_count = 0
        """Number of times that reading began again at the first record."""
        self._store = store
        self._position: tuple[SegmentRange, int] | None = None
        """The range that was read last, and the byte at which its next line begins."""

    def new_records(self) -> Sequence[Record]:
        """Return the records written since the last call."""
        ranges = self._store.segments.segment_ranges(self.session_id)
        records: list[Record] = []
        for segment_range, start in self._unread_ranges(ranges):
            offset = start
            requests = full_requests(segment_range)
            for line_offset, line in lines_forward(segment_range, start):
                offset = line_offset + len(line) + 1
                record = readable_record(line, requests.filled_record)
                if record is not None and self.note_if_new(record.seq):
                    records.append(record)
            self._position = segment_range, offset
        return records

    def _unread_ranges(self, ranges: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        """Return the ranges still to be read, each with the byte to begin at."""
        if self._position is None:
            first_start = locate_record(ranges, self.seq + 1) if self.seq else None
        else:
            last_range, offset = self._position
            range_by_path = {segment_range.path: segment_range for segment_range in ranges}
            current = range_by_path.get(last_range.path)
            if current is None or (current.end is not None and current.end < offset):
                self.reset_count += 1
                self.seq, self._last_jump = 0, (0, 0)
                first_start = None
            else:
                first_start = current, offset
        starts = [(segment_range, segment_range.start) for segment_range in ranges]
        return (
            starts
            if first_start is None
            else [first_start, *starts[list(ranges).index(first_start[0]) + 1 :]]
        )

    async def records(self, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[Sequence[Record]]:
        """Yield new records as they are written, without end."""
        while True:
            records = await asyncio.to_thread(self.new_records)
            if records:
                yield records
            await asyncio.sleep(poll_seconds)
