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
        unread = self._unread_pieces(ranges)
        records: list[Record] = []
        for segment_range, start in unread:
            offset = start
            requests = full_requests(segment_range)
            for begin, line in lines_forward(segment_range, start):
                offset = begin + len(line) + 1
                record = readable_record(line, requests.filled_record)
                if record is not None and self.note_if_new(record.seq):
                    records.append(record)
            self._position = segment_range, offset
        return records

    def _unread_pieces(self, ranges: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        """Return the pieces still to be read, each with the byte to begin at."""
        if self._position is None:
            return self._from_seq(ranges)
        last_piece, offset = self._position
        paths = [segment_range.path for segment_range in ranges]
        index = paths.index(last_piece.path) if last_piece.path in paths else None
        end = None if index is None else ranges[index].end
        if index is None or (end is not None and end < offset):
            self.reset_count += 1
            self.seq, self._jumped = 0, (0, 0)
            return [(segment_range, segment_range.start) for segment_range in ranges]
        return [
            (ranges[index], offset),
            *((segment_range, segment_range.start) for segment_range in ranges[index + 1 :]),
        ]

    def _from_seq(self, ranges: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        place = locate_record(ranges, self.seq + 1) if self.seq else None
        if place is None:
            return [(segment_range, segment_range.start) for segment_range in ranges]
        index = list(ranges).index(place[0])
        return [
            place,
            *((segment_range, segment_range.start) for segment_range in ranges[index + 1 :]),
        ]

    async def records(self, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[Sequence[Record]]:
        """Yield new records as they are written, without end."""
        while True:
            records = await asyncio.to_thread(self.new_records)
            if records:
                yield records
            await asyncio.sleep(poll_seconds)
