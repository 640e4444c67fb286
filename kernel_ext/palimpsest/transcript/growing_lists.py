"""Helpers for lists that grow at their ends: their common beginning, and rows computed once for each value.

Values computed repeatedly from a long session differ only near their ends. That is checked, not assumed: each
list is compared with the one before, and everything after the first difference is computed again.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def common_beginning(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return how many values two lists share at their beginnings; quick where they differ near their ends."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:
        return shorter
    low, high, step = 0, shorter, 1
    while high > 0:
        index = max(shorter - step, 0)
        if first[:index] == second[:index]:
            low = index
            break
        high, step = index, 4 * step
    while low < high - 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


class GrownRows(Generic[T]):
    """Rows computed from lists that grow together: each row once, as long as no value before it changes.

    Contract: a row depends on the values up to its own place, on the rows before it, and on ``about``, a value that
    all rows have in common.
    """

    def __init__(self) -> None:
        self._lists: tuple[Sequence[Any], ...] = ()
        self._rows: tuple[T, ...] = ()
        self._key: Hashable = None

    def grown_rows(
        self,
        make: Callable[[int, Sequence[T]], T],
        *lists: Sequence[Any],
        about: Hashable = None,
        max_unchanged: int | None = None,
    ) -> tuple[T, ...]:
        """Return a row for each position; at most ``max_unchanged`` earlier rows are kept."""
        unchanged = 0
        if about == self._key and len(lists) == len(self._lists):
            unchanged = min(map(common_beginning, self._lists, lists))
            unchanged = unchanged if max_unchanged is None else min(unchanged, max_unchanged)
        count = min(map(len, lists))
        if unchanged < len(self._rows) or unchanged < count:
            rows = list(self._rows[:unchanged])
            for place in range(unchanged, count):
                rows.append(make(place, rows))
            self._rows = tuple(rows)
        self._lists, self._key = lists, about
        return self._rows


class GrownColumns:
    """Columns computed from a growing list: each value once, as long as no value before it changes."""

    def __init__(self) -> None:
        self._values: Sequence[Any] = ()
        self._column_values: dict[str, tuple[Any, ...]] = {}
        self._key: Hashable = None

    def grown_columns(
        self,
        values: Sequence[Any],
        columns: Mapping[str, Callable[[Any], Any]],
        about: Hashable = None,
    ) -> Mapping[str, Any]:
        """Return a column for each function, which must depend on one value and ``about`` alone."""
        unchanged = 0
        if about == self._key and self._column_values.keys() == columns.keys():
            unchanged = common_beginning(self._values, values)
        if unchanged < len(values) or unchanged < len(self._values) or not self._column_values:
            new = values[unchanged:]
            self._column_values = {
                name: (*self._column_values.get(name, ())[:unchanged], *map(make, new))
                for name, make in columns.items()
            }
        self._values, self._key = values, about
        return self._column_values
