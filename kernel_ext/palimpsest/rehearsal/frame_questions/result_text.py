"""Describe the result of generated code in text.

An answer states only numbers that the output shows; output that cannot be parsed with certainty is quoted.
"""

from collections.abc import Callable, Sequence

from palimpsest.rehearsal.frame_questions.filters import Filter
from palimpsest.rehearsal.frame_questions.pandas_code import STATISTICS, shown_columns
from palimpsest.rehearsal.frame_questions.query_spec import QuerySpec
from palimpsest.rehearsal.parsing import tool_outputs
from palimpsest.rehearsal.parsing.tables import Column
from palimpsest.rehearsal.parsing.tool_outputs import (
    ToolResult,
    frame_rows,
    inline_code,
    series_items,
    shortened_number,
    single_value,
    text_block,
)

MAX_TABLE_ROWS = 15
MAX_ROWS_LINES = 14
"""Maximum lines quoted of printed rows."""
STATISTIC_NAMES = {"mean": "mean", "median": "median", "sum": "sum", "min": "smallest value", "max": "largest value", "std": "standard deviation", "var": "variance"}  # fmt: skip
CHART_NAMES = {"hist": "histogram", "scatter": "scatter plot", "bar": "bar chart", "box": "box plot", "line": "line chart", "pie": "pie chart"}  # fmt: skip
OPERATOR_WORDS = {"==": "is", ">": "is over", ">=": "is at least", "<": "is under", "<=": "is at most", "in": "is one of"}  # fmt: skip
TextRows = list[tuple[str, ...]]
EMPTY_RESULTS = ("Empty DataFrame", "Series([]")
"""Beginnings of pandas' output for a result without rows."""


def table_text(spec: QuerySpec, result: ToolResult) -> str | None:
    """Return the answer, or None when the output's numbers cannot be read."""
    if spec.op not in {"rows", "describe"} and result.value.startswith(EMPTY_RESULTS):
        return f"Nothing fits{filters_text(spec)}."
    return _WRITER_BY_OPERATION[spec.op](spec, result)


def filters_text(spec: QuerySpec) -> str:
    """Return the table and the filters as text, such as `` in `penguins` where `species` is `Adelie` ``."""
    text = f" in {inline_code(spec.table.name)}"
    joined_filters = " and ".join(map(_filter_text, spec.filters))
    return f"{text} where {joined_filters}" if joined_filters else text


def _filter_text(column_filter: Filter) -> str:
    values = column_filter.value if isinstance(column_filter.value, list) else [column_filter.value]
    values_text = ", ".join(inline_code(value) for value in values)
    return f"{inline_code(column_filter.column.label)} {OPERATOR_WORDS[column_filter.operator]} {values_text}"


def column_names(columns: Sequence[Column]) -> str:
    """Return the columns' names as code, joined by commas and *and*."""
    labels = [inline_code(column.label) for column in columns]
    return " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]])) if labels else ""


def markdown_table(headers: Sequence[str], rows: TextRows, label_count: int = 1) -> str:
    """Return a Markdown table of at most ``MAX_TABLE_ROWS`` rows; the numbers after the first ``label_count`` cells are shortened."""
    lines = [_markdown_row(headers), _markdown_row(["---"] * len(headers))]
    lines += [
        _markdown_row((*row[:label_count], *map(shortened_number, row[label_count:])))
        for row in rows[:MAX_TABLE_ROWS]
    ]
    if len(rows) > MAX_TABLE_ROWS:
        lines.append("")
        lines.append(f"The output above holds {len(rows) - MAX_TABLE_ROWS} rows more.")
    return "\n".join(lines)


def titled_table(
    title: str, headers: Sequence[str], rows: TextRows, label_count: int = 1, text_below: str = ""
) -> str | None:
    """Return a table with a title above it and a text below it; None without rows."""
    parts = (title, markdown_table(headers, rows, label_count), text_below)
    return "\n\n".join(part for part in parts if part) if rows else None


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped_cell(cell) for cell in cells) + " |"


def _escaped_cell(text: str) -> str:
    for char in "\\`*_<>[]|$~":
        text = text.replace(char, "\\" + char)
    return " ".join(text.split())


