"""Write short pandas code for a spec.

Names of columns, values and files go in by ``repr``. The code reads; it never deletes or
overwrites, and it leaves no name behind but an import or a table the user asked to load.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.model.rehearsal.parsing.filters import Filter
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tables import Column
from palimpsest.model.rehearsal.parsing.vocabulary import word_set

ROWS_SHOWN = 5
RANKED_SHOWN = 10
WIDE = 6
"""Tables of more columns do not fit a line; rankings then show the columns that matter."""
ADDITIVE = word_set(
    "sale revenue amount quantity qty population cost profit unit order volume turnover"
)
"""Quantities that one adds up when asking which group has the most."""


def quote(value: Any) -> str:
    """Return a value as Python source, text in double quotes where that needs no escaping."""
    text = repr(value)
    if text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def source(spec: QuerySpec) -> str:
    """Return the expression for the rows that the spec selects."""
    name = spec.table.name
    if not spec.filters:
        return name
    tests = [_test(name, condition) for condition in spec.filters]
    mask = tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)
    return f"{name}[{mask}]"


def _test(name: str, condition: Filter) -> str:
    column = f"{name}[{quote(condition.column.key)}]"
    if condition.test == "in":
        return f"{column}.isin([{', '.join(quote(value) for value in condition.value)}])"
    return f"{column} {condition.test} {quote(condition.value)}"


def keys(columns: tuple[Column, ...]) -> str:
    """Return one key, or a list of keys, as source."""
    return quote(columns[0].key) if len(columns) == 1 else list_of(columns)


def list_of(columns: tuple[Column, ...]) -> str:
    """Return a list of keys as source, also for one."""
    return f"[{', '.join(quote(column.key) for column in columns)}]"


def _statistic(spec: QuerySpec) -> str:
    rows = source(spec)
    one = len(spec.measures) == 1
    inner = f"[{keys(spec.measures)}]" if spec.measures else ""
    if not spec.groups:
        return _plain_statistic(spec, rows)
    grouped = f"{rows}.groupby({keys(spec.groups)})"
    if spec.statistic is None:
        shown = f"{grouped}{inner}.agg({several(spec)})"
        if spec.order and one and not spec.several:
            last, rising = quote(statistics_of(spec)[-1]), spec.order == "least"
            shown = f"{shown}.sort_values({last}, ascending={rising})"
        return f"{shown}.reset_index()"
    if not spec.measures:
        return f"{grouped}.{spec.statistic}(numeric_only=True).reset_index()"
    rising, by = spec.order == "least", quote(spec.measures[0].key)
    tail = f".sort_values({by}, ascending={rising})" if one and spec.order else ""
    return f"{grouped}{inner}.{spec.statistic}().reset_index(){tail}"


def _plain_statistic(spec: QuerySpec, rows: str) -> str:
    picked = f"[{keys(spec.measures)}]" if spec.measures else '.select_dtypes("number")'
    if spec.several:
        return f"{rows}{picked}.agg({several(spec)})"
    if not spec.measures:
        return f"{rows}.{spec.statistic}(numeric_only=True)"
    return f"{rows}{picked}.{spec.statistic}()"


def several(spec: QuerySpec) -> str:
    """Return the statistics to show of one measure, as a list in source."""
    return f"[{', '.join(quote(name) for name in statistics_of(spec))}]"


def statistics_of(spec: QuerySpec) -> list[str]:
    """Return the statistics to show of one measure by groups."""
    if spec.several:
        return list(spec.several)
    if spec.order and spec.op == "statistic":
        return ["mean", "max" if spec.order == "most" else "min"]
    return ["count", "mean", "min", "max"]


def _count(spec: QuerySpec) -> str:
    rows = source(spec)
    if spec.groups:
        one = len(spec.groups) == 1
        rising = ", ascending=True" if spec.order == "least" and one else ""
        counted = f"{rows}[{keys(spec.groups)}].value_counts(dropna=False{rising})"
        return counted if one else f"{counted}.reset_index()"
    if spec.measures:
        return f"{rows}[{keys(spec.measures)}].count()"
    return f"len({rows})"


def _distinct(spec: QuerySpec) -> str:
    columns = spec.groups + spec.measures
    if not columns:
        return f"{source(spec)}.nunique()"
    return f"{source(spec)}[{keys(columns[:1])}].value_counts(dropna=False)"


def _missing(spec: QuerySpec) -> str:
    columns = spec.measures + spec.groups
    picked = f"[{keys(columns)}]" if columns else ""
    return f"{source(spec)}{picked}.isna().sum()"


def _correlation(spec: QuerySpec) -> str:
    rows, numbers = source(spec), tuple(c for c in spec.measures + spec.groups if c.numeric)
    if len(numbers) == 2:
        return f"{rows}[{quote(numbers[0].key)}].corr({rows}[{quote(numbers[1].key)}])"
    matrix = f"{rows}.corr(numeric_only=True)"
    if len(numbers) == 1:
        return f"{matrix}[{quote(numbers[0].key)}].drop({quote(numbers[0].key)}).sort_values(ascending=False)"
    return matrix


def _top(spec: QuerySpec) -> str:
    rows, measure = source(spec), spec.measures[0]
    number = spec.number or RANKED_SHOWN
    down = spec.order == "least"
    if spec.groups:
        return f"{rows}.groupby({keys(spec.groups)})[{quote(measure.key)}].{ranking_method(spec)}().sort_values(ascending={down}).head({number}).reset_index()"
    columns = shown_columns(spec)
    picked = f"[{list_of(columns)}]" if columns else ""
    if measure.numeric:
        return (
            f"{rows}.{'nsmallest' if down else 'nlargest'}({number}, {quote(measure.key)}){picked}"
        )
    return f"{rows}.sort_values({quote(measure.key)}, ascending={down}).head({number}){picked}"


def ranking_method(spec: QuerySpec) -> str:
    """Return the statistic by which groups are ranked: quantities are added up, all else is averaged."""
    additive = ADDITIVE & {token.stem for token in spec.measures[0].tokens}
    return spec.statistic or ("sum" if additive else "mean")


def shown_columns(spec: QuerySpec) -> tuple[Column, ...]:
    """Return the columns of a ranking: text columns and the measures, when the table has more than fit."""
    if len(spec.table.columns) <= WIDE:
        return ()
    words = [column for column in spec.table.categories if column not in spec.measures][:4]
    return (*words, *spec.measures)


def _head(spec: QuerySpec) -> str:
    columns = spec.measures + spec.groups
    picked = f"[{list_of(columns)}]" if columns else ""
    return f"{source(spec)}{picked}.{'tail' if spec.tail else 'head'}({spec.number or ROWS_SHOWN})"


def _describe(spec: QuerySpec) -> str:
    rows = source(spec)
    columns = spec.measures + spec.groups
    if len(columns) == 1:
        column = f"{rows}[{quote(columns[0].key)}]"
        return (
            f"{column}.describe()" if columns[0].numeric else f"{column}.value_counts(dropna=False)"
        )
    table = f"{rows}[{list_of(columns)}]" if columns else rows
    lines = [f'print(len({rows}), "rows,", {table}.isna().sum().sum(), "missing values")']
    chosen = columns or spec.table.columns
    if any(not c.numeric and not c.temporal for c in chosen):
        lines.append(f'print({table}.select_dtypes(exclude="number").nunique().to_string())')
    if any(column.numeric for column in chosen):
        lines.append(f'{table}.select_dtypes("number").agg(["count", "mean", "min", "max"]).T')
    return "\n".join(lines)


WRITERS: dict[str, Callable[[QuerySpec], str]] = {
    "statistic": _statistic,
    "count": _count,
    "share": lambda spec: (
        f"{source(spec)}[{keys((spec.groups or spec.measures)[:1])}].value_counts(normalize=True, dropna=False).mul(100)"
    ),
    "distinct": _distinct,
    "nunique": lambda spec: f"{source(spec)}[{keys((spec.measures + spec.groups)[:1])}].nunique()",
    "missing": _missing,
    "correlation": _correlation,
    "top": _top,
    "head": _head,
    "rows": lambda spec: f'print(len({source(spec)}), "rows")\n{source(spec)}',
    "describe": _describe,
    "shape": lambda spec: f"{source(spec)}.shape",
}

"""The code that computes a query, by its operation; that of a plot is in ``plot_code``."""
