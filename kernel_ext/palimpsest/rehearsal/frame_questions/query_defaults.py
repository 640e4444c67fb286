"""Complete a query that a prompt left partly open, by the types of the columns.

Each rule returns a spec with its defaults filled in; all are applied once, in order.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from palimpsest.rehearsal.frame_questions.query_spec import QuerySpec
from palimpsest.rehearsal.parsing.word_matching import Word

Rule = Callable[[QuerySpec, frozenset[str]], QuerySpec]


def fill_defaults(spec: QuerySpec, words: Sequence[Word]) -> QuerySpec:
    """Return the spec that will be computed."""
    texts = frozenset(word.text for word in words)
    for rule in RULES:
        spec = rule(spec, texts)
    return spec


def _rank_numbers(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Rank the column after *by*, as in *top five by mass*."""
    if spec.op != "top" or spec.measures:
        return spec
    ranked_columns = tuple(column for column in spec.groups if not column.is_text)
    return replace(
        spec,
        measures=ranked_columns,
        groups=tuple(c for c in spec.groups if c not in ranked_columns),
    )


def _group_words(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Group by text columns where numeric ones are measured."""
    text_columns = tuple(c for c in spec.measures if c.is_text)
    numeric_columns = tuple(c for c in spec.measures if c not in text_columns)
    is_plotted = spec.op == "plot" and (numeric_columns or spec.groups)
    can_group = spec.op in {"statistic", "top", "compare", ""} or is_plotted
    if (
        text_columns
        and can_group
        and (numeric_columns or spec.op != "statistic" or not spec.statistic)
    ):
        return replace(spec, measures=numeric_columns, groups=(*spec.groups, *text_columns))
    return spec


def _name_operation(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Choose the operation for a prompt that only names columns: compare, count, filter or describe them."""
    if spec.op in {"", "compare"}:
        if spec.groups:
            return replace(spec, op="statistic" if spec.measures or spec.op else "count")
        return replace(spec, op="rows" if spec.filters and not spec.op else "describe")
    if spec.op == "describe" and spec.groups and spec.measures:
        return replace(spec, op="statistic")
    return spec


def _count_most(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Count for *which species has the most* without a named number."""
    is_unmeasured = not spec.measures and not spec.statistic
    if spec.op == "statistic" and spec.groups and is_unmeasured and spec.order:
        return replace(spec, op="count")
    if spec.op == "count" and spec.measures and not spec.groups and spec.order:
        return replace(spec, measures=(), groups=spec.measures[:1])
    return spec


def _count_values(spec: QuerySpec, words: frozenset[str]) -> QuerySpec:
    """Count different values for *how many species*, and the rows of each for *count the species*."""
    if spec.op == "distinct" and (spec.measures or spec.groups) and words & {"many", "number"}:
        return replace(spec, op="nunique")
    if spec.op != "count" or len(spec.measures) != 1 or spec.groups:
        return spec
    column = spec.measures[0]
    if not column.is_text:
        return spec
    is_listing = words & {"count", "counts", "frequency", "frequencies", "tally"}
    return replace(spec, op="distinct" if is_listing else "nunique")


def _find_row(spec: QuerySpec, words: frozenset[str]) -> QuerySpec:
    """Find a row for *which penguin is the heaviest*, but a number for *what is the highest mass*."""
    asks_for_row = words & {"which", "who", "whose"} and not spec.statistic and not spec.groups
    if spec.op == "statistic" and asks_for_row and spec.measures:
        return replace(spec, op="top", number=spec.number or 1)
    return spec


def _name_statistic(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Name the statistic, so that the code and the text of the answer cannot differ.

    A single measure by groups without *most* or *least* stays open: then all statistics are shown.
    """
    if spec.op != "statistic" or spec.statistic:
        return spec
    if spec.groups and len(spec.measures) == 1 and not spec.order:
        return spec
    default_statistic = {"most": "max", "least": "min"}.get(spec.order or "", "mean")
    return replace(spec, statistic=default_statistic)


def _rank_something(spec: QuerySpec, _: frozenset[str]) -> QuerySpec:
    """Turn a ranking of groups into a statistic, and one without a measure into a count or the first rows."""
    if spec.op == "top" and spec.measures and spec.groups:
        return replace(spec, op="statistic", statistic=spec.statistic or "mean")
    if spec.op == "top" and not spec.measures:
        return replace(spec, op="count" if spec.groups else "head")
    return spec


RULES: tuple[Rule, ...] = (
    _rank_numbers,
    _group_words,
    _name_operation,
    _count_most,
    _count_values,
    _find_row,
    _name_statistic,
    _rank_something,
)