def extremes_text(rows: TextRows, column_index: int, subject: str) -> str:
    """Return a sentence that names the rows with the highest and the lowest number of a column."""
    numbered_rows = [
        (float(row[column_index].replace(",", "")), row)
        for row in rows
        if _is_number(row[column_index])
    ]
    if len(numbered_rows) < 2:
        return ""
    lowest_number, highest_number = (
        min(number for number, _ in numbered_rows),
        max(number for number, _ in numbered_rows),
    )
    if lowest_number == highest_number:
        return f"All have the same {subject}, as it is printed: {shortened_number(numbered_rows[0][1][column_index])}."
    highest, lowest = (
        [row for number, row in numbered_rows if number == extreme]
        for extreme in (highest_number, lowest_number)
    )
    return f"Highest {subject}: {_first_row_text(highest, column_index)}; lowest: {_first_row_text(lowest, column_index)}."


def _first_row_text(rows: TextRows, column_index: int) -> str:
    """Return the label of the first of the rows that share a number, the number of further rows, and the shared number."""
    more_text = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{inline_code(rows[0][0])}{more_text} ({shortened_number(rows[0][column_index])})"


def _is_number(text: str) -> bool:
    try:
        return float(text.replace(",", "")) == float(text.replace(",", ""))
    except ValueError:
        return False


def _statistic_text(spec: QuerySpec, result: ToolResult) -> str | None:
    if spec.groups:
        return _grouped_text(spec, result)
    name = STATISTIC_NAMES.get(spec.statistic or "", spec.statistic or "value")
    value = single_value(result.value)
    if len(spec.measures) == 1 and value is not None:
        return f"The {name} of {column_names(spec.measures)}{filters_text(spec)} is **{shortened_number(value)}**."
    rows: TextRows = [*series_items(result.value)]
    return titled_table(f"The {name} of each column{filters_text(spec)}:", ["column", name], rows)


def _grouped_text(spec: QuerySpec, result: ToolResult) -> str | None:
    if not spec.measures:
        return f"The {spec.statistic} of every column of numbers by {column_names(spec.groups)}{filters_text(spec)}:\n\n{text_block(result.value)}"
    has_summary = spec.statistic is None and len(spec.measures) == 1
    headers = [*STATISTICS] if has_summary else [column.label for column in spec.measures]
    rows = grouped_rows(spec, result.value, headers)
    subject, column_index = _comparison_column(spec, headers)
    statistic_name = (
        STATISTIC_NAMES.get(spec.statistic, spec.statistic) if spec.statistic else "summary"
    )
    title = f"{statistic_name.capitalize()} of {column_names(spec.measures)} by {column_names(spec.groups)}{filters_text(spec)}:"
    shown_headers = (
        [f"{spec.statistic} of {header}" for header in headers] if spec.statistic else headers
    )
    return grouped_table(
        spec,
        title,
        shown_headers,
        rows,
        extremes_text(joined_groups(spec, rows), column_index + 1, subject),
    )


def grouped_table(
    spec: QuerySpec, title: str, headers: Sequence[str], rows: TextRows, text_below: str = ""
) -> str | None:
    """Return a Markdown table whose first columns are the groups; None without rows."""
    labels = [column.label for column in spec.groups]
    return titled_table(title, [*labels, *headers], rows, len(labels), text_below)


def _comparison_column(spec: QuerySpec, headers: Sequence[str]) -> tuple[str, int]:
    """Return the name of the statistic by which groups are compared, and its column's index in the headers."""
    if spec.statistic:
        column_text = f" of {inline_code(headers[0])}" if len(headers) > 1 else ""
        return f"{STATISTIC_NAMES.get(spec.statistic, spec.statistic)}{column_text}", 0
    return "mean", headers.index("mean")


def joined_groups(spec: QuerySpec, rows: TextRows) -> TextRows:
    """Return the rows with the groups of each joined in its first cell."""
    label_count = len(spec.groups)
    return [(", ".join(row[:label_count]), *row[label_count:]) for row in rows]


def grouped_rows(spec: QuerySpec, text: str, headers: Sequence[str]) -> TextRows:
    """Parse the rows of a grouped result, numbers as printed; an empty list when that is not certain."""
    labels = [column.label for column in spec.groups]
    names = [*labels, *headers]
    rows = frame_rows(text, names) if len(set(names)) == len(names) else None
    if not rows:
        return []
    return [(*(row[label] for label in labels), *(row[h] for h in headers)) for row in rows]


