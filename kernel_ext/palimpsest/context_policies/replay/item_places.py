"""Positions of items in a request, and the beginning that a request shares with the previous one."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline


class PrefixSums:
    """Prefix sums of a list whose values change; a sum is kept for each block of values."""

    def __init__(self, values: list[int]) -> None:
        self._values = values
        self._block_bits = max(4, len(values).bit_length() // 2)
        self._block_sums = [
            sum(values[first : first + (1 << self._block_bits)])
            for first in range(0, len(values), 1 << self._block_bits)
        ]

    def replace_value(self, position: int, value: int) -> None:
        """Replace the value at a position."""
        self._block_sums[position >> self._block_bits] += value - self._values[position]
        self._values[position] = value

    def sum_before(self, position: int) -> int:
        """Return the sum of the values before a position, in time proportional to the square root of their number."""
        block = position >> self._block_bits
        return sum(self._block_sums[:block]) + sum(
            self._values[block << self._block_bits : position]
        )


@dataclass(frozen=True, slots=True)
class ItemOrder:
    """Positions of a session's items, which are the same under every policy."""

    ranks: Sequence[int]
    """The position of each item."""
    order: Sequence[int]
    """The item at each position."""
    messages: Sequence[int]
    """For each position, the first position of the same provider message."""
    highest_positions: Sequence[int]
    """For each number of items, the highest position among them; -1 for none."""
    inserted: Sequence[int]
    """Items that are inserted before an older item, ascending."""

    @classmethod
    def of(cls, timeline: Timeline) -> "ItemOrder":
        """Return the positions of a session's items."""
        ranks, order = timeline.ranks, timeline.sent_order
        blocks = [timeline.items[index].block for index in order]
        grown: GrownRows[int] = timeline.earlier.setdefault("places of messages", GrownRows())
        messages = grown.grown_rows(
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
    """Tracks the first change since the previous request, in the order of the items in a request."""

    def __init__(
        self,
        timeline: Timeline,
        shown_tokens: Sequence[int],
        added_count: int = 0,
        sent_count: int = 0,
    ) -> None:
        """Start with ``added_count`` items, of which a request sent the first ``sent_count``."""
        order = timeline.derived_value("order of items", ItemOrder.of)
        self._shown = shown_tokens
        self._ranks = order.ranks
        self._order = order
        # A new item normally comes last, so that no sum before other items includes it. An inserted item has the size 0
        # until it exists.
        values = [shown_tokens[index] for index in order.order]
        self._inserted = bisect_left(order.inserted, added_count)
        for index in order.inserted[self._inserted :]:
            values[self._ranks[index]] = 0
        self._sums = PrefixSums(values)
        self._sent = sent_count
        self._highest_rank = order.highest_positions[sent_count]
        """The highest position that was sent."""
        self._lowest_rank = len(self._ranks)

    def begin_request(self) -> None:
        """Begin a request, of which nothing changed yet."""
        self._lowest_rank = len(self._ranks)

    def add(self, end: int) -> None:
        """Add new items; an item inserted before sent items changes the request at its position."""
        inserted = self._order.inserted
        while self._inserted < len(inserted) and inserted[self._inserted] < end:
            index = inserted[self._inserted]
            self._inserted += 1
            rank = self._ranks[index]
            self._sums.replace_value(rank, self._shown[index])
            if rank < self._highest_rank:
                self._lowest_rank = min(self._lowest_rank, rank)

    def note_change(self, item: int) -> None:
        """Apply the changed size of an item whose state changed."""
        rank = self._ranks[item]
        self._sums.replace_value(rank, self._shown[item])
        if item < self._sent and rank < self._lowest_rank:
            self._lowest_rank = rank

    def note_sent(self, count: int) -> None:
        """Store that a request with the first ``count`` items was sent."""
        self._sent = count
        self._highest_rank = max(self._highest_rank, self._order.highest_positions[count])

    @property
    def first_changed_item(self) -> int | None:
        """The first changed item; None where the request only grew."""
        rank = self._lowest_rank
        return self._order.order[rank] if rank <= self._highest_rank else None

    def tokens_before(self, item: int, *, whole_messages: bool) -> int:
        """Return the tokens before an item, or before its message."""
        rank = self._ranks[item]
        return self._sums.sum_before(self._order.messages[rank] if whole_messages else rank)
