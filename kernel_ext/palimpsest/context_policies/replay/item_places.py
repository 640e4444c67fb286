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

    positions: Sequence[int]
    """The position of each item."""
    items_in_order: Sequence[int]
    """The item at each position."""
    message_starts: Sequence[int]
    """For each position, the first position of the same provider message."""
    highest_positions: Sequence[int]
    """For each number of items, the highest position among them; -1 for none."""
    inserted_items: Sequence[int]
    """Items that are inserted before an older item, ascending."""

    @classmethod
    def of(cls, timeline: Timeline) -> "ItemOrder":
        """Return the positions of a session's items."""
        positions, items_in_order = timeline.ranks, timeline.sent_order
        blocks = [timeline.items[index].block for index in items_in_order]
        grown_starts: GrownRows[int] = timeline.earlier.setdefault(
            "places of messages", GrownRows()
        )
        message_starts = grown_starts.grown_rows(
            lambda position, rows: (
                rows[position - 1]
                if position and blocks[position - 1] == blocks[position]
                else position
            ),
            blocks,
        )
        if isinstance(items_in_order, range):
            return cls(
                positions, items_in_order, message_starts, range(-1, len(items_in_order)), ()
            )
        highest_positions = [-1, *accumulate(positions, max)]
        inserted_items = [
            index for index, position in enumerate(positions) if position < highest_positions[index]
        ]
        return cls(positions, items_in_order, message_starts, highest_positions, inserted_items)


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
        self._shown_tokens = shown_tokens
        self._positions = order.positions
        self._order = order
        # A new item normally comes last, so that no sum before other items includes it. An inserted item has the size 0
        # until it exists.
        values = [shown_tokens[index] for index in order.items_in_order]
        self._inserted_count = bisect_left(order.inserted_items, added_count)
        for index in order.inserted_items[self._inserted_count :]:
            values[self._positions[index]] = 0
        self._sums = PrefixSums(values)
        self._sent_count = sent_count
        self._highest_sent = order.highest_positions[sent_count]
        """The highest position that was sent."""
        self._lowest_changed = len(self._positions)

    def begin_request(self) -> None:
        """Begin a request, of which nothing changed yet."""
        self._lowest_changed = len(self._positions)

    def add(self, end: int) -> None:
        """Add the items before the index ``end``; an item inserted before sent items changes the request at its position."""
        inserted_items = self._order.inserted_items
        while (
            self._inserted_count < len(inserted_items)
            and inserted_items[self._inserted_count] < end
        ):
            index = inserted_items[self._inserted_count]
            self._inserted_count += 1
            position = self._positions[index]
            self._sums.replace_value(position, self._shown_tokens[index])
            if position < self._highest_sent:
                self._lowest_changed = min(self._lowest_changed, position)

    def note_change(self, index: int) -> None:
        """Apply the changed size of an item whose state changed."""
        position = self._positions[index]
        self._sums.replace_value(position, self._shown_tokens[index])
        if index < self._sent_count and position < self._lowest_changed:
            self._lowest_changed = position

    def note_sent(self, count: int) -> None:
        """Store that a request with the first ``count`` items was sent."""
        self._sent_count = count
        self._highest_sent = max(self._highest_sent, self._order.highest_positions[count])

    @property
    def first_changed_item(self) -> int | None:
        """The first changed item; None where the request only grew."""
        position = self._lowest_changed
        return self._order.items_in_order[position] if position <= self._highest_sent else None

    def tokens_before(self, index: int, *, whole_messages: bool) -> int:
        """Return the tokens before an item, or before its message."""
        position = self._positions[index]
        return self._sums.sum_before(
            self._order.message_starts[position] if whole_messages else position
        )