def _count_text(spec: QuerySpec, result: ToolResult) -> str | None:
    if len(spec.groups) > 1:
        rows = grouped_rows(spec, result.value, ["count"])
        title = f"Rows by {column_names(spec.groups)}{filters_text(spec)}:"
        return grouped_table(spec, title, ["rows"], rows)
    if spec.groups:
        return counts_text(spec, result.value)
    value = single_value(result.value)
    if value is None:
        return None
    if spec.measures:
        return f"There are **{value}** values of {column_names(spec.measures)}{filters_text(spec)} (missing ones are not counted)."
    filters_only = filters_text(spec).removeprefix(f" in {inline_code(spec.table.name)}")
    return f"{inline_code(spec.table.name)} has **{value}** rows{filters_only}."


def counts_text(spec: QuerySpec, text: str) -> str | None:
    """Return a text for the printed counts of a column's values: of the first group, else of the first measure."""
    column = (spec.groups or spec.measures)[0]
    rows: TextRows = [
        (label if label not in {"NaN", "<NA>", "None", "NaT"} else "(missing)", value)
        for label, value in series_items(text)
    ]
    title = f"Rows by {inline_code(column.label)}{filters_text(spec)}:"
    extremes = extremes_text([row for row in rows if row[0] != "(missing)"], 1, "count")
    return titled_table(title, [column.label, "rows"], rows, text_below=extremes)


def _distinct_text(spec: QuerySpec, result: ToolResult) -> str | None:
    if spec.groups + spec.measures:
        return counts_text(spec, result.value)
    title = f"Different values of each column{filters_text(spec)}:"
    return titled_table(title, ["column", "different values"], [*series_items(result.value)])


def _nunique_text(spec: QuerySpec, result: ToolResult) -> str | None:
    value, name = single_value(result.value), column_names((spec.measures + spec.groups)[:1])
    return f"{name} has **{value}** different values{filters_text(spec)}." if value else None


def _missing_text(spec: QuerySpec, result: ToolResult) -> str | None:
    value = single_value(result.value)
    columns = spec.measures + spec.groups
    if value is not None and len(columns) == 1:
        return f"{column_names(columns)} has **{value}** missing values{filters_text(spec)}."
    title = f"Missing values of each column{filters_text(spec)}:"
    return titled_table(title, ["column", "missing"], [*series_items(result.value)])


def _correlation_text(spec: QuerySpec, result: ToolResult) -> str | None:
    numeric_columns = [column for column in spec.measures + spec.groups if column.is_numeric]
    if len(numeric_columns) == 2:
        value = single_value(result.value)
        subject = (
            f"The correlation (Pearson) of {column_names(numeric_columns)}{filters_text(spec)}"
        )
        return f"{subject} is **{shortened_number(value)}**." if value else None
    return f"Correlations (Pearson) of all columns of numbers{filters_text(spec)}:\n\n{text_block(result.value)}"


def _top_text(spec: QuerySpec, result: ToolResult) -> str | None:
    measure = spec.measures[0]
    extreme = "smallest" if spec.order == "least" else "largest"
    labels = [column.label for column in (shown_columns(spec) or spec.table.columns)]
    rows = frame_rows(result.value, labels) if len(set(labels)) == len(labels) else None
    text = f"Rows{filters_text(spec)} with the {extreme} {column_names(spec.measures)}:\n\n"
    if not rows:
        return text + text_block(result.value)
    extreme_value = rows[0][measure.label]
    return (
        f"The {extreme} {column_names(spec.measures)}{filters_text(spec)} is **{shortened_number(extreme_value)}**.\n\n{text}"
        + markdown_table(labels, [tuple(row[h] for h in labels) for row in rows], 0)
    )


def _rows_text(spec: QuerySpec, result: ToolResult) -> str | None:
    count, name = result.stdout.strip(), inline_code(spec.table.name)
    count_text = (
        f"**{count}** fit{filters_text(spec)}" if spec.filters else f"{name} has **{count}**"
    )
    return f"{count_text}:\n\n{text_block(result.value, max_lines=MAX_ROWS_LINES)}"


