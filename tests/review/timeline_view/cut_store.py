"""A store whose sessions end at a record, as they were when it was the newest."""

from collections.abc import Collection, Iterator
from typing import Any

from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.session_record.events import Record


class CutStore:
    """Shows the records of one session up to one of them; all else is the store's own."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id
        self.until = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, session_id: str, after: int = 0, only: Collection[str] = ()) -> Iterator[Record]:
        for record in self._store.read(session_id, after, only):
            if session_id == self._session_id and record.seq > self.until:
                return
            yield record

    def stream(self, session_id: str) -> Iterator[Record]:
        return (record for record in self._store.stream(session_id) if record.seq <= self.until)

    def load(self, session_id: str) -> State:
        return apply_records(self.read(session_id))
