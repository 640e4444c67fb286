"""Where items stand in a request, and how much of it is as it was in the request before."""

from collections.abc import Sequence

from palimpsest.transcript.timeline import Timeline


class PrefixSums:
    """Sums of the first values of a list whose values change: a binary indexed tree (Fenwick, 1994)."""

    def __init__(self, count: int) -> None:
        self._tree = [0] * (count + 1)

    def add(self, place: int, more: int) -> None:
        """Add to the value at a place; logarithmic."""
        tree = self._tree
        place += 1
        while place < len(tree):
            tree[place] += more
            place += place & -place

    def before(self, place: int) -> int:
        """Return the sum of the values before a place; logarithmic."""
        tree, found = self._tree, 0
        while place:
            found += tree[place]
            place &= place - 1
        return found


class ItemPlaces:
    """Where the first change since the request before lies, in the order in which a request holds the items."""

    def __init__(self, timeline: Timeline, shown: Sequence[int]) -> None:
        self._shown = shown
        self._tokens = [0] * len(timeline.items)
        """What is shown of each item, by its place; 0 where it does not exist yet."""
        self._sums = PrefixSums(len(timeline.items))
        self._ranks = timeline.ranks
        self._order = [0] * len(self._ranks)
        for index, rank in enumerate(self._ranks):
            self._order[rank] = index
        self._blocks = [item.block for item in timeline.items]
        self._sent = 0
        self._top = -1
        """The highest place of what was sent."""
        self._low = len(self._ranks)

    def begin(self) -> None:
        """Begin a request."""
        self._low = len(self._ranks)

    def add(self, first: int, until: int) -> None:
        """Note new items; one that stands before what was sent changes the request there."""
        for index in range(first, until):
            rank = self._ranks[index]
            self._set(rank, self._shown[index])
            if rank < self._top:
                self._low = min(self._low, rank)

    def changed(self, item: int) -> None:
        """Note that an item is shown otherwise."""
        self._set(self._ranks[item], self._shown[item])
        if item < self._sent:
            self._low = min(self._low, self._ranks[item])

    def sent(self, count: int) -> None:
        """Note that a request with so many items was sent."""
        for index in range(self._sent, count):
            self._top = max(self._top, self._ranks[index])
        self._sent = count

    @property
    def lowest(self) -> int | None:
        """The first item that is not as it was; None where the request only grew."""
        return self._order[self._low] if self._low <= self._top else None

    def before(self, item: int, *, whole_messages: bool) -> int:
        """Return the tokens of what stands before an item, or before its message."""
        rank = self._ranks[item]
        if whole_messages:
            block = self._blocks[item]
            while rank and self._blocks[self._order[rank - 1]] == block:
                rank -= 1
        return self._sums.before(rank)

    def _set(self, rank: int, tokens: int) -> None:
        more = tokens - self._tokens[rank]
        if more:
            self._tokens[rank] = tokens
            self._sums.add(rank, more)
