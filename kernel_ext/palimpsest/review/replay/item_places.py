"""Where items stand in a request, and how much of it is as it was in the request before."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline


class PrefixSums:
    """Sums of the first values of a list whose values change: a sum is kept of each run of so many of them."""

    def __init__(self, values: list[int]) -> None:
        self._values = values
        self._shift = max(4, len(values).bit_length() // 2)
        self._runs = [
            sum(values[first : first + (1 << self._shift)])
            for first in range(0, len(values), 1 << self._shift)
        ]

    def set(self, place: int, value: int) -> None:
        """Replace the value at a place."""
        self._runs[place >> self._shift] += value - self._values[place]
        self._values[place] = value

    def before(self, place: int) -> int:
        """Return the sum of the values before a place; by the square root of their number."""
        run = place >> self._shift
        return sum(self._runs[:run]) + sum(self._values[run << self._shift : place])


@dataclass(frozen=True, slots=True)
class ItemOrder:
    """What is the same under every policy of where the items of a session stand."""

    ranks: Sequence[int]
    """The place of each item."""
    order: Sequence[int]
    """The item at each place."""
    messages: Sequence[int]
    """By place: the first place of the provider's message there."""
    highest: Sequence[int]
    """The highest place of the first so many items; -1 of none."""
    inserted: Sequence[int]
    """The items that stand before one that existed earlier, ascending."""

    @classmethod
    def of(cls, timeline: Timeline) -> "ItemOrder":
        """Return where the items of a session stand."""
        ranks, order = timeline.ranks, timeline.order
        blocks = [timeline.items[index].block for index in order]
        grown: GrownRows[int] = timeline.earlier.setdefault("places of messages", GrownRows())
        messages = grown.of(
            lambda rank, rows: (
                rows[rank - 1] if rank and blocks[rank - 1] == blocks[rank] else rank
            ),
            blocks,
        )
        if isinstance(order, range):
            return cls(ranks, order, messages, range(-1, len(order)), ())
        highest = [-1, *accumulate(ranks, max)]
        inserted = [index for index, rank in enumerate(ranks) if rank < highest[index]]
        return cls(ranks, order, messages, highest, inserted)


class ItemPlaces:
    """Where the first change since the request before lies, in the order in which a request holds the items."""

    def __init__(
        self, timeline: Timeline, shown: Sequence[int], added: int = 0, sent: int = 0
    ) -> None:
        """Begin where so many items exist, and a request with so many was sent."""
        order = timeline.derived("order of items", ItemOrder.of)
        self._shown = shown
        self._ranks = order.ranks
        self._order = order
        # An item that comes later stands behind all that exist, and is in no sum of theirs: only one that is
        # inserted counts from when it is there.
        values = [shown[index] for index in order.order]
        self._inserted = bisect_left(order.inserted, added)
        for index in order.inserted[self._inserted :]:
            values[self._ranks[index]] = 0
        self._sums = PrefixSums(values)
        self._sent = sent
        self._top = order.highest[sent]
        """The highest place of what was sent."""
        self._low = len(self._ranks)

    def begin(self) -> None:
        """Begin a request."""
        self._low = len(self._ranks)

    def add(self, until: int) -> None:
        """Note new items; one that stands before what was sent changes the request there."""
        inserted = self._order.inserted
        while self._inserted < len(inserted) and inserted[self._inserted] < until:
            index = inserted[self._inserted]
            self._inserted += 1
            rank = self._ranks[index]
            self._sums.set(rank, self._shown[index])
            if rank < self._top:
                self._low = min(self._low, rank)

    def changed(self, item: int) -> None:
        """Note that an item is shown otherwise."""
        rank = self._ranks[item]
        self._sums.set(rank, self._shown[item])
        if item < self._sent and rank < self._low:
            self._low = rank

    def sent(self, count: int) -> None:
        """Note that a request with so many items was sent."""
        self._sent = count
        self._top = max(self._top, self._order.highest[count])

    @property
    def lowest(self) -> int | None:
        """The first item that is not as it was; None where the request only grew."""
        return self._order.order[self._low] if self._low <= self._top else None

    def before(self, item: int, *, whole_messages: bool) -> int:
        """Return the tokens of what stands before an item, or before its message."""
        rank = self._ranks[item]
        return self._sums.before(self._order.messages[rank] if whole_messages else rank)
