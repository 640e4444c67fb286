"""The query for a prompt's request about data: the table, and its columns in their roles.

Roles follow from a column's position (after *by*, *per*, *each* it groups) and from its type
(numeric columns are measured, text columns group).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from palimpsest.rehearsal.frame_questions.data_request import DataRequest, RequestOptions
from palimpsest.rehearsal.frame_questions.entity_linking import ColumnMention, ValueMention
from palimpsest.rehearsal.frame_questions.filters import Filter, parse_filters
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tables import Column, Table
from palimpsest.rehearsal.parsing.vocabulary import (
    COLUMN_WORDS_BY_ADJECTIVE,
    GROUPING_PREPOSITIONS,
    JOINING_WORDS,
)
from palimpsest.rehearsal.parsing.word_matching import Word


@dataclass(frozen=True)
class QuerySpec(RequestOptions):
    """A query on a table."""

    table: Table
    op: str
    measures: tuple[Column, ...] = ()
    """The columns that are computed or shown."""
    groups: tuple[Column, ...] = ()
    """The columns by which rows are grouped."""
    filters: tuple[Filter, ...] = ()
    is_against: bool = False
    """Whether the prompt plots one measure *against* another, so that the first one is on the y axis."""


@dataclass(frozen=True)
class LinkedPrompt:
    """A prompt with the columns and values that it mentions."""

    prompt: ParsedPrompt
    columns: tuple[ColumnMention, ...]
    values: tuple[ValueMention, ...] = ()


def make_query_spec(request: DataRequest, linked_prompt: LinkedPrompt, table: Table) -> QuerySpec:
    """Return the query of a request, from the words alone."""
    filters, used_starts = parse_filters(
        linked_prompt.prompt.words, linked_prompt.columns, linked_prompt.values
    )
    groups, measures = _groups_and_measures(
        linked_prompt,
        [mention for mention in linked_prompt.columns if mention.start not in used_starts],
    )
    # Two or more compared values of a column are separated by grouping.
    split_columns = [
        column_filter.column for column_filter in filters if column_filter.operator == "in"
    ][:1]
    groups += tuple(column for column in split_columns if column not in groups)
    statistic = request.statistic
    if all(column.is_text for column in (*measures, *groups)):
        quality_columns = _quality_columns(linked_prompt.prompt.words, table)
        if quality_columns and (measures or groups):
            # "The heaviest species" means the species with the highest mean.
            statistic = statistic or "mean"
        measures = (*measures, *quality_columns)
    against_match = linked_prompt.prompt.matches(
        r"\b(?:against|vs\.?|versus|by|as a function of|over)\b"
    )
    options = {field.name: getattr(request, field.name) for field in fields(RequestOptions)}
    return QuerySpec(
        table,
        request.op or "",
        measures,
        groups,
        tuple(filters),
        is_against=bool(against_match),
        **{**options, "statistic": statistic},
    )


def _groups_and_measures(
    linked_prompt: LinkedPrompt, mentions: list[ColumnMention]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    groups: list[Column] = []
    measures: list[Column] = []
    previous_mention: ColumnMention | None = None
    for mention in mentions:
        if mention.column in (*groups, *measures):
            continue
        role_word = _role_word(linked_prompt.prompt.words, mention, previous_mention)
        column = mention.column
        is_joined = (
            role_word == "and"
            and previous_mention is not None
            and previous_mention.column in groups
        )
        is_grouping = role_word in GROUPING_PREPOSITIONS and not (
            role_word in {"against", "versus", "vs", "between", "over"} and column.is_numeric
        )
        if is_grouping or (is_joined and not column.dtype.lower().startswith("float")):
            groups.append(column)
        else:
            measures.append(column)
        previous_mention = mention
    return tuple(groups), tuple(measures)


def _role_word(
    words: Sequence[Word], mention: ColumnMention, previous_mention: ColumnMention | None
) -> str:
    """Return the word that determines the column's role: the last word before it that is no filler."""
    joiner = ""
    for word in reversed(words[previous_mention.end if previous_mention else 0 : mention.start]):
        if word.text in GROUPING_PREPOSITIONS:
            return word.text
        if word.text not in JOINING_WORDS:
            return ""
        joiner = "and" if word.text in {"and", ",", "or", "&"} else joiner
    return joiner


def _quality_columns(words: Sequence[Word], table: Table) -> tuple[Column, ...]:
    """Return the column that an adjective means: *heaviest* is about a mass or a weight."""
    for word in words:
        for name_start in COLUMN_WORDS_BY_ADJECTIVE.get(word.text, "").split():
            for column in table.numeric_columns:
                if any(token.text.startswith(name_start) for token in column.tokens):
                    return (column,)
    return ()
