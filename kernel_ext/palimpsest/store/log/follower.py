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
        pieces = self._store.segments.segment_ranges(self.session_id)
        unread = self._unread_pieces(pieces)
        records: list[Record] = []
        for piece, start in unread:
            offset = start
            requests = full_requests(piece)
            for begin, line in lines_forward(piece, start):
                offset = begin + len(line) + 1
                record = readable_record(line, requests.filled_record)
                if record is not None and self.is_new(record.seq):
                    records.append(record)
            self._position = piece, offset
        return records

    def _unread_pieces(self, pieces: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        """Return the pieces still to be read, each with the byte to begin at."""
        if self._position is None:
            return self._from_seq(pieces)
        last_piece, offset = self._position
        paths = [piece.path for piece in pieces]
        index = paths.index(last_piece.path) if last_piece.path in paths else None
        end = None if index is None else pieces[index].end
        if index is None or (end is not None and end < offset):
            self.reset_count += 1
            self.seq, self._jumped = 0, (0, 0)
            return [(piece, piece.start) for piece in pieces]
        return [(pieces[index], offset), *((piece, piece.start) for piece in pieces[index + 1 :])]

    def _from_seq(self, pieces: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        place = locate_record(pieces, self.seq + 1) if self.seq else None
        if place is None:
            return [(piece, piece.start) for piece in pieces]
        index = list(pieces).index(place[0])
        return [place, *((piece, piece.start) for piece in pieces[index + 1 :])]

    async def records(self, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[Sequence[Record]]:
        """Yield new records as they are written, without end."""
        while True:
            records = await asyncio.to_thread(self.new_records)
            if records:
                yield records
            await asyncio.sleep(poll_seconds)
