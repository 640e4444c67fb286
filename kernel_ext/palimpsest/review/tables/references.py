"""Find the names in a session, the items that contain each name, and the answers that use it.

Words are compared, not meanings: a name counts as used where an answer writes it, in its text or in the input of a
call.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from operator import attrgetter
from typing import overload

from palimpsest.context.compaction.names import kind_of_name, names_of
from palimpsest.transcript.timeline import Timeline, TimelineRequest

MAX_NAMES_OF_ITEM = 2_000
"""Maximum names of one item that are considered; a longer list is a table of data."""
_ANSWER_KINDS = frozenset({"assistant", "call"})
_KINDS_WITH_OTHER_DIGEST = frozenset({"media", "summary"})
"""Kinds of items whose digest is not that of the text that is read of them."""
_request_of = attrgetter("request")


class FirstItems(Sequence[int]):
    """The first items of an ascending list, which is shared and not copied; items may be added behind them."""

    __slots__ = ("_count", "_items")

    def __init__(self, items: Sequence[int], count: int) -> None:
        self._items = items
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...

    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            return self._items[start:stop] if step == 1 else self._items[: self._count][index]
        return self._items[range(self._count)[index]]

    def __iter__(self) -> Iterator[int]:
        return islice(self._items, self._count)

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, int):
            return False
        position = bisect_left(self._items, item, hi=self._count)
        return position < self._count and self._items[position] == item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FirstItems) and [*self] == [*other]

    def __hash__(self) -> int:
        return hash((*self,))

    def __repr__(self) -> str:
        return f"FirstItems({[*self]})"


@dataclass(frozen=True, slots=True)
class NameUse:
    """A use of a name by an answer, where an earlier item contains the name."""

    request: int
    name: str
    sources: FirstItems
    """The items that contain the name and existed when the request was sent, ascending, at least one."""

    @property
    def newest_source(self) -> int:
        """The newest of the sources."""
        return self.sources[-1]


@dataclass(frozen=True)
class References:
    """The uses of names in a session, in the order of requests."""

    uses: tuple[NameUse, ...]
    items_with_names: frozenset[int] | None = field(default=None, compare=False, repr=False)
    """The items that contain any name; None where they were not stored."""
    complete_requests: int = field(default=0, compare=False, repr=False)
    """Number of requests whose uses will not change when the session grows."""
    complete_rows: list[tuple[int, ...]] = field(default_factory=list, compare=False, repr=False)
    """The first rows of ``used_items_by_request``, for requests that are complete; filled by it, and shared while the session grows."""

    def used_items_by_request(self, request_count: int) -> tuple[tuple[int, ...], ...]:
        """Return, for each request, the items that contain a name used by its answer, ascending."""
        known_count = min(len(self.complete_rows), self.complete_requests)
        first_use = bisect_left(self.uses, known_count, key=_request_of)
        rows: list[tuple[int, ...]] = [()] * (request_count - known_count)
        for request, uses in groupby(islice(self.uses, first_use, None), key=_request_of):
            items = frozenset().union(*(use.sources for use in uses))
            rows[request - known_count] = tuple(sorted(items))
        items_by_request = (*self.complete_rows[:known_count], *rows)
        self.complete_rows[known_count:] = rows[: self.complete_requests - known_count]
        return items_by_request

    @classmethod
    def of(cls, timeline: Timeline) -> "References":
        """Return the uses of names in a session, whose texts are each read once."""
        return GrowingReferences().references_until(timeline, len(timeline.items))

    @cached_property
    def last_uses(self) -> Mapping[int, int]:
        """The items that contain a name used by a later answer, each with the last request whose answer used one."""
        # The sources of a name only grow, so those of its last use are all of them.
        last_use_by_name = {use.name: use for use in self.uses}
        last_request_by_item: dict[int, int] = {}
        for use in sorted(last_use_by_name.values(), key=_request_of):
            last_request_by_item.update(dict.fromkeys(use.sources, use.request))
        return last_request_by_item

    def used_names(self, item: int) -> dict[int, list[str]]:
        """Return the requests whose answers used names in an item, ascending, each with these names."""
        names_by_request: dict[int, list[str]] = {}
        for use in self.uses:
            if item in use.sources:
                names_by_request.setdefault(use.request, []).append(use.name)
        return names_by_request

    @cached_property
    def uses_by_request(self) -> Mapping[int, tuple[tuple[int, NameUse], ...]]:
        """For each request whose answer uses names: the uses, each behind the newest item that contains the name."""
        return {
            request: tuple((use.newest_source, use) for use in uses)
            for request, uses in groupby(self.uses, key=_request_of)
        }

    @cached_property
    def uses_by_kind(self) -> Mapping[str, int]:
        """Number of uses of names of each kind."""
        return Counter(kind_of_name(use.name) for use in self.uses)

    @cached_property
    def uses_by_name(self) -> Mapping[str, tuple[tuple[int, Sequence[int]], ...]]:
        """For each name its uses, ascending: the request whose answer uses the name, and the earlier items that contain it."""
        uses: dict[str, list[tuple[int, Sequence[int]]]] = {}
        for use in self.uses:
            uses.setdefault(use.name, []).append((use.request, use.sources))
        return {name: tuple(uses_of_name) for name, uses_of_name in uses.items()}


def names_in(text: str) -> Iterator[str]:
    """Return the names in a text, at most ``MAX_NAMES_OF_ITEM``."""
    return (name for _, name in islice(names_of(text), MAX_NAMES_OF_ITEM))


class GrowingReferences:
    """Finds the uses of names in a growing session; each text that can no longer change is read once."""

    def __init__(self) -> None:
        self._names_by_item: list[tuple[str, ...]] = []
        """The names in each item that will not change; empty for an item that is no answer, since only answers use names."""
        self._names_by_text: dict[str, tuple[str, ...]] = {}
        """The names in these items' texts, by the digest of the text: files are read again, and commands repeated."""
        self._items_by_name: dict[str, list[int]] = {}
        """The items that contain each name, ascending."""
        self._uses: list[NameUse] = []
        self._complete_requests = 0
        """Number of requests whose answers are complete, so that their uses are known."""
        self._items_with_names: set[int] = set()
        self._complete_rows: list[tuple[int, ...]] = []
        """The rows of ``References.complete_rows``, as far as they were asked for."""

    def references_until(self, timeline: Timeline, settled_count: int) -> References:
        """Return the references of a timeline, whose first ``settled_count`` items can no longer change."""
        for index in range(len(self._names_by_item), settled_count):
            names = self._settled_names(timeline, index)
            self._names_by_item.append(names if timeline.items[index].kind in _ANSWER_KINDS else ())
            for name in names:
                self._items_by_name.setdefault(name, []).append(index)
            if names:
                self._items_with_names.add(index)
        item_count = len(timeline.items)
        unsettled_names = {
            index: _names_of_item(timeline, index) for index in range(settled_count, item_count)
        }
        unfinished_uses: list[NameUse] = []
        for request in timeline.requests[self._complete_requests :]:
            uses = [*self._uses_in(timeline, request, unsettled_names)]
            is_followed = request.index + 1 < len(timeline.requests)
            is_complete = is_followed and request.answer[1] <= settled_count
            if is_complete and self._complete_requests == request.index:
                self._complete_requests += 1
                self._uses.extend(uses)
            else:
                unfinished_uses.extend(uses)
        return References(
            (*self._uses, *unfinished_uses),
            frozenset(self._items_with_names).union(
                index for index, names in unsettled_names.items() if names
            ),
            self._complete_requests,
            self._complete_rows,
        )

    def _settled_names(self, timeline: Timeline, index: int) -> tuple[str, ...]:
        item = timeline.items[index]
        if not item.hash or item.text != "kept" or item.kind in _KINDS_WITH_OTHER_DIGEST:
            return _names_of_item(timeline, index)
        names = self._names_by_text.get(item.hash)
        if names is None:
            names = self._names_by_text[item.hash] = _names_of_item(timeline, index)
        return names

    def _uses_in(
        self,
        timeline: Timeline,
        request: TimelineRequest,
        unsettled_names: Mapping[int, tuple[str, ...]],
    ) -> Iterator[NameUse]:
        used_names = dict.fromkeys(
            name
            for index in range(*request.answer)
            if timeline.items[index].kind in _ANSWER_KINDS
            for name in (
                unsettled_names[index] if index in unsettled_names else self._names_by_item[index]
            )
        )
        for name in used_names:
            items_with_name = self._items_by_name.get(name, [])
            source_count = bisect_left(items_with_name, request.items)
            if source_count:
                yield NameUse(request.index, name, FirstItems(items_with_name, source_count))


def _names_of_item(timeline: Timeline, index: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names_in(timeline.read(index))))
