"""The query that a prompt's request for data resolves to: which columns of which table, in which roles.

Roles follow from where a column stands (after *by*, *per*, *each* it groups) and from what it
holds (numeric columns are measured, text columns group).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from palimpsest.model.rehearsal.parsing.data_request import DataRequest, Wanted
from palimpsest.model.rehearsal.parsing.entity_linking import ColumnMention, ValueMention
from palimpsest.model.rehearsal.parsing.filters import Filter, conditions
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.tables import Column, Table
from palimpsest.model.rehearsal.parsing.vocabulary import BY, JOINERS, QUALITIES, word_set
from palimpsest.model.rehearsal.parsing.word_matching import Word

FRESH = word_set("describe missing head columns shape distinct correlation")
"""Operations of a follow-up that take no columns from what was computed before."""


@dataclass(frozen=True)
class QuerySpec(Wanted):
    """What to compute."""

    table: Table
    op: str
    measures: tuple[Column, ...] = ()
    groups: tuple[Column, ...] = ()
    filters: tuple[Filter, ...] = ()
    counts_rows: bool = False
    """The prompt also asks how many rows there are, beside what is computed."""
    against: bool = False
    """The prompt sets one measure against the other, so that the first one is on the y axis."""


@dataclass(frozen=True)
class LinkedPrompt:
    """The words of a prompt and what was found in them."""

    prompt: ParsedPrompt
    columns: tuple[ColumnMention, ...]
    values: tuple[ValueMention, ...] = ()


def make_query_spec(
    wish: DataRequest, linked: LinkedPrompt, table: Table, before: QuerySpec | None = None
) -> QuerySpec:
    """Return what to compute, from the words alone; ``before`` helps where they name no column."""
    # What a bare comparison means: what was compared, else what was measured.
    compared = (*(one.column for one in before.filters), *before.measures) if before else ()
    usual = next((column for column in compared if column.numeric), None)
    filters, used = conditions(linked.prompt.words, linked.columns, linked.values, table, usual)
    groups, measures = _roles(linked, [m for m in linked.columns if m.start not in used])
    # By a column of which two or more values are compared, to tell them apart.
    split = [one.column for one in filters if one.test == "in" and len(one.value) > 1][:1]
    groups += tuple(column for column in split if column not in groups)
    statistic = wish.statistic
    if not any(column.numeric or column.temporal for column in (*measures, *groups)):
        meant = _by_quality(linked.prompt.words, table)
        if meant and (measures or groups):
            # The heaviest species is the one that is heaviest on average.
            statistic = statistic or "mean"
        measures = (*measures, *meant)
    against = linked.prompt.matches(r"\b(?:against|vs\.?|versus|by|as a function of|over)\b")
    wanted = {one.name: getattr(wish, one.name) for one in fields(Wanted)}
    return QuerySpec(
        table,
        wish.op or "",
        measures,
        groups,
        tuple(filters),
        against=bool(against),
        **{**wanted, "statistic": statistic},
    )


def _roles(
    linked: LinkedPrompt, mentions: list[ColumnMention]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    groups: list[Column] = []
    measures: list[Column] = []
    previous: ColumnMention | None = None
    for mention in mentions:
        if mention.column in (*groups, *measures):
            continue
        opener = _opener(linked.prompt.words, mention, previous)
        column = mention.column
        joined_on = opener == "and" and previous is not None and previous.column in groups
        by_word = opener in BY and not (
            opener in {"against", "versus", "vs", "between", "over"} and column.numeric
        )
        if by_word or (joined_on and not column.dtype.lower().startswith("float")):
            groups.append(column)
        else:
            measures.append(column)
        previous = mention
    return tuple(groups), tuple(measures)


def _opener(words: Sequence[Word], mention: ColumnMention, previous: ColumnMention | None) -> str:
    """Return the word that gives the column its role: the last one before it that is no filler."""
    joiner = ""
    for word in reversed(words[previous.end if previous else 0 : mention.start]):
        if word.text in BY:
            return word.text
        if word.text not in JOINERS:
            return ""
        joiner = "and" if word.text in {"and", ",", "or", "&"} else joiner
    return joiner


def _by_quality(words: Sequence[Word], table: Table) -> tuple[Column, ...]:
    """Find the column that an adjective means: *heaviest* is about a mass or a weight."""
    for word in words:
        for meant in QUALITIES.get(word.text, "").split():
            for column in table.numeric:
                if any(token.text.startswith(meant) for token in column.tokens):
                    return (column,)
    return ()


def merge(before: QuerySpec, new: QuerySpec, wish: DataRequest) -> QuerySpec:
    """Apply a follow-up prompt to the query that was computed before."""
    groups, measures = new.groups, new.measures
    numbers = tuple(c for c in measures if c.numeric or c.temporal)
    words = tuple(c for c in measures if c not in numbers)
    if not groups and words and (before.groups or before.op in {"plot", "statistic", "count"}):
        groups, measures = words, numbers
    if wish.add and groups:
        groups = (*before.groups, *(c for c in groups if c not in before.groups))
    # One number is not split by the earlier groups.
    is_one_number = new.op == "count" != before.op and new.filters and not new.groups
    filtered = {item.column.key for item in new.filters}
    kept = tuple(item for item in before.filters if item.column.key not in filtered)
    return replace(
        before,
        op=_merged_op(before, new),
        measures=measures or (() if new.op in FRESH else before.measures),
        groups=groups or (() if new.op in FRESH or is_one_number else before.groups),
        filters=(*kept, *new.filters),
        statistic=new.statistic or (None if new.several else before.statistic),
        several=new.several or (() if new.statistic else before.several),
        chart=new.chart or (before.chart if new.op in {"", "plot"} and not new.groups else None),
        number=new.number or before.number,
        order=new.order or before.order,
        against=new.against or before.against,
    )


def _merged_op(before: QuerySpec, new: QuerySpec) -> str:
    if new.chart:
        return "plot"
    if new.op == "table":
        counted = not any(column.numeric for column in before.measures)
        return before.op if before.op != "plot" else "count" if counted else "statistic"
    if new.op in {"", "rows", "compare"} or (new.op == "describe" and not new.measures):
        return before.op
    if new.op == "statistic" and not new.statistic and before.op in {"plot", "statistic"}:
        return before.op
    return new.op
