"""Parse filter conditions in a prompt: values of columns, and comparisons with numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.rehearsal.frame_questions.entity_linking import ColumnMention, ValueMention
from palimpsest.rehearsal.parsing.tables import Column
from palimpsest.rehearsal.parsing.vocabulary import ABOVE_WORDS, BELOW_WORDS
from palimpsest.rehearsal.parsing.word_matching import Word, number_of

EQUAL = {"=", "==", "equal", "equals", "is", "exactly"}
FILLERS = {"than", "to", "a", "of", "or", "about", "the", "value"}
MAX_SEARCHED_WORDS = 9
"""Maximum words before a number that are searched for a comparison, including those of column names."""
MAX_WORDS_BEFORE = 6
"""Maximum words before a number that are compared, without those of column names."""


@dataclass(frozen=True)
class Filter:
    """A condition on one column."""

    column: Column
    operator: str
    """``==``, ``>``, ``>=``, ``<``, ``<=`` or ``in``."""
    value: Any


def parse_filters(
    words: Sequence[Word],
    column_mentions: Sequence[ColumnMention],
    value_mentions: Sequence[ValueMention],
) -> tuple[list[Filter], set[int]]:
    """Return the conditions, and the start indices of column mentions that only belong to conditions."""
    filters, used_starts = _value_filters(column_mentions, value_mentions)
    for position, word in enumerate(words):
        number = number_of(word.text)
        is_in_name = any(mention.start <= position < mention.end for mention in column_mentions)
        if number is None or is_in_name or _counts_rows(words, position):
            continue
        nearest = min(
            (mention for mention in column_mentions if mention.column.is_numeric),
            key=lambda mention, position=position: (
                mention.start > position,
                abs(mention.start - position),
            ),  # type: ignore[misc]
            default=None,
        )
        if nearest and (operator := _comparison_operator(words, column_mentions, position)):
            filters.append(Filter(nearest.column, operator, number))
            used_starts.add(nearest.start)
    return filters, used_starts


def _value_filters(
    column_mentions: Sequence[ColumnMention], value_mentions: Sequence[ValueMention]
) -> tuple[list[Filter], set[int]]:
    filters: list[Filter] = []
    used_starts: set[int] = set()
    mentions_by_key: dict[Any, list[ValueMention]] = {}
    for value_mention in value_mentions:
        mentions_by_key.setdefault(value_mention.column.key, []).append(value_mention)
    for mentions in mentions_by_key.values():
        column = mentions[0].column
        if len(mentions) > 1:
            filters.append(Filter(column, "in", [mention.value for mention in mentions]))
        else:
            filters.append(Filter(column, "==", mentions[0].value))
            used_starts |= {
                mention.start for mention in column_mentions if mention.column == column
            }
    return filters, used_starts


def _counts_rows(words: Sequence[Word], position: int) -> bool:
    word_before = words[position - 1].text if position else ""
    stem_after = words[position + 1].stem if position + 1 < len(words) else ""
    ranks = {"top", "first", "last", "bottom", "head", "tail"}
    return word_before in ranks or stem_after in {"row", "line", "bin"}


def _comparison_operator(
    words: Sequence[Word], column_mentions: Sequence[ColumnMention], position: int
) -> str | None:
    """Return the comparison operator in the words before a number, or None."""
    words_before = _words_before(words, column_mentions, position)
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
        if text in ABOVE_WORDS:
            return ">"
        if text in BELOW_WORDS:
            return "<"
        if text in EQUAL:
            return "=="
        if text not in FILLERS:
            return None
    return None


def _words_before(
    words: Sequence[Word], column_mentions: Sequence[ColumnMention], position: int
) -> list[str]:
    """Return the words before a number, without those of column names."""
    start = max(0, position - MAX_SEARCHED_WORDS)
    column_indexes = {
        index for mention in column_mentions for index in range(mention.start, mention.end)
    }
    indexes = [index for index in range(start, position) if index not in column_indexes]
    return [words[index].text for index in indexes[-MAX_WORDS_BEFORE:]]