def _describe_text(spec: QuerySpec, result: ToolResult) -> str | None:
    columns = spec.measures + spec.groups
    if len(columns) == 1:
        if not columns[0].is_numeric:
            return counts_text(spec, result.value)
        title = f"{column_names(columns)}{filters_text(spec)}:"
        headers = ["statistic", columns[0].label]
        return titled_table(title, headers, [*series_items(result.value)])
    row_count_text, _, value_counts_text = result.stdout.partition("\n")
    parts = [
        f"{inline_code(spec.table.name)} has **{row_count_text.strip()}** and {len(columns or spec.table.columns)} columns."
    ]
    value_counts = series_items(value_counts_text)[:MAX_TABLE_ROWS]
    if value_counts:
        count_lines = (
            f"- {inline_code(label)}: {count} different values" for label, count in value_counts
        )
        parts.append("\n".join(count_lines))
    if result.value.strip():
        parts.append(statistics_text(result))
    return "\n\n".join(parts)


def statistics_text(result: ToolResult) -> str:
    """Return the statistics of several columns as a table, or as they were printed."""
    rows = frame_rows(result.value, STATISTICS, has_index=True) or []
    cells = [(row[tool_outputs.INDEX_KEY], *(row[name] for name in STATISTICS)) for row in rows]
    return markdown_table(["column", *STATISTICS], cells) if cells else text_block(result.value)


def _shape_text(spec: QuerySpec, result: ToolResult) -> str | None:
    dimensions = tool_outputs.number_pair(result.value)
    if len(dimensions) != 2:
        return None
    return f"{inline_code(spec.table.name)} has **{dimensions[0]}** rows and **{dimensions[1]}** columns."


_WRITER_BY_OPERATION: dict[str, Callable[[QuerySpec, ToolResult], str | None]] = {
    "statistic": _statistic_text,
    "count": _count_text,
    "distinct": _distinct_text,
    "nunique": _nunique_text,
    "missing": _missing_text,
    "correlation": _correlation_text,
    "top": _top_text,
    "head": lambda spec, result: (
        f"{'Last' if spec.is_tail else 'First'} rows{filters_text(spec)}:\n\n{text_block(result.value)}"
    ),
    "rows": _rows_text,
    "describe": _describe_text,
    "shape": _shape_text,
}


def plot_text(spec: QuerySpec, result: ToolResult, chart: str) -> str | None:
    """Return the answer, or None when the output's numbers cannot be read."""
    chart_name = CHART_NAMES.get(chart, "plot")
    numeric_columns = tuple(column for column in spec.measures if column.is_numeric)
    subject = (
        column_names(numeric_columns or spec.groups or spec.measures) or "every column of numbers"
    )
    groups_text = f" by {column_names(spec.groups)}" if spec.groups and numeric_columns else ""
    body = _plotted_numbers(spec, result, numeric_columns, chart)
    if body is None:
        return None
    return f"I drew a {chart_name} of {subject}{groups_text}{filters_text(spec)}. The numbers behind it:\n\n{body}"


def _plotted_numbers(
    spec: QuerySpec, result: ToolResult, numeric_columns: tuple[Column, ...], chart: str
) -> str | None:
    """Return a text with the numbers that the plotting code returned."""
    if not numeric_columns:
        columns = spec.groups or spec.measures
        if not columns:
            return statistics_text(result)
        if len(columns) > 1:
            headers = [*(column.label for column in columns), "rows"]
            return titled_table(
                "", headers, grouped_rows(spec, result.value, ["count"]), len(columns)
            )
        return counts_text(spec, result.value)
    value = single_value(result.value)
    if value is not None:
        return f"The correlation (Pearson) of {column_names(numeric_columns[:2])} is **{shortened_number(value)}**."
    if not spec.groups:
        return titled_table(
            "", ["statistic", numeric_columns[0].label], [*series_items(result.value)]
        )
    has_one_statistic = (
        chart in {"line", "bar", "pie"} or spec.statistic or len(numeric_columns) > 1
    )
    headers = [c.label for c in numeric_columns] if has_one_statistic else [*STATISTICS]
    rows = grouped_rows(spec, result.value, headers)
    statistic_name = spec.statistic or "mean"
    shown_headers = (
        [f"{statistic_name} of {header}" for header in headers] if has_one_statistic else headers
    )
    column_index = 1 if has_one_statistic else 1 + STATISTICS.index("mean")
    extremes = extremes_text(
        joined_groups(spec, rows), column_index, STATISTIC_NAMES.get(statistic_name, statistic_name)
    )
    return grouped_table(spec, "", shown_headers, rows, extremes)
