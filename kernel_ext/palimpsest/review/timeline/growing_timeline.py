"""The timeline of a session whose log grows: each record is read once.

What was made of earlier records is kept; the messages that may still change are closed in a copy.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.review.timeline.item_texts import ItemTexts
from palimpsest.review.timeline.journal_timeline import READ, SESSION, TimelineBuilder
from palimpsest.store.interface import Store
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Price


class GrowingTimeline:
    """Makes the newest timeline of one session, again and again; used by one thread at a time."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        count: Callable[[str], Callable[[str], int]] | None = None,
        price: Callable[[str], Price | None] = lambda _model: None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._count = count
        self._builder = TimelineBuilder(store, price)
        self._texts = ItemTexts(store, session_id, str)
        self._seq = 0
        """The last record that was read."""
        self._known: Timeline | None = None
        self._earlier: dict[str, Any] = {}
        """What was made of its timelines, for what is made of the next one."""

    @property
    def settled(self) -> int:
        """How many items of the newest timeline will never change."""
        return self._builder.settled

    def newest(self) -> Timeline:
        """Return the timeline of all records so far; the same one until there are more. Raises NotFound."""
        if self._known is None:
            for record in self._store.read(self._session_id, only=SESSION):
                # What says that it was imported may come last.
                self._builder.take(record)
        grown = [*self._store.read(self._session_id, self._seq, only=READ)]
        if self._known is None or grown:
            for record in grown:
                self._take(record)
            self._known = self._builder.timeline(
                self._store, self._session_id, self._count, self._texts, self._earlier
            )
        return self._known

    def _take(self, record: Record) -> None:
        self._builder.take(record)
        self._texts.take(record)
        self._seq = record.seq
