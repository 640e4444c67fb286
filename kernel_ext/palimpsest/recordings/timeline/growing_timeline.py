"""The timeline of a session whose log grows: each record is read once.

Results of earlier records are stored; messages that may still change are ended in a copy of the builder.
"""

from palimpsest.recordings.timeline.journal_timeline import (
    SESSION_EVENTS,
    TIMELINE_EVENTS,
    CounterOf,
    PriceOfModel,
    TimelineBuilder,
)
from palimpsest.store.interface import Store
from palimpsest.transcript.timeline import Timeline


class GrowingTimeline:
    """Builds the newest timeline of one session each time it is requested; for use by one thread at a time."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        count: CounterOf | None = None,
        price: PriceOfModel = lambda _model: None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._builder = TimelineBuilder(store, session_id, count, price)
        self._newest_seq = 0
        """Number of the last record that was read."""
        self._newest: Timeline | None = None

    @property
    def settled_item_count(self) -> int:
        """Number of items at the newest timeline's beginning that will never change."""
        return self._builder.settled_item_count

    def newest_timeline(self) -> Timeline:
        """Return the timeline of all records so far, the same object while there are no more; raises NotFound."""
        if self._newest is None:
            for record in self._store.read(self._session_id, only=SESSION_EVENTS):
                # The record with the note that the session was imported may come last.
                self._builder.add_record(record)
        new_records = [*self._store.read(self._session_id, self._newest_seq, only=TIMELINE_EVENTS)]
        if self._newest is None or new_records:
            for record in new_records:
                self._builder.add_record(record)
                self._newest_seq = record.seq
            self._newest = self._builder.timeline()
        return self._newest
