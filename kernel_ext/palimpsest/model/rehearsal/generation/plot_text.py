"""Describe the numbers behind a plot in text; any other result goes to ``result_text``."""

from palimpsest.model.rehearsal.generation.pandas_code import statistics_of
from palimpsest.model.rehearsal.generation.result_text import (
    NAMES,
    column_names,
    counted,
    extremes,
    grouped_rows,
    merged,
    table,
    table_text,
    where,
)
from palimpsest.model.rehearsal.parsing import tool_outputs
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tables import Column
from palimpsest.model.rehearsal.parsing.tool_outputs import (
    ToolResult,
    frame,
    quoted,
    scalar,
    series,
    tidy,
)

CHART_NAMES = {"hist": "histogram", "scatter": "scatter plot", "bar": "bar chart", "box": "box plot", "line": "line chart", "pie": "pie chart"}  # fmt: skip


def plot_result_text(spec: QuerySpec, result: ToolResult, chart: str | None = None) -> str | None:
    """Return the answer, or None when the output's numbers cannot be read."""
    return _plot(spec, result, chart) if spec.op == "plot" else table_text(spec, result)


def _plot(spec: QuerySpec, result: ToolResult, chart: str | None) -> str | None:
    kind = CHART_NAMES.get(chart or "", "plot")
    numbers = tuple(column for column in spec.measures if column.numeric)
    subject = column_names(numbers or spec.groups or spec.measures) or "every column of numbers"
    by = f" by {column_names(spec.groups)}" if spec.groups and numbers else ""
    body = _behind(spec, result, numbers, chart)
    if body is None:
        return None
    return f"I drew a {kind} of {subject}{by}{where(spec)}. The numbers behind it:\n\n{body}"


def _behind(
    spec: QuerySpec, result: ToolResult, numbers: tuple[Column, ...], chart: str | None
) -> str | None:
    """Describe the numbers that the plotting code returned."""
    if not numbers:
        columns = spec.groups or spec.measures
        if not columns:
            found = frame(result.value, ["count", "mean", "min", "max"], labelled=True)
            cells = [
                (row[tool_outputs.INDEX], *(row[h] for h in ("count", "mean", "min", "max")))
                for row in found or []
            ]
            return (
                table(["column", "count", "mean", "min", "max"], cells)
                if cells
                else quoted(result.value)
            )
        if len(columns) > 1:
            rows = grouped_rows(spec, result.value, ["count"])
            headers = [*(column.label for column in columns), "rows"]
            return table(headers, rows, len(columns)) if rows else None
        return counted(spec, result.value, column=columns[0])
    value = scalar(result.value)
    if value is not None:
        return f"The correlation (Pearson) of {column_names(numbers[:2])} is **{tidy(value)}**."
    if not spec.groups:
        rows = [*series(result.value)]
        return table(["statistic", numbers[0].label], rows) if rows else None
    plain = chart in {"line", "bar", "pie"} or spec.statistic or len(numbers) > 1
    headers = [c.label for c in numbers] if plain else statistics_of(spec)
    rows = grouped_rows(spec, result.value, headers)
    if not rows:
        return None
    what = spec.statistic or "mean"
    labels = [column.label for column in spec.groups]
    shown = [f"{what} of {header}" for header in headers] if plain else headers
    at = 1 if plain or "mean" not in headers else 1 + headers.index("mean")
    what = what if plain or "mean" in headers else headers[0]
    return "\n\n".join(
        [
            table([*labels, *shown], rows, len(labels)),
            extremes([merged(row, len(labels)) for row in rows], at, NAMES.get(what, what)),
        ]
    ).strip()
