"""Complete a query that a prompt left partly open, by the types of the columns.

Each rule takes a spec and gives the one it should be; they are applied in order, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.word_matching import Word

Rule = Callable[[QuerySpec, frozenset[str]], QuerySpec]


def fill_defaults(spec: QuerySpec, words: Sequence[Word]) -> QuerySpec:
    """Return the spec that will be computed."""
    said = frozenset(word.text for word in words)
    for rule in RULES:
        spec = rule(spec, said)
    return spec


def _rank_numbers(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """In *top five by mass* the column after *by* is what is ranked."""
    if spec.op != "top" or spec.measures:
        return spec
    ranked = tuple(column for column in spec.groups if column.numeric or column.temporal)
    return replace(spec, measures=ranked, groups=tuple(c for c in spec.groups if c not in ranked))


def _group_words(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Group by text columns where numeric ones are measured."""
    words = tuple(c for c in spec.measures if not c.numeric and not c.temporal)
    numbers = tuple(c for c in spec.measures if c not in words)
    plotted = spec.op == "plot" and (numbers or spec.groups)
    wants_groups = spec.op in {"statistic", "top", "compare", ""} or plotted
    if words and wants_groups and (numbers or spec.op != "statistic" or not spec.statistic):
        return replace(spec, measures=numbers, groups=(*spec.groups, *words))
    return spec


def _name_operation(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Choose the operation for a prompt that only names columns: compare, count, filter or describe them."""
    if spec.op == "table":
        return replace(spec, op="statistic" if spec.measures and spec.groups else "head")
    if spec.op in {"", "compare"}:
        if spec.groups:
            return replace(spec, op="statistic" if spec.measures or spec.op else "count")
        return replace(spec, op="rows" if spec.filters and not spec.op else "describe")
    if spec.op == "describe" and spec.groups and spec.measures:
        return replace(spec, op="statistic")
    return spec


def _count_most(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """*Which species has the most* asks for counts when no number is named."""
    without = not spec.measures and not spec.statistic
    if spec.op == "statistic" and spec.groups and without and spec.order:
        return replace(spec, op="count")
    if spec.op == "count" and spec.measures and not spec.groups and spec.order:
        return replace(spec, measures=(), groups=spec.measures[:1])
    return spec


def _count_values(spec: QuerySpec, said: frozenset[str]) -> QuerySpec:
    """*How many species* asks for different values, *count the species* for the rows of each."""
    if spec.op == "distinct" and (spec.measures or spec.groups) and said & {"many", "number"}:
        return replace(spec, op="nunique")
    if spec.op != "count" or len(spec.measures) != 1 or spec.groups:
        return spec
    column = spec.measures[0]
    if column.numeric or column.temporal:
        return spec
    listed = said & {"count", "counts", "frequency", "frequencies", "tally"}
    return replace(spec, op="distinct" if listed else "nunique")


def _find_row(spec: QuerySpec, said: frozenset[str]) -> QuerySpec:
    """*Which penguin is the heaviest* asks for a row, *what is the highest mass* for a number."""
    asks_row = bool(said & {"which", "who", "whose"}) and not spec.statistic and not spec.groups
    asks_row = asks_row and not spec.several
    if spec.op == "statistic" and asks_row and spec.measures:
        return replace(spec, op="top", number=spec.number or 1)
    return spec


def _over_time(spec: QuerySpec, said: frozenset[str]) -> QuerySpec:
    """*Over time* means the column of dates, or of years."""
    asks = said & TIME_WORDS and spec.op in {"plot", "statistic", "count"}
    if not asks or any(c.temporal for c in (*spec.groups, *spec.measures)):
        return spec
    columns = spec.table.columns
    dates = [column for column in columns if column.temporal] + [
        column for column in columns if {token.stem for token in column.tokens} & TIME_NAMES
    ]
    if not dates or dates[0] in (*spec.groups, *spec.measures):
        return spec
    return replace(spec, groups=(dates[0], *spec.groups), chart=spec.chart or "line")


def _name_statistic(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Name the statistic, so that the code and the text of the answer cannot differ.

    A single measure by groups is left open: there several statistics are shown.
    """
    if spec.op != "statistic" or spec.statistic or spec.several:
        return spec
    if spec.groups and len(spec.measures) == 1:
        return spec
    usual = {"most": "max", "least": "min"}.get(spec.order or "", "mean")
    return replace(spec, statistic=usual)


def _rank_something(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    if spec.op == "top" and not spec.measures:
        return replace(spec, op="count" if spec.groups else "head")
    return spec


TIME_WORDS = {"time", "trend", "evolution", "history", "timeline"}
TIME_NAMES = {"year", "date", "month", "day", "time", "week", "timestamp"}
RULES: tuple[Rule, ...] = (
    _rank_numbers,
    _group_words,
    _name_operation,
    _count_most,
    _count_values,
    _over_time,
    _find_row,
    _name_statistic,
    _rank_something,
)
