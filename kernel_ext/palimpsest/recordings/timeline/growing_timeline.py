"""The timeline of a session whose log grows: each record is read once.

Results of earlier records are kept; the messages that may still change are closed in a copy.
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
    """Makes the newest timeline of one session, again and again; used by one thread at a time."""

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
        self._seq = 0
        """Number of the last record that was read."""
        self._known: Timeline | None = None

    @property
    def settled(self) -> int:
        """How many items of the newest timeline will never change."""
        return self._builder.settled

    def newest(self) -> Timeline:
        """Return the timeline of all records so far; the same one until there are more. Raises NotFound."""
        if self._known is None:
            for record in self._store.read(self._session_id, only=SESSION_EVENTS):
                # The note that it was imported may come last.
                self._builder.take(record)
        grown = [*self._store.read(self._session_id, self._seq, only=TIMELINE_EVENTS)]
        if self._known is None or grown:
            for record in grown:
                self._builder.take(record)
                self._seq = record.seq
            self._known = self._builder.timeline()
        return self._known
