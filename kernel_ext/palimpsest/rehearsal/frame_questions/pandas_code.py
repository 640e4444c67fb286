"""Write short pandas code for a spec.

Names of columns and values are inserted by ``repr``. The code only reads; it never deletes or
overwrites, and defines no name except an import.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.rehearsal.frame_questions.filters import Filter
from palimpsest.rehearsal.frame_questions.query_spec import QuerySpec
from palimpsest.rehearsal.parsing.tables import Column

DEFAULT_ROWS = 5
DEFAULT_RANKED_ROWS = 10
STATISTICS = ("count", "mean", "min", "max")
"""The statistics of a measure where the prompt names none."""
STATISTICS_LIST = str([*STATISTICS]).replace("'", '"')
"""``STATISTICS`` as Python source."""
MAX_RANKED_CATEGORIES = 4
"""Maximum text columns that a ranking of a wide table shows."""
MAX_LINE_COLUMNS = 6
"""Maximum columns that fit a line; rankings of a wider table show only the relevant columns."""


def as_source(value: Any) -> str:
    """Return a value as Python source, text in double quotes where that needs no escaping."""
    text = repr(value)
    if text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def rows_source(spec: QuerySpec) -> str:
    """Return the expression for the rows that the spec selects."""
    table_name = spec.table.name
    if not spec.filters:
        return table_name
    conditions = [_condition_code(table_name, condition) for condition in spec.filters]
    mask_code = (
        conditions[0]
        if len(conditions) == 1
        else " & ".join(f"({condition_code})" for condition_code in conditions)
    )
    return f"{table_name}[{mask_code}]"


def _condition_code(table_name: str, condition: Filter) -> str:
    column_code = f"{table_name}[{as_source(condition.column.key)}]"
    if condition.operator == "in":
        return f"{column_code}.isin([{', '.join(as_source(value) for value in condition.value)}])"
    return f"{column_code} {condition.operator} {as_source(condition.value)}"


def key_source(columns: tuple[Column, ...]) -> str:
    """Return one key, or a list of keys, as source."""
    return as_source(columns[0].key) if len(columns) == 1 else key_list_source(columns)


def key_list_source(columns: tuple[Column, ...]) -> str:
    """Return a list of keys as source, also for a single key."""
    return f"[{', '.join(as_source(column.key) for column in columns)}]"


def _statistic_code(spec: QuerySpec) -> str:
    rows_code = rows_source(spec)
    is_single = len(spec.measures) == 1
    columns_code = f"[{key_source(spec.measures)}]" if spec.measures else ""
    if not spec.groups:
        arguments_code = "" if spec.measures else "numeric_only=True"
        return f"{rows_code}{columns_code}.{spec.statistic}({arguments_code})"
    grouping_code = f"{rows_code}.groupby({key_source(spec.groups)})"
    if spec.statistic is None:
        return f"{grouping_code}{columns_code}.agg({STATISTICS_LIST}).reset_index()"
    if not spec.measures:
        return f"{grouping_code}.{spec.statistic}(numeric_only=True).reset_index()"
    is_ascending, sort_key = spec.order == "least", as_source(spec.measures[0].key)
    sort_code = (
        f".sort_values({sort_key}, ascending={is_ascending})" if is_single and spec.order else ""
    )
    return f"{grouping_code}{columns_code}.{spec.statistic}().reset_index(){sort_code}"


def _count_code(spec: QuerySpec) -> str:
    rows_code = rows_source(spec)
    if spec.groups:
        is_single = len(spec.groups) == 1
        order_code = ", ascending=True" if spec.order == "least" and is_single else ""
        counts_code = (
            f"{rows_code}[{key_source(spec.groups)}].value_counts(dropna=False{order_code})"
        )
        return counts_code if is_single else f"{counts_code}.reset_index()"
    if spec.measures:
        return f"{rows_code}[{key_source(spec.measures)}].count()"
    return f"len({rows_code})"


def _distinct_code(spec: QuerySpec) -> str:
    columns = spec.groups + spec.measures
    if not columns:
        return f"{rows_source(spec)}.nunique()"
    return f"{rows_source(spec)}[{key_source(columns[:1])}].value_counts(dropna=False)"


def _missing_code(spec: QuerySpec) -> str:
    columns = spec.measures + spec.groups
    selection_code = f"[{key_source(columns)}]" if columns else ""
    return f"{rows_source(spec)}{selection_code}.isna().sum()"


def _correlation_code(spec: QuerySpec) -> str:
    rows_code, numeric_columns = (
        rows_source(spec),
        tuple(c for c in spec.measures + spec.groups if c.is_numeric),
    )
    if len(numeric_columns) == 2:
        return f"{rows_code}[{as_source(numeric_columns[0].key)}].corr({rows_code}[{as_source(numeric_columns[1].key)}])"
    return f"{rows_code}.corr(numeric_only=True)"


def _top_code(spec: QuerySpec) -> str:
    rows_code, measure = rows_source(spec), spec.measures[0]
    number = spec.number or DEFAULT_RANKED_ROWS
    is_ascending = spec.order == "least"
    columns = shown_columns(spec)
    selection_code = f"[{key_list_source(columns)}]" if columns else ""
    if measure.is_numeric:
        return f"{rows_code}.{'nsmallest' if is_ascending else 'nlargest'}({number}, {as_source(measure.key)}){selection_code}"
    return f"{rows_code}.sort_values({as_source(measure.key)}, ascending={is_ascending}).head({number}){selection_code}"


def shown_columns(spec: QuerySpec) -> tuple[Column, ...]:
    """Return the columns of a ranking: text columns and the measures, where not all columns fit."""
    if len(spec.table.columns) <= MAX_LINE_COLUMNS:
        return ()
    categories = [column for column in spec.table.categories if column not in spec.measures]
    return (*categories[:MAX_RANKED_CATEGORIES], *spec.measures)


def _head_code(spec: QuerySpec) -> str:
    columns = spec.measures + spec.groups
    selection_code = f"[{key_list_source(columns)}]" if columns else ""
    return f"{rows_source(spec)}{selection_code}.{'tail' if spec.is_tail else 'head'}({spec.number or DEFAULT_ROWS})"


def _describe_code(spec: QuerySpec) -> str:
    rows_code = rows_source(spec)
    columns = spec.measures + spec.groups
    if len(columns) == 1:
        method = "describe()" if columns[0].is_numeric else "value_counts(dropna=False)"
        return f"{rows_code}[{as_source(columns[0].key)}].{method}"
    table_code = f"{rows_code}[{key_list_source(columns)}]" if columns else rows_code
    lines = [f'print(len({rows_code}), "rows,", {table_code}.isna().sum().sum(), "missing values")']
    described_columns = columns or spec.table.columns
    if any(c.is_text for c in described_columns):
        lines.append(f'print({table_code}.select_dtypes(exclude="number").nunique().to_string())')
    if any(column.is_numeric for column in described_columns):
        lines.append(f'{table_code}.select_dtypes("number").agg({STATISTICS_LIST}).T')
    return "\n".join(lines)


WRITER_BY_OPERATION: dict[str, Callable[[QuerySpec], str]] = {
    "statistic": _statistic_code,
    "count": _count_code,
    "distinct": _distinct_code,
    "nunique": lambda spec: (
        f"{rows_source(spec)}[{key_source((spec.measures + spec.groups)[:1])}].nunique()"
    ),
    "missing": _missing_code,
    "correlation": _correlation_code,
    "top": _top_code,
    "head": _head_code,
    "rows": lambda spec: f'print(len({rows_source(spec)}), "rows")\n{rows_source(spec)}',
    "describe": _describe_code,
    "shape": lambda spec: f"{rows_source(spec)}.shape",
}
"""Functions that write the code of a query, by operation; plots are in ``plot_code``."""
