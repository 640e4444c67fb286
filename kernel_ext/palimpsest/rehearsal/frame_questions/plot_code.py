"""Generate short matplotlib code for a query spec: a plot, and an expression for its numbers."""

from palimpsest.rehearsal.frame_questions.pandas_code import (
    STATISTICS_LIST,
    WRITER_BY_OPERATION,
    as_source,
    key_source,
    rows_source,
)
from palimpsest.rehearsal.frame_questions.query_spec import QuerySpec
from palimpsest.rehearsal.parsing.tables import Column


def write_code(spec: QuerySpec) -> str:
    """Return the code for a spec; that of a plot ends with an expression for the plot's numbers."""
    if spec.op != "plot":
        return WRITER_BY_OPERATION[spec.op](spec)
    drawing_lines, numbers_code = plot_lines(spec)
    return "\n".join(
        ["import matplotlib.pyplot as plt", "", *drawing_lines, "plt.show()", numbers_code]
    )


def chart_of(spec: QuerySpec) -> str:
    """Return the kind of chart for a spec: as requested, if the columns allow it."""
    numeric_columns = [column for column in spec.measures if column.is_numeric]
    if not numeric_columns:
        columns = spec.groups or spec.measures
        count_chart = spec.chart if spec.chart in {"pie", "line"} and len(columns) == 1 else "bar"
        return count_chart if columns else "hist"
    if len(numeric_columns) >= 2 and not (spec.groups and spec.chart in {"bar", "line"}):
        return "line" if spec.chart == "line" else "scatter"
    if not spec.groups:
        return spec.chart if spec.chart in {"line", "box", "bar"} else "hist"
    chart = spec.chart or _usual_chart(spec)
    if chart == "scatter" and (len(spec.groups) > 1 or not spec.groups[0].is_numeric):
        return "box"
    return chart


def plot_lines(spec: QuerySpec) -> tuple[list[str], str]:
    """Return the lines that draw the plot, and the expression for its numbers."""
    numeric_columns = tuple(c for c in spec.measures if c.is_numeric)
    if not numeric_columns and (spec.groups or spec.measures):
        return _plot_counts(spec, spec.groups or spec.measures)
    if not numeric_columns:
        rows_code = rows_source(spec)
        numbers_code = f'{rows_code}.select_dtypes("number").agg({STATISTICS_LIST}).T'
        return [f"{rows_code}.hist(figsize=(10, 6))"], numbers_code
    if len(numeric_columns) >= 2 and not (spec.groups and spec.chart in {"bar", "line"}):
        return _plot_scatter(spec, numeric_columns)
    if not spec.groups:
        return _plot_measure(spec, numeric_columns[0])
    return _plot_grouped(spec, numeric_columns)


def _plot_counts(spec: QuerySpec, columns: tuple[Column, ...]) -> tuple[list[str], str]:
    counts_code = f"{rows_source(spec)}[{key_source(columns)}].value_counts()"
    if len(columns) > 1:
        drawing_lines = [f'{counts_code}.unstack().plot.bar(ylabel="rows")']
        return drawing_lines, f"{counts_code}.reset_index()"
    chart = chart_of(spec)
    label = "" if chart == "pie" else 'ylabel="rows"'
    return ["plt.figure()", f"{counts_code}.plot.{chart}({label})"], counts_code


def _plot_scatter(spec: QuerySpec, numeric_columns: tuple[Column, ...]) -> tuple[list[str], str]:
    x, y = (
        (numeric_columns[1], numeric_columns[0])
        if spec.is_against
        else (numeric_columns[0], numeric_columns[1])
    )
    rows_code = plotted_code = rows_source(spec)
    colour_code = ""
    chart = chart_of(spec)
    if spec.groups and chart == "scatter":
        # As a category, so that the colour bar shows its names.
        group_code = as_source(spec.groups[0].key)
        plotted_code = f'{rows_code}.astype({{{group_code}: "category"}})'
        colour_code = f', c={group_code}, colormap="viridis"'
    drawing_lines = [
        f"{plotted_code}.plot.{chart}(x={as_source(x.key)}, y={as_source(y.key)}{colour_code})"
    ]
    return drawing_lines, f"{rows_code}[{as_source(x.key)}].corr({rows_code}[{as_source(y.key)}])"


def _plot_measure(spec: QuerySpec, measure: Column) -> tuple[list[str], str]:
    column_code = f"{rows_source(spec)}[{as_source(measure.key)}]"
    label = as_source(measure.label)
    method_by_chart = {
        "line": f"plot.line(ylabel={label})",
        "box": f"plot.box(title={label})",
        "bar": f"plot.bar(ylabel={label})",
    }
    method_code = method_by_chart.get(spec.chart or "", f"plot.hist(bins=20, title={label})")
    drawing_lines = ["plt.figure()", f"{column_code}.{method_code}"]
    return drawing_lines, f"{column_code}.agg({STATISTICS_LIST})"


def _plot_grouped(spec: QuerySpec, numeric_columns: tuple[Column, ...]) -> tuple[list[str], str]:
    rows_code, measure = rows_source(spec), numeric_columns[0]
    grouping_code = f"{rows_code}.groupby({key_source(spec.groups)})"
    chart = chart_of(spec)
    method = spec.statistic or "mean"
    if chart == "scatter":
        drawing_lines = [
            f"{rows_code}.plot.scatter(x={as_source(spec.groups[0].key)}, y={as_source(measure.key)})"
        ]
    elif chart in {"box", "hist"}:
        method_name = "boxplot" if chart == "box" else "hist"
        drawing_lines = [
            f"{rows_code}.{method_name}(column={as_source(measure.key)}, by={key_source(spec.groups)})"
        ]
    else:
        columns_code = f"[{key_source(numeric_columns)}]"
        unstack_code = ".unstack()" if len(spec.groups) > 1 else ""
        plot_method = chart if chart in {"line", "pie"} else "bar"
        label = as_source(f"{method} of {measure.label}" if len(numeric_columns) == 1 else method)
        drawing_lines = ["plt.figure()"] if len(numeric_columns) == 1 and not unstack_code else []
        drawing_lines.append(
            f"{grouping_code}{columns_code}.{method}(){unstack_code}.plot.{plot_method}(ylabel={label})"
        )
    if len(numeric_columns) > 1 or spec.statistic or chart in {"line", "bar", "pie"}:
        return (
            drawing_lines,
            f"{grouping_code}[{key_source(numeric_columns)}].{method}().reset_index()",
        )
    return (
        drawing_lines,
        f"{grouping_code}[{as_source(measure.key)}].agg({STATISTICS_LIST}).reset_index()",
    )


def _usual_chart(spec: QuerySpec) -> str:
    group = spec.groups[0]
    if len(spec.groups) > 1 or spec.statistic:
        return "line" if group.is_temporal and len(spec.groups) == 1 else "bar"
    if group.is_temporal or group.dtype.lower().startswith(("int", "uint")):
        return "line"
    return "scatter" if group.is_numeric else "box"
