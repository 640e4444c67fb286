"""Follow a session that another kernel writes, by polling its log.

Polling works on network disks too. Records that were returned may turn out not to belong to the
session, when a takeover cut them off: ``resets`` is then incremented, and the records are returned
again from the beginning.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import SegmentRange, full_requests, lines_forward, locate_record
from palimpsest.store.log_lines import RecordNumbering, readable_record
from palimpsest.transcript.session_record.events import Record

POLL_SECONDS = 0.1
"""Ten polls a second cost a kernel 0.2 % of a core, and the reader sees text stream."""


class Follower(RecordNumbering):
    """Reads new records of one session's log, and remembers its position."""

    def __init__(self, store: JsonlStore, session_id: str, after: int = 0) -> None:
        super().__init__(after)
        self.session_id = session_id
        self.resets = 0
        """How often the records began again from the first one."""
        self._store = store
        self._place: tuple[SegmentRange, int] | None = None

    def poll(self) -> Sequence[Record]:
        """Return the records written since the last call."""
        pieces = self._store.segments.pieces(self.session_id)
        rest = self._rest(pieces)
        found: list[Record] = []
        for piece, start in rest:
            offset = start
            whole = full_requests(piece)
            for begin, line in lines_forward(piece, start):
                offset = begin + len(line) + 1
                record = readable_record(line, whole.fill)
                if record is not None and self.is_new(record.seq):
                    found.append(record)
            self._place = piece, offset
        return found

    def _rest(self, pieces: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        """Return the pieces still to be read, each with the byte to begin at."""
        if self._place is None:
            return self._from_seq(pieces)
        told, offset = self._place
        paths = [piece.path for piece in pieces]
        index = paths.index(told.path) if told.path in paths else None
        end = None if index is None else pieces[index].end
        if index is None or (end is not None and end < offset):
            self.resets += 1
            self.seq, self._jumped = 0, (0, 0)
            return [(piece, piece.start) for piece in pieces]
        return [(pieces[index], offset), *((piece, piece.start) for piece in pieces[index + 1 :])]

    def _from_seq(self, pieces: Sequence[SegmentRange]) -> list[tuple[SegmentRange, int]]:
        found = locate_record(pieces, self.seq + 1) if self.seq else None
        if found is None:
            return [(piece, piece.start) for piece in pieces]
        index = list(pieces).index(found[0])
        return [found, *((piece, piece.start) for piece in pieces[index + 1 :])]

    async def records(self, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[Sequence[Record]]:
        """Yield new records as they are written, without end."""
        while True:
            found = await asyncio.to_thread(self.poll)
            if found:
                yield found
            await asyncio.sleep(poll_seconds)
