"""Parse filter conditions in a prompt: values of columns, and comparisons with numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.model.rehearsal.parsing.entity_linking import ColumnMention, ValueMention
from palimpsest.model.rehearsal.parsing.tables import Column, Table
from palimpsest.model.rehearsal.parsing.vocabulary import ABOVE, BELOW
from palimpsest.model.rehearsal.parsing.word_matching import Word, number_of

EQUAL = {"=", "==", "equal", "equals", "is", "exactly"}
FILLERS = {"than", "to", "a", "of", "or", "about", "the", "value"}


@dataclass(frozen=True)
class Filter:
    """A condition on one column."""

    column: Column
    test: str
    """``==``, ``>``, ``>=``, ``<``, ``<=`` or ``in``."""
    value: Any


def conditions(
    words: Sequence[Word],
    columns: Sequence[ColumnMention],
    values: Sequence[ValueMention],
    table: Table,
    usual: Column | None = None,
) -> tuple[list[Filter], set[int]]:
    """Return the conditions, and the start indices of column mentions that belong to conditions only.

    A comparison without a column, as in *and over 5*, applies to ``usual``.
    """
    found, used = _of_values(columns, values)
    for at, word in enumerate(words):
        number = number_of(word.text)
        if number is None or _counts_rows(words, at):
            continue
        condition = _of_number(words, columns, table, at, number, usual)
        if condition:
            found.append(condition[0])
            used |= condition[1]
    return found, used


def _of_values(
    columns: Sequence[ColumnMention], values: Sequence[ValueMention]
) -> tuple[list[Filter], set[int]]:
    found: list[Filter] = []
    used: set[int] = set()
    by_column: dict[Any, list[ValueMention]] = {}
    for value in values:
        by_column.setdefault(value.column.key, []).append(value)
    for mentions in by_column.values():
        column = mentions[0].column
        if len(mentions) > 1:
            found.append(Filter(column, "in", [mention.value for mention in mentions]))
        else:
            found.append(Filter(column, "==", mentions[0].value))
            used |= {mention.start for mention in columns if mention.column == column}
    return found, used


def _counts_rows(words: Sequence[Word], at: int) -> bool:
    before = words[at - 1].text if at else ""
    after = words[at + 1].stem if at + 1 < len(words) else ""
    ranks = {"top", "first", "last", "bottom", "head", "tail"}
    return before in ranks or after in {"row", "line", "bin"}


def _of_number(
    words: Sequence[Word],
    columns: Sequence[ColumnMention],
    table: Table,
    at: int,
    number: float,
    usual: Column | None,
) -> tuple[Filter, set[int]] | None:
    """Return the condition with a number, on the nearest numeric column, and the mentions it uses."""
    if any(mention.start <= at < mention.end for mention in columns):
        return None
    test = _comparator(words, columns, at)
    nearest = min(
        (mention for mention in columns if mention.column.numeric),
        key=lambda mention: (mention.start > at, abs(mention.start - at)),
        default=None,
    )
    if test and nearest:
        return Filter(nearest.column, test, number), {nearest.start}
    if test and usual:
        return Filter(usual, test, number), set()
    if not re.fullmatch(r"(?:1[5-9]|20)\d\d", words[at].text):
        return None
    for column in table.numeric:
        if any(token.stem == "year" for token in column.tokens):
            named = {mention.start for mention in columns if mention.column == column}
            return Filter(column, test or "==", number), named
    return None


def _comparator(words: Sequence[Word], columns: Sequence[ColumnMention], at: int) -> str | None:
    """Return the comparison operator expressed by the words before a number, or None."""
    before = _before(words, columns, at)
    if before[-2:] == ["at", "least"] or before[-1:] in (["between"], [">="]):
        return ">="
    if before[-2:] == ["at", "most"] or before[-1:] == ["<="]:
        return "<="
    if before[-1:] == ["and"] and "between" in before and number_of(before[-2]) is not None:
        return "<="
    for text in reversed(before):
        if text in ABOVE:
            return ">"
        if text in BELOW:
            return "<"
        if text in EQUAL:
            return "=="
        if text not in FILLERS:
            return None
    return None


def _before(words: Sequence[Word], columns: Sequence[ColumnMention], at: int) -> list[str]:
    """Return the words before a number, without those of column names."""
    start = max(0, at - 9)
    named = {place for mention in columns for place in range(mention.start, mention.end)}
    return [words[place].text for place in range(start, at) if place not in named][-6:]
