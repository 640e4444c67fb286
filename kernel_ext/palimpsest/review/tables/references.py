"""Find the names in a session, the items that contain each name, and the answers that use it.

Words are compared, not meanings: a name counts as used where an answer writes it, in its text or in the input of a
call.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice

from palimpsest.context.compaction.names import kind_of_name, names_of
from palimpsest.transcript.timeline import Timeline, TimelineRequest

MAX_NAMES = 2_000
"""Maximum names of one item that are considered; a longer list is a table of data."""
_ANSWER = frozenset({"assistant", "call"})
UsedItems = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class NameUse:
    """A use of a name by an answer, where an earlier item contains the name."""

    request: int
    name: str
    sources: frozenset[int]
    """The items that contain the name and existed when the request was sent."""
    newest: int
    """The newest of the sources."""


@dataclass(frozen=True)
class References:
    """The uses of names in a session, in the order of requests."""

    uses: tuple[NameUse, ...]
    items_with_names: frozenset[int] | None = field(default=None, compare=False, repr=False)
    """The items that contain any name; None where they were not stored."""
    counted: UsedItems | None = field(default=None, compare=False, repr=False)
    """The result of ``used_by``, where it was computed before."""

    def used_by(self, requests: int) -> UsedItems:
        """Return, for each request, the items that contain a name used by its answer, ascending."""
        if self.counted is not None:
            return self.counted
        items_by_request: list[tuple[int, ...]] = [()] * requests
        for request, uses in groupby(self.uses, key=lambda use: use.request):
            items_by_request[request] = sorted_sources(uses)
        return tuple(items_by_request)

    @classmethod
    def of(cls, timeline: Timeline) -> "References":
        """Find the names of a session by reading each text once."""
        return GrowingReferences().at(timeline, len(timeline.items))

    @cached_property
    def used(self) -> Mapping[int, int]:
        """The items that contain a name used by a later answer, each with the last request whose answer used one."""
        return {item: use.request for use in self.uses for item in use.sources}

    @cached_property
    def needed(self) -> Mapping[str, int]:
        """Number of uses of names of each kind."""
        return Counter(kind_of_name(use.name) for use in self.uses)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[tuple[int, frozenset[int]], ...]]:
        """For each name: the requests whose answers use it, ascending, and the earlier items that contain it."""
        uses_by_name: dict[str, list[tuple[int, frozenset[int]]]] = {}
        for use in self.uses:
            uses_by_name.setdefault(use.name, []).append((use.request, use.sources))
        return {name: tuple(uses_of_name) for name, uses_of_name in uses_by_name.items()}


def sorted_sources(uses: Iterable[NameUse]) -> tuple[int, ...]:
    """Return the items whose names are used, ascending."""
    return tuple(sorted(frozenset().union(*(use.sources for use in uses))))


def names_in(text: str) -> Iterator[str]:
    """Return the names in a text, at most ``MAX_NAMES``."""
    return (name for _, name in islice(names_of(text), MAX_NAMES))


class GrowingReferences:
    """Finds the uses of names in a growing session; each text that can no longer change is read once."""

    def __init__(self) -> None:
        self._names: list[tuple[str, ...]] = []
        """The names of the items that will not change."""
        self._holders: dict[str, list[int]] = {}
        self._uses: list[NameUse] = []
        self._requests = 0
        """Number of requests whose answers are complete, so that their uses are known."""
        self._items_with_names: set[int] = set()
        self._used_items: list[tuple[int, ...]] = []
        """The items that each of these requests' answers uses."""

    def at(self, timeline: Timeline, settled: int) -> References:
        """Return the references of a timeline, whose first ``settled`` items can no longer change."""
        for index in range(len(self._names), settled):
            names = _names(timeline, index)
            self._names.append(names)
            for name in names:
                self._holders.setdefault(name, []).append(index)
            if names:
                self._items_with_names.add(index)
        item_count = len(timeline.items)
        unsettled_names = {index: _names(timeline, index) for index in range(settled, item_count)}
        unfinished_uses: list[NameUse] = []
        unfinished_items: list[tuple[int, ...]] = []
        for request in timeline.requests[self._requests :]:
            uses = [*self._uses_in(timeline, request, unsettled_names)]
            source_items = sorted_sources(uses)
            is_followed = request.index + 1 < len(timeline.requests)
            is_complete = is_followed and request.answer[1] <= settled
            if is_complete and self._requests == request.index:
                self._requests += 1
                self._uses.extend(uses)
                self._used_items.append(source_items)
            else:
                unfinished_uses.extend(uses)
                unfinished_items.append(source_items)
        return References(
            (*self._uses, *unfinished_uses),
            frozenset(self._items_with_names).union(
                index for index, names in unsettled_names.items() if names
            ),
            (*self._used_items, *unfinished_items),
        )

    def _uses_in(
        self,
        timeline: Timeline,
        request: TimelineRequest,
        unsettled_names: Mapping[int, tuple[str, ...]],
    ) -> Iterator[NameUse]:
        """Yield the uses of names in the answer to one request."""
        used = dict.fromkeys(
            name
            for index in range(*request.answer)
            if timeline.items[index].kind in _ANSWER
            for name in (unsettled_names[index] if index in unsettled_names else self._names[index])
        )
        for name in used:
            holders = self._holders.get(name, [])
            sources = holders[: bisect_left(holders, request.items)]
            if sources:
                yield NameUse(request.index, name, frozenset(sources), sources[-1])


def _names(timeline: Timeline, index: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names_in(timeline.read(index))))
