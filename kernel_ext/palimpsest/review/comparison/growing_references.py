"""The names in a session that still runs: each item's text is read once, and each answer is looked at once.

Items and answers of messages that may still change are looked at anew each time; they are the last few.
"""

from collections import Counter
from collections.abc import Mapping

from palimpsest.context.compaction.names import kind_of_name
from palimpsest.review.comparison.references import (
    NameUse,
    References,
    names_in,
    sorted_sources,
    uses_in,
)
from palimpsest.transcript.timeline import Timeline


class GrowingReferences:
    """Finds the uses of names in timelines of one session, each of which goes on from the one before."""

    def __init__(self) -> None:
        self._names: list[tuple[str, ...]] = []
        """Of the items that will not change."""
        self._holders: dict[str, list[int]] = {}
        self._uses: list[NameUse] = []
        self._requests = 0
        """How many requests' answers are complete, so that their uses are known."""
        self._named: set[int] = set()
        self._items: list[tuple[int, ...]] = []
        """The items that each of those requests uses."""
        self._kinds: Counter[str] = Counter()
        """Of the names of those uses."""
        self._used: dict[int, int] = {}
        """The items that they use, with the last request whose answer did."""

    def at(self, timeline: Timeline, settled: int) -> References:
        """Return the names of a timeline whose first ``settled`` items will not change any more."""
        for index in range(len(self._names), settled):
            self._settle(index, _names(timeline, index))
        count = len(timeline.items)
        newest = {index: _names(timeline, index) for index in range(settled, count)}
        last: list[NameUse] = []
        used_last: dict[int, int] = {}
        items: list[tuple[int, ...]] = []
        for request in timeline.requests[self._requests :]:
            uses = [
                *uses_in(timeline, request, lambda one: self._of(one, newest), self._holders),
            ]
            found = sorted_sources(uses)
            is_followed = request.index + 1 < len(timeline.requests)
            is_complete = is_followed and request.answer[1] <= settled
            if is_complete and self._requests == request.index:
                self._requests += 1
                self._uses.extend(uses)
                self._items.append(found)
                self._kinds.update(kind_of_name(one.name) for one in uses)
                self._used.update(dict.fromkeys(found, request.index))
            else:
                last.extend(uses)
                items.append(found)
                used_last.update(dict.fromkeys(found, request.index))
        return References(
            (*self._uses, *last),
            frozenset(self._named).union(index for index, names in newest.items() if names),
            (*self._items, *items),
            self._kinds + Counter(kind_of_name(one.name) for one in last),
            {**self._used, **used_last},
        )

    def _settle(self, index: int, names: tuple[str, ...]) -> None:
        self._names.append(names)
        for name in names:
            self._holders.setdefault(name, []).append(index)
        if names:
            self._named.add(index)

    def _of(self, index: int, newest: Mapping[int, tuple[str, ...]]) -> tuple[str, ...]:
        return newest[index] if index in newest else self._names[index]


def _names(timeline: Timeline, index: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names_in(timeline.read(index))))
