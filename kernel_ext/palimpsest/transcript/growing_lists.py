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
    lower, upper, step = 0, shorter, 1
    while upper > 0:
        index = max(shorter - step, 0)
        if first[:index] == second[:index]:
            lower = index
            break
        upper, step = index, 4 * step
    while lower < upper - 1:
        middle = (lower + upper) // 2
        if first[lower:middle] == second[lower:middle]:
            lower = middle
        else:
            upper = middle
    return lower


class GrownRows(Generic[T]):
    """Rows computed from lists that grow together: each row once, as long as no value before it changes.

    Contract: a row depends on the values up to its own place, on the rows before it, and on ``subject``, a value that
    all rows have in common.
    """

    def __init__(self) -> None:
        self._lists: tuple[Sequence[Any], ...] = ()
        self._rows: tuple[T, ...] = ()
        self._subject: Hashable = None

    def grown_rows(
        self,
        make_row: Callable[[int, Sequence[T]], T],
        *lists: Sequence[Any],
        subject: Hashable = None,
        max_unchanged: int | None = None,
    ) -> tuple[T, ...]:
        """Return a row for each position; at most ``max_unchanged`` earlier rows are kept."""
        unchanged_count = 0
        if subject == self._subject and len(lists) == len(self._lists):
            unchanged_count = min(map(common_beginning, self._lists, lists))
            if max_unchanged is not None:
                unchanged_count = min(unchanged_count, max_unchanged)
        count = min(map(len, lists))
        if unchanged_count < len(self._rows) or unchanged_count < count:
            rows = list(self._rows[:unchanged_count])
            for index in range(unchanged_count, count):
                rows.append(make_row(index, rows))
            self._rows = tuple(rows)
        self._lists, self._subject = lists, subject
        return self._rows


class GrownColumns:
    """Columns computed from a growing list: each value once, as long as no value before it changes."""

    def __init__(self) -> None:
        self._values: Sequence[Any] = ()
        self._column_values: dict[str, tuple[Any, ...]] = {}
        self._subject: Hashable = None

    def grown_columns(
        self,
        values: Sequence[Any],
        columns: Mapping[str, Callable[[Any], Any]],
        subject: Hashable = None,
    ) -> Mapping[str, Any]:
        """Return a column for each function, which must depend on one value and ``subject`` alone."""
        unchanged_count = 0
        if subject == self._subject and self._column_values.keys() == columns.keys():
            unchanged_count = common_beginning(self._values, values)
        if unchanged_count < max(len(values), len(self._values)) or not self._column_values:
            new_values = values[unchanged_count:]
            self._column_values = {
                name: (
                    *self._column_values.get(name, ())[:unchanged_count],
                    *map(compute_value, new_values),
                )
                for name, compute_value in columns.items()
            }
        self._values, self._subject = values, subject
        return self._column_values
