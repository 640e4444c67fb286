"""Generate short matplotlib code for a query spec: a plot, and an expression for its numbers."""

from palimpsest.rehearsal.frame_questions.pandas_code import (
    STATISTICS_LIST,
    WRITERS,
    as_source,
    key_source,
    rows_source,
)
from palimpsest.rehearsal.frame_questions.query_spec import QuerySpec
from palimpsest.rehearsal.parsing.tables import Column


def write_code(spec: QuerySpec) -> str:
    """Return the code for a spec; that of a plot ends with an expression for the plot's numbers."""
    if spec.op != "plot":
        return WRITERS[spec.op](spec)
    drawing, numbers = plot_lines(spec)
    return "\n".join(["import matplotlib.pyplot as plt", "", *drawing, "plt.show()", numbers])


def chart_of(spec: QuerySpec) -> str:
    """Return the kind of chart for a spec: the requested one if the columns allow it."""
    numbers = [column for column in spec.measures if column.is_numeric]
    if not numbers:
        columns = spec.groups or spec.measures
        counted = spec.chart if spec.chart in {"pie", "line"} and len(columns) == 1 else "bar"
        return counted if columns else "hist"
    if len(numbers) >= 2 and not (spec.groups and spec.chart in {"bar", "line"}):
        return "line" if spec.chart == "line" else "scatter"
    if not spec.groups:
        return spec.chart if spec.chart in {"line", "box", "bar"} else "hist"
    chart = spec.chart or _usual_chart(spec)
    if chart == "scatter" and (len(spec.groups) > 1 or not spec.groups[0].is_numeric):
        return "box"
    return chart


def plot_lines(spec: QuerySpec) -> tuple[list[str], str]:
    """Return the lines that draw the plot, and the expression for its numbers."""
    numbers = tuple(c for c in spec.measures if c.is_numeric)
    if not numbers and (spec.groups or spec.measures):
        return _plot_counts(spec, spec.groups or spec.measures)
    if not numbers:
        rows = rows_source(spec)
        numbers_code = f'{rows}.select_dtypes("number").agg({STATISTICS_LIST}).T'
        return [f"{rows}.hist(figsize=(10, 6))"], numbers_code
    if len(numbers) >= 2 and not (spec.groups and spec.chart in {"bar", "line"}):
        return _plot_scatter(spec, numbers)
    if not spec.groups:
        return _plot_one(spec, numbers[0])
    return _plot_grouped(spec, numbers)


def _plot_counts(spec: QuerySpec, columns: tuple[Column, ...]) -> tuple[list[str], str]:
    counts_code = f"{rows_source(spec)}[{key_source(columns)}].value_counts()"
    if len(columns) > 1:
        drawing = [f'{counts_code}.unstack().plot.bar(ylabel="rows")']
        return drawing, f"{counts_code}.reset_index()"
    kind = chart_of(spec)
    label = "" if kind == "pie" else 'ylabel="rows"'
    return ["plt.figure()", f"{counts_code}.plot.{kind}({label})"], counts_code


def _plot_scatter(spec: QuerySpec, numbers: tuple[Column, ...]) -> tuple[list[str], str]:
    x, y = (numbers[1], numbers[0]) if spec.is_against else (numbers[0], numbers[1])
    rows = rows_code = rows_source(spec)
    colour = ""
    kind = chart_of(spec)
    if spec.groups and kind == "scatter":
        # As a category, so that the colour bar shows its names.
        name = as_source(spec.groups[0].key)
        rows_code = f'{rows}.astype({{{name}: "category"}})'
        colour = f', c={name}, colormap="viridis"'
    drawing = [f"{rows_code}.plot.{kind}(x={as_source(x.key)}, y={as_source(y.key)}{colour})"]
    return drawing, f"{rows}[{as_source(x.key)}].corr({rows}[{as_source(y.key)}])"


def _plot_one(spec: QuerySpec, measure: Column) -> tuple[list[str], str]:
    column = f"{rows_source(spec)}[{as_source(measure.key)}]"
    label = as_source(measure.label)
    call = {
        "line": f"plot.line(ylabel={label})",
        "box": f"plot.box(title={label})",
        "bar": f"plot.bar(ylabel={label})",
    }
    drawn = call.get(spec.chart or "", f"plot.hist(bins=20, title={label})")
    drawing = ["plt.figure()", f"{column}.{drawn}"]
    return drawing, f"{column}.agg({STATISTICS_LIST})"


def _plot_grouped(spec: QuerySpec, numbers: tuple[Column, ...]) -> tuple[list[str], str]:
    rows, measure = rows_source(spec), numbers[0]
    grouped = f"{rows}.groupby({key_source(spec.groups)})"
    chart = chart_of(spec)
    method = spec.statistic or "mean"
    if chart == "scatter":
        drawing = [
            f"{rows}.plot.scatter(x={as_source(spec.groups[0].key)}, y={as_source(measure.key)})"
        ]
    elif chart in {"box", "hist"}:
        call = "boxplot" if chart == "box" else "hist"
        drawing = [f"{rows}.{call}(column={as_source(measure.key)}, by={key_source(spec.groups)})"]
    else:
        columns_code = f"[{key_source(numbers)}]"
        spread = ".unstack()" if len(spec.groups) > 1 else ""
        kind = chart if chart in {"line", "pie"} else "bar"
        label = as_source(f"{method} of {measure.label}" if len(numbers) == 1 else method)
        drawing = ["plt.figure()"] if len(numbers) == 1 and not spread else []
        drawing.append(f"{grouped}{columns_code}.{method}(){spread}.plot.{kind}(ylabel={label})")
    if len(numbers) > 1 or spec.statistic or chart in {"line", "bar", "pie"}:
        return drawing, f"{grouped}[{key_source(numbers)}].{method}().reset_index()"
    return drawing, f"{grouped}[{as_source(measure.key)}].agg({STATISTICS_LIST}).reset_index()"


def _usual_chart(spec: QuerySpec) -> str:
    group = spec.groups[0]
    if len(spec.groups) > 1 or spec.statistic:
        return "line" if group.is_temporal and len(spec.groups) == 1 else "bar"
    if group.is_temporal or group.dtype.lower().startswith(("int", "uint")):
        return "line"
    return "scatter" if group.is_numeric else "box"
