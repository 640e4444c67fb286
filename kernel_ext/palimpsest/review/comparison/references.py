"""The names in a session: which item holds which name, and which answer uses it.

Words are compared, not meanings: a name counts as used where an answer writes it, in its text or in the
input of a call.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice

from palimpsest.context.compaction.names import kind_of_name, names_of
from palimpsest.transcript.timeline import Timeline, TimelineRequest

MOST_NAMES = 2_000
"""Names of one item that are looked at; a longer list is a table of data."""
_ANSWER = frozenset({"assistant", "call"})
UsedItems = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class NameUse:
    """An answer uses a name that was in the context before."""

    request: int
    name: str
    sources: frozenset[int]
    """The items that hold it and existed when the request was sent."""
    newest: int
    """The newest of them."""


@dataclass(frozen=True)
class References:
    """The uses of names in a session, in the order of requests."""

    uses: tuple[NameUse, ...]
    named: frozenset[int] | None = field(default=None, compare=False, repr=False)
    """The items that hold a name; None where that was not kept."""
    counted: UsedItems | None = field(default=None, compare=False, repr=False)
    """What ``used_by`` returns, where it is known already."""

    def used_by(self, requests: int) -> UsedItems:
        """Return for each of so many requests the items that hold a name which its answer uses, ascending."""
        if self.counted is not None:
            return self.counted
        found: list[tuple[int, ...]] = [()] * requests
        for request, uses in groupby(self.uses, key=lambda one: one.request):
            found[request] = sorted_sources(uses)
        return tuple(found)

    @classmethod
    def of(cls, timeline: Timeline) -> "References":
        """Find the names of a session: its texts are read once."""
        return GrowingReferences().at(timeline, len(timeline.items))

    @cached_property
    def used(self) -> Mapping[int, int]:
        """The items that hold a name which a later answer used, with the last request whose answer did."""
        return {item: use.request for use in self.uses for item in use.sources}

    @cached_property
    def needed(self) -> Mapping[str, int]:
        """How many uses there are of names of each kind."""
        return Counter(kind_of_name(use.name) for use in self.uses)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[tuple[int, frozenset[int]], ...]]:
        """By name: the requests whose answers use it, ascending, and the items that held it before."""
        found: dict[str, list[tuple[int, frozenset[int]]]] = {}
        for use in self.uses:
            found.setdefault(use.name, []).append((use.request, use.sources))
        return {name: tuple(those) for name, those in found.items()}


def sorted_sources(uses: Iterable[NameUse]) -> tuple[int, ...]:
    """Return the items whose names are used, ascending."""
    return tuple(sorted(frozenset().union(*(one.sources for one in uses))))


def names_in(text: str) -> Iterator[str]:
    """Return the names in a text, at most ``MOST_NAMES``."""
    return (name for _, name in islice(names_of(text), MOST_NAMES))


class GrowingReferences:
    """Finds the uses of names in timelines of one session, each of which goes on from the one before.

    Each item's text is read once, and each answer is looked at once; items and answers of messages that may still change
    are looked at anew each time.
    """

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

    def at(self, timeline: Timeline, settled: int) -> References:
        """Return the names of a timeline whose first ``settled`` items will not change any more."""
        for index in range(len(self._names), settled):
            names = _names(timeline, index)
            self._names.append(names)
            for name in names:
                self._holders.setdefault(name, []).append(index)
            if names:
                self._named.add(index)
        count = len(timeline.items)
        newest = {index: _names(timeline, index) for index in range(settled, count)}
        last: list[NameUse] = []
        items: list[tuple[int, ...]] = []
        for request in timeline.requests[self._requests :]:
            uses = [*self._uses_in(timeline, request, newest)]
            found = sorted_sources(uses)
            is_followed = request.index + 1 < len(timeline.requests)
            is_complete = is_followed and request.answer[1] <= settled
            if is_complete and self._requests == request.index:
                self._requests += 1
                self._uses.extend(uses)
                self._items.append(found)
            else:
                last.extend(uses)
                items.append(found)
        return References(
            (*self._uses, *last),
            frozenset(self._named).union(index for index, names in newest.items() if names),
            (*self._items, *items),
        )

    def _uses_in(
        self, timeline: Timeline, request: TimelineRequest, newest: Mapping[int, tuple[str, ...]]
    ) -> Iterator[NameUse]:
        """Yield the uses of names in the answer to one request."""
        used = dict.fromkeys(
            name
            for index in range(*request.answer)
            if timeline.items[index].kind in _ANSWER
            for name in (newest[index] if index in newest else self._names[index])
        )
        for name in used:
            held = self._holders.get(name, [])
            sources = held[: bisect_left(held, request.items)]
            if sources:
                yield NameUse(request.index, name, frozenset(sources), sources[-1])


def _names(timeline: Timeline, index: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names_in(timeline.read(index))))
