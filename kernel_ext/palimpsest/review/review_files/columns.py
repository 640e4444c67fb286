"""Rows as columns of plain values, and back, for files that anybody may have written.

A column holds values of stated types only: texts of bounded length, whole numbers of bounded size, finite numbers. What is
not so written is refused as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_TEXT = 2_000
"""Characters of one value; the texts of a session are in its log and nowhere else."""
LARGEST = 1 << 53
DEEPEST = 4
"""Levels of lists and objects in the numbers of a decision."""
MOST_ROWS = 10_000_000


class NotAsWritten(ValueError):
    """A file does not hold what is written into it."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The values that a column may have."""

    types: frozenset[type]
    choices: frozenset[Any] = frozenset()
    """Where only these are known; None among the types may stand beside them."""


NONE = type(None)
TEXT = ColumnType(frozenset({str}))
WHOLE = ColumnType(frozenset({int}))
MAYBE_WHOLE = ColumnType(frozenset({int, NONE}))
MAYBE_TEXT = ColumnType(frozenset({str, NONE}))
NUMBER = ColumnType(frozenset({int, float, NONE}))
REAL = ColumnType(frozenset({int, float}))
FLAG = ColumnType(frozenset({bool}))
MAYBE_FLAG = ColumnType(frozenset({bool, NONE}))
LIST = ColumnType(frozenset({list}))
OBJECT = ColumnType(frozenset({dict}))
MAYBE_LIST = ColumnType(frozenset({list, NONE}))


def choice(*values: str) -> ColumnType:
    """Return a column of a few words."""
    return ColumnType(frozenset({str}), frozenset(values))


def columns_of(rows: Sequence[object], columns: Mapping[str, ColumnType]) -> dict[str, list[Any]]:
    """Return rows as columns; raises NotAsWritten where they could not be read again."""
    values = {name: [getattr(row, name) for row in rows] for name in columns}
    found = {
        name: [list(one) if isinstance(one, tuple) else one for one in column]
        for name, column in values.items()
    }
    rows_of(found, columns)
    return found


def rows_of(value: object, columns: Mapping[str, ColumnType]) -> list[tuple[Any, ...]]:
    """Return rows, each with its values in the order of the columns; raises NotAsWritten."""
    if not isinstance(value, dict) or value.keys() != columns.keys():
        raise NotAsWritten("These are other columns.")
    lists = [_checked(value[name], column) for name, column in columns.items()]
    if len({len(one) for one in lists}) > 1 or len(lists[0]) > MOST_ROWS:
        raise NotAsWritten("The columns have other lengths.")
    return list(zip(*lists, strict=True))


def wholes(value: object, below: int, least: int = 0) -> tuple[int, ...]:
    """Return a list of whole numbers from ``least`` to below a bound; raises NotAsWritten."""
    found = _checked(value, WHOLE)
    if found and not (least <= min(found) and max(found) < below):
        raise NotAsWritten("A number is out of its range.")
    return tuple(found)


def plain(value: Any, depth: int = DEEPEST) -> Any:
    """Return a value of texts, numbers, lists and objects of bounded size; raises NotAsWritten."""
    match value:
        case dict() if depth:
            _checked([*value], TEXT)
            return {name: plain(one, depth - 1) for name, one in value.items()}
        case list() | tuple() if depth:
            return [plain(one, depth - 1) for one in value]
        case bool():
            return value
        case _:
            return _checked([value], ColumnType(frozenset({str, int, float, NONE})))[0]


def _checked(value: object, column: ColumnType) -> list[Any]:
    if not isinstance(value, list) or not {type(one) for one in value} <= column.types:
        raise NotAsWritten("A column holds values of another type.")
    if column.choices and not set(value) <= column.choices:
        raise NotAsWritten("A column holds an unknown word.")
    for one in value:
        if isinstance(one, str) and len(one) > LONGEST_TEXT:
            raise NotAsWritten("A text is too long.")
        # Not a number is not at most anything.
        if isinstance(one, int | float) and not abs(one) <= LARGEST:
            raise NotAsWritten("A number is too large.")
    return value
