"""Lists that grow at their ends: how far two of them are the same, and rows that are made once for each value.

What is made of a long session again and again differs in its last few places. Nothing here trusts that: each
list is compared with the one before, and what stands behind the first difference is made again.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def common_beginning(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many values two lists share at their beginnings; quick where they differ near their ends."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    low, high, step = 0, most, 1
    while high > 0:
        at = max(most - step, 0)
        if one[:at] == other[:at]:
            low = at
            break
        high, step = at, 4 * step
    while low < high - 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


class GrownRows(Generic[T]):
    """The rows that are made of lists which grow together: each row once, until a value before it differs.

    Contract: a row depends on the values up to its own place, on the rows before it, and on ``about``.
    """

    def __init__(self) -> None:
        self._lists: tuple[Sequence[Any], ...] = ()
        self._rows: tuple[T, ...] = ()
        self._about: Hashable = None

    def of(
        self,
        make: Callable[[int, Sequence[T]], T],
        *lists: Sequence[Any],
        about: Hashable = None,
        most: int | None = None,
    ) -> tuple[T, ...]:
        """Return a row for each place; at most ``most`` of those before are kept."""
        kept = 0
        if about == self._about and len(lists) == len(self._lists):
            kept = min(map(common_beginning, self._lists, lists))
            kept = kept if most is None else min(kept, most)
        count = min(map(len, lists))
        if kept < len(self._rows) or kept < count:
            rows = list(self._rows[:kept])
            for place in range(kept, count):
                rows.append(make(place, rows))
            self._rows = tuple(rows)
        self._lists, self._about = lists, about
        return self._rows


class GrownColumns:
    """Columns with a value for each value of a list that grows: each made once, until a value before it differs."""

    def __init__(self) -> None:
        self._values: Sequence[Any] = ()
        self._columns: dict[str, tuple[Any, ...]] = {}
        self._about: Hashable = None

    def of(
        self,
        values: Sequence[Any],
        columns: Mapping[str, Callable[[Any], Any]],
        about: Hashable = None,
    ) -> Mapping[str, Any]:
        """Return a column for each function; all of them depend on one value and ``about`` alone."""
        kept = 0
        if about == self._about and self._columns.keys() == columns.keys():
            kept = common_beginning(self._values, values)
        if kept < len(values) or kept < len(self._values) or not self._columns:
            new = values[kept:]
            self._columns = {
                name: (*self._columns.get(name, ())[:kept], *map(make, new))
                for name, make in columns.items()
            }
        self._values, self._about = values, about
        return self._columns
