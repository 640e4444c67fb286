"""Describe the numbers behind a plot in text; for any other result see ``result_text``."""

from palimpsest.model.rehearsal.generation.pandas_code import statistics_of
from palimpsest.model.rehearsal.generation.result_text import (
    NAMES,
    column_names,
    counted,
    extremes,
    grouped_rows,
    grouped_table,
    merged,
    numbers_text,
    titled,
    where,
)
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tables import Column
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, scalar, series, tidy

CHART_NAMES = {"hist": "histogram", "scatter": "scatter plot", "bar": "bar chart", "box": "box plot", "line": "line chart", "pie": "pie chart"}  # fmt: skip


def plot_text(spec: QuerySpec, result: ToolResult, chart: str) -> str | None:
    """Return the answer, or None when the output's numbers cannot be read."""
    kind = CHART_NAMES.get(chart, "plot")
    numbers = tuple(column for column in spec.measures if column.numeric)
    subject = column_names(numbers or spec.groups or spec.measures) or "every column of numbers"
    by = f" by {column_names(spec.groups)}" if spec.groups and numbers else ""
    body = _behind(spec, result, numbers, chart)
    if body is None:
        return None
    return f"I drew a {kind} of {subject}{by}{where(spec)}. The numbers behind it:\n\n{body}"


def _behind(
    spec: QuerySpec, result: ToolResult, numbers: tuple[Column, ...], chart: str
) -> str | None:
    """Describe the numbers that the plotting code returned."""
    if not numbers:
        columns = spec.groups or spec.measures
        if not columns:
            return numbers_text(result)
        if len(columns) > 1:
            headers = [*(column.label for column in columns), "rows"]
            return titled("", headers, grouped_rows(spec, result.value, ["count"]), len(columns))
        return counted(spec, result.value, column=columns[0])
    value = scalar(result.value)
    if value is not None:
        return f"The correlation (Pearson) of {column_names(numbers[:2])} is **{tidy(value)}**."
    if not spec.groups:
        return titled("", ["statistic", numbers[0].label], [*series(result.value)])
    plain = chart in {"line", "bar", "pie"} or spec.statistic or len(numbers) > 1
    headers = [c.label for c in numbers] if plain else statistics_of(spec)
    rows = grouped_rows(spec, result.value, headers)
    what = spec.statistic or "mean"
    shown = [f"{what} of {header}" for header in headers] if plain else headers
    at = 1 if plain or "mean" not in headers else 1 + headers.index("mean")
    what = what if plain or "mean" in headers else headers[0]
    below = extremes(merged(spec, rows), at, NAMES.get(what, what))
    return grouped_table(spec, "", shown, rows, below)
