"""Parse filter conditions in a prompt: values of columns, and comparisons with numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.rehearsal.frame_questions.entity_linking import ColumnMention, ValueMention
from palimpsest.rehearsal.parsing.tables import Column
from palimpsest.rehearsal.parsing.vocabulary import ABOVE, BELOW
from palimpsest.rehearsal.parsing.word_matching import Word, number_of

EQUAL = {"=", "==", "equal", "equals", "is", "exactly"}
FILLERS = {"than", "to", "a", "of", "or", "about", "the", "value"}


@dataclass(frozen=True)
class Filter:
    """A condition on one column."""

    column: Column
    test: str
    """``==``, ``>``, ``>=``, ``<``, ``<=`` or ``in``."""
    value: Any


def parse_filters(
    words: Sequence[Word], columns: Sequence[ColumnMention], values: Sequence[ValueMention]
) -> tuple[list[Filter], set[int]]:
    """Return the conditions, and the start indices of column mentions that only belong to conditions."""
    filters, used_starts = _value_filters(columns, values)
    for position, word in enumerate(words):
        number = number_of(word.text)
        is_in_name = any(mention.start <= position < mention.end for mention in columns)
        if number is None or is_in_name or _counts_rows(words, position):
            continue
        nearest = min(
            (mention for mention in columns if mention.column.is_numeric),
            key=lambda mention, position=position: (
                mention.start > position,
                abs(mention.start - position),
            ),  # type: ignore[misc]
            default=None,
        )
        if nearest and (test := _comparator(words, columns, position)):
            filters.append(Filter(nearest.column, test, number))
            used_starts.add(nearest.start)
    return filters, used_starts


def _value_filters(
    columns: Sequence[ColumnMention], values: Sequence[ValueMention]
) -> tuple[list[Filter], set[int]]:
    filters: list[Filter] = []
    used_starts: set[int] = set()
    by_column: dict[Any, list[ValueMention]] = {}
    for value in values:
        by_column.setdefault(value.column.key, []).append(value)
    for mentions in by_column.values():
        column = mentions[0].column
        if len(mentions) > 1:
            filters.append(Filter(column, "in", [mention.value for mention in mentions]))
        else:
            filters.append(Filter(column, "==", mentions[0].value))
            used_starts |= {mention.start for mention in columns if mention.column == column}
    return filters, used_starts


def _counts_rows(words: Sequence[Word], position: int) -> bool:
    before = words[position - 1].text if position else ""
    after = words[position + 1].stem if position + 1 < len(words) else ""
    ranks = {"top", "first", "last", "bottom", "head", "tail"}
    return before in ranks or after in {"row", "line", "bin"}


def _comparator(
    words: Sequence[Word], columns: Sequence[ColumnMention], position: int
) -> str | None:
    """Return the comparison operator in the words before a number, or None."""
    words_before = _words_before(words, columns, position)
    if words_before[-2:] == ["at", "least"] or words_before[-1:] in (["between"], [">="]):
        return ">="
    if words_before[-2:] == ["at", "most"] or words_before[-1:] == ["<="]:
        return "<="
    if (
        words_before[-1:] == ["and"]
        and "between" in words_before
        and number_of(words_before[-2]) is not None
    ):
        return "<="
    for text in reversed(words_before):
        if text in ABOVE:
            return ">"
        if text in BELOW:
            return "<"
        if text in EQUAL:
            return "=="
        if text not in FILLERS:
            return None
    return None


def _words_before(
    words: Sequence[Word], columns: Sequence[ColumnMention], position: int
) -> list[str]:
    """Return the words before a number, without those of column names."""
    start = max(0, position - 9)
    column_indexes = {index for mention in columns for index in range(mention.start, mention.end)}
    indexes = [index for index in range(start, position) if index not in column_indexes]
    return [words[index].text for index in indexes[-6:]]
