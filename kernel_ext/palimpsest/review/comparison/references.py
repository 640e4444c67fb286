"""The names in a session: which item holds which name, and which answer uses it.

Words are compared, not meanings: a name counts as used where an answer writes it, in its text or in the
input of a call.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    counted_kinds: Mapping[str, int] | None = field(default=None, compare=False, repr=False)
    """What ``needed`` returns, where it is known already."""
    counted_items: Mapping[int, int] | None = field(default=None, compare=False, repr=False)
    """What ``used`` returns, where it is known already."""

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
        found: dict[str, list[int]] = {}
        per_item = [tuple(dict.fromkeys(names_in(timeline.read(i)))) for i in _read(timeline)]
        for index, names in enumerate(per_item):
            for name in names:
                found.setdefault(name, []).append(index)
        named = frozenset(index for index, names in enumerate(per_item) if names)
        return cls(tuple(_uses(timeline, per_item, found)), named)

    @cached_property
    def used(self) -> Mapping[int, int]:
        """The items that hold a name which a later answer used, with the last request whose answer did."""
        if self.counted_items is not None:
            return self.counted_items
        return {item: use.request for use in self.uses for item in use.sources}

    @cached_property
    def needed(self) -> Mapping[str, int]:
        """How many uses there are of names of each kind."""
        if self.counted_kinds is not None:
            return self.counted_kinds
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


def _read(timeline: Timeline) -> range:
    return range(len(timeline.items))


def _uses(
    timeline: Timeline, per_item: list[tuple[str, ...]], holders: Mapping[str, list[int]]
) -> Iterator[NameUse]:
    for request in timeline.requests:
        yield from uses_in(timeline, request, per_item.__getitem__, holders)


def uses_in(
    timeline: Timeline,
    request: TimelineRequest,
    names: Callable[[int], tuple[str, ...]],
    holders: Mapping[str, list[int]],
) -> Iterator[NameUse]:
    """Yield the uses of names in the answer to one request; ``holders`` are ascending."""
    used = dict.fromkeys(
        name
        for index in range(*request.answer)
        if timeline.items[index].kind in _ANSWER
        for name in names(index)
    )
    for name in used:
        held = holders.get(name, [])
        sources = held[: bisect_left(held, request.items)]
        if sources:
            yield NameUse(request.index, name, frozenset(sources), sources[-1])


def names_in(text: str) -> Iterator[str]:
    """Return the names in a text, at most ``MOST_NAMES``."""
    return (name for _, name in islice(names_of(text), MOST_NAMES))
