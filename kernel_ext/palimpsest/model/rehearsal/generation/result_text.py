"""Describe the result of generated code in text.

Every number in an answer is one that the output shows; what cannot be read for certain is quoted.
"""

from collections.abc import Callable, Sequence

from palimpsest.model.rehearsal.generation.pandas_code import (
    ranking_method,
    shown_columns,
    statistics_of,
)
from palimpsest.model.rehearsal.parsing import tool_outputs
from palimpsest.model.rehearsal.parsing.filters import Filter
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tables import Column
from palimpsest.model.rehearsal.parsing.tool_outputs import (
    ToolResult,
    frame,
    quoted,
    scalar,
    series,
    span,
    tidy,
)

ROWS_IN_TABLE = 15
NAMES = {"mean": "mean", "median": "median", "sum": "sum", "min": "smallest value", "max": "largest value", "std": "standard deviation", "var": "variance"}  # fmt: skip
TESTS = {"==": "is", ">": "is over", ">=": "is at least", "<": "is under", "<=": "is at most", "in": "is one of"}  # fmt: skip
Cells = list[tuple[str, ...]]
NOTHING = ("Empty DataFrame", "Series([]")
"""How pandas shows a result without rows."""


def table_text(spec: QuerySpec, result: ToolResult) -> str | None:
    """Return the answer, or None when the output's numbers cannot be read."""
    if spec.op not in {"rows", "describe"} and result.value.startswith(NOTHING):
        return f"Nothing fits{where(spec)}."
    return _WRITERS[spec.op](spec, result)


def where(spec: QuerySpec) -> str:
    """Return `` in `penguins` where `species` is `Adelie` ``."""
    text = f" in {span(spec.table.name)}"
    tests = " and ".join(_condition(condition) for condition in spec.filters)
    return f"{text} where {tests}" if tests else text


def _condition(condition: Filter) -> str:
    values = condition.value if isinstance(condition.value, list) else [condition.value]
    shown = ", ".join(span(value) for value in values)
    return f"{span(condition.column.label)} {TESTS[condition.test]} {shown}"


def column_names(columns: Sequence[Column]) -> str:
    """Return the columns' names as code, joined by commas and *and*."""
    shown = [span(column.label) for column in columns]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else ""


def table(headers: Sequence[str], rows: Cells, labels: int = 1) -> str:
    """Return a Markdown table of at most fifteen rows; the numbers after the labels are shortened."""
    lines = [_row(headers), _row(["---"] * len(headers))]
    lines += [_row((*row[:labels], *map(tidy, row[labels:]))) for row in rows[:ROWS_IN_TABLE]]
    if len(rows) > ROWS_IN_TABLE:
        lines.append("")
        lines.append(f"The output above holds {len(rows) - ROWS_IN_TABLE} rows more.")
    return "\n".join(lines)


def titled(
    title: str, headers: Sequence[str], rows: Cells, labels: int = 1, below: str = ""
) -> str | None:
    """Return a table under a title, and what stands below it; None without rows."""
    parts = (title, table(headers, rows, labels), below)
    return "\n\n".join(part for part in parts if part) if rows else None


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    for char in "\\`*_<>[]|$~":
        text = text.replace(char, "\\" + char)
    return " ".join(text.split())


def extremes(rows: Cells, at: int, what: str) -> str:
    """Return which rows are highest and lowest in a column of numbers, as these were printed."""
    numbers = [(float(row[at].replace(",", "")), row) for row in rows if _is_number(row[at])]
    if len(numbers) < 2:
        return ""
    low, high = min(number for number, _ in numbers), max(number for number, _ in numbers)
    if low == high:
        return f"All have the same {what}, as it is printed: {tidy(numbers[0][1][at])}."
    highest, lowest = ([row for number, row in numbers if number == end] for end in (high, low))
    return f"Highest {what}: {_named(highest, at)}; lowest: {_named(lowest, at)}."


def _named(rows: Cells, at: int) -> str:
    """Name the first of the rows that share a number, and say how many more there are."""
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{span(rows[0][0])}{more} ({tidy(rows[0][at])})"


def _is_number(text: str) -> bool:
    try:
        return float(text.replace(",", "")) == float(text.replace(",", ""))
    except ValueError:
        return False


def _statistic(spec: QuerySpec, result: ToolResult) -> str | None:
    if spec.groups:
        return _grouped(spec, result)
    name = NAMES.get(spec.statistic or "", spec.statistic or "value")
    value = scalar(result.value)
    if len(spec.measures) == 1 and value is not None:
        return f"The {name} of {column_names(spec.measures)}{where(spec)} is **{tidy(value)}**."
    rows: Cells = [*series(result.value)]
    if not spec.several:
        return titled(f"The {name} of each column{where(spec)}:", ["column", name], rows)
    return _of_one(spec, spec.measures, rows) if len(spec.measures) == 1 else None


def _of_one(spec: QuerySpec, columns: Sequence[Column], rows: Cells) -> str | None:
    headers = ["statistic", columns[0].label]
    return titled(f"{column_names(columns)}{where(spec)}:", headers, rows)


def group_headers(spec: QuerySpec) -> list[str] | None:
    """Return the columns that the code for a grouped statistic shows after the groups."""
    if not spec.measures or (spec.several and len(spec.measures) > 1):
        return None
    if spec.statistic is None and len(spec.measures) == 1:
        return statistics_of(spec)
    return [column.label for column in spec.measures]


def _grouped(spec: QuerySpec, result: ToolResult) -> str | None:
    headers = group_headers(spec)
    if headers is None:
        if spec.several:
            return None
        return f"The {spec.statistic} of every column of numbers by {column_names(spec.groups)}{where(spec)}:\n\n{quoted(result.value)}"
    rows = grouped_rows(spec, result.value, headers)
    what, column = _compared(spec, headers)
    kind = NAMES.get(spec.statistic, spec.statistic) if spec.statistic else "summary"
    title = f"{kind.capitalize()} of {column_names(spec.measures)} by {column_names(spec.groups)}{where(spec)}:"
    shown = [f"{spec.statistic} of {header}" for header in headers] if spec.statistic else headers
    return grouped_table(spec, title, shown, rows, extremes(merged(spec, rows), column + 1, what))


def grouped_table(
    spec: QuerySpec, title: str, headers: Sequence[str], rows: Cells, below: str = ""
) -> str | None:
    """Return a table whose first columns are the groups; None without rows."""
    labels = [column.label for column in spec.groups]
    return titled(title, [*labels, *headers], rows, len(labels), below)


def _compared(spec: QuerySpec, headers: Sequence[str]) -> tuple[str, int]:
    """Return what the groups are compared by, and the place of its column among the headers."""
    if spec.statistic:
        of = f" of {span(headers[0])}" if len(headers) > 1 else ""
        return f"{NAMES.get(spec.statistic, spec.statistic)}{of}", 0
    if spec.order and not spec.several:
        return NAMES.get(headers[-1], headers[-1]), len(headers) - 1
    at = headers.index("mean") if "mean" in headers else 0
    return headers[at], at


def merged(spec: QuerySpec, rows: Cells) -> Cells:
    """Join the groups of each row into its first cell."""
    labels = len(spec.groups)
    return [(", ".join(row[:labels]), *row[labels:]) for row in rows]


def grouped_rows(spec: QuerySpec, text: str, headers: Sequence[str]) -> Cells:
    """Read the rows of a grouped result, numbers as printed; nothing when that is not certain."""
    labels = [column.label for column in spec.groups]
    wanted = [*labels, *headers]
    found = frame(text, wanted) if len(set(wanted)) == len(wanted) else None
    if not found:
        return []
    return [(*(row[label] for label in labels), *(row[h] for h in headers)) for row in found]


def _count(spec: QuerySpec, result: ToolResult) -> str | None:
    if len(spec.groups) > 1:
        rows = grouped_rows(spec, result.value, ["count"])
        title = f"Rows by {column_names(spec.groups)}{where(spec)}:"
        return grouped_table(spec, title, ["rows"], rows)
    if spec.groups:
        return counted(spec, result.value)
    value = scalar(result.value)
    if value is None:
        return None
    if spec.measures:
        return f"There are **{value}** values of {column_names(spec.measures)}{where(spec)} (missing ones are not counted)."
    tests = where(spec).removeprefix(f" in {span(spec.table.name)}")
    return f"{span(spec.table.name)} has **{value}** rows{tests}."


def counted(
    spec: QuerySpec, text: str, unit: str = "rows", column: Column | None = None
) -> str | None:
    """Describe a count of values."""
    column = column or (spec.groups or spec.measures)[0]
    rows: Cells = [
        (label if label not in {"NaN", "<NA>", "None", "NaT"} else "(missing)", value)
        for label, value in series(text)
    ]
    what, name = ("Rows", "count") if unit == "rows" else ("Share of rows, in percent,", "share")
    title = f"{what} by {span(column.label)}{where(spec)}:"
    most = extremes([row for row in rows if row[0] != "(missing)"], 1, name)
    return titled(title, [column.label, unit], rows, below=most)


def _distinct(spec: QuerySpec, result: ToolResult) -> str | None:
    if spec.groups + spec.measures:
        return counted(spec, result.value, column=(spec.groups + spec.measures)[0])
    title = f"Different values of each column{where(spec)}:"
    return titled(title, ["column", "different values"], [*series(result.value)])


def _nunique(spec: QuerySpec, result: ToolResult) -> str | None:
    value, name = scalar(result.value), column_names((spec.measures + spec.groups)[:1])
    return f"{name} has **{value}** different values{where(spec)}." if value else None


def _missing(spec: QuerySpec, result: ToolResult) -> str | None:
    value = scalar(result.value)
    columns = spec.measures + spec.groups
    if value is not None and len(columns) == 1:
        return f"{column_names(columns)} has **{value}** missing values{where(spec)}."
    title = f"Missing values of each column{where(spec)}:"
    return titled(title, ["column", "missing"], [*series(result.value)])


def _correlation(spec: QuerySpec, result: ToolResult) -> str | None:
    numbers = [column for column in spec.measures + spec.groups if column.numeric]
    value, of = scalar(result.value), f"(Pearson) of {column_names(numbers)}"
    if len(numbers) == 2:
        return f"The correlation {of}{where(spec)} is **{tidy(value)}**." if value else None
    if len(numbers) == 1:
        rows: Cells = [*series(result.value)]
        text = titled(
            f"Correlation {of} with the other columns{where(spec)}:",
            ["column", "correlation"],
            rows,
        )
        return text and f"{text}\n\n{extremes(rows, 1, 'correlation')}"
    return (
        f"Correlations (Pearson) of all columns of numbers{where(spec)}:\n\n{quoted(result.value)}"
    )


def _top(spec: QuerySpec, result: ToolResult) -> str | None:
    measure = spec.measures[0]
    side = "smallest" if spec.order == "least" else "largest"
    if spec.groups:
        rows, method = grouped_rows(spec, result.value, [measure.label]), ranking_method(spec)
        title = f"{column_names(spec.groups)} with the {side} {method} of {column_names(spec.measures)}{where(spec)}:"
        return grouped_table(spec, title, [f"{method} of {measure.label}"], rows)
    shown = [column.label for column in (shown_columns(spec) or spec.table.columns)]
    found = frame(result.value, shown) if len(set(shown)) == len(shown) else None
    text = f"Rows{where(spec)} with the {side} {column_names(spec.measures)}:\n\n"
    if not found:
        return text + quoted(result.value)
    best = found[0][measure.label]
    return (
        f"The {side} {column_names(spec.measures)}{where(spec)} is **{tidy(best)}**.\n\n{text}"
        + table(shown, [tuple(row[h] for h in shown) for row in found], 0)
    )


def _rows(spec: QuerySpec, result: ToolResult) -> str | None:
    count, name = result.stdout.strip(), span(spec.table.name)
    found = f"**{count}** fit{where(spec)}" if spec.filters else f"{name} has **{count}**"
    return f"{found}:\n\n{quoted(result.value, 14)}"


def _describe(spec: QuerySpec, result: ToolResult) -> str | None:
    columns = spec.measures + spec.groups
    if len(columns) == 1:
        if not columns[0].numeric:
            return counted(spec, result.value, column=columns[0])
        return _of_one(spec, columns, [*series(result.value)])
    first, _, rest = result.stdout.partition("\n")
    parts = [
        f"{span(spec.table.name)} has **{first.strip()}** and {len(columns or spec.table.columns)} columns."
    ]
    different = series(rest)[:ROWS_IN_TABLE]
    if different:
        listed = (f"- {span(label)}: {count} different values" for label, count in different)
        parts.append("\n".join(listed))
    if result.value.strip():
        parts.append(numbers_text(result))
    return "\n\n".join(parts)


def numbers_text(result: ToolResult) -> str:
    """Return the statistics of several columns as a table, or as they were printed."""
    headers = ["count", "mean", "min", "max"]
    found = frame(result.value, headers, labelled=True) or []
    cells = [(row[tool_outputs.INDEX], *(row[header] for header in headers)) for row in found]
    return table(["column", *headers], cells) if cells else quoted(result.value)


def _shape(spec: QuerySpec, result: ToolResult) -> str | None:
    sizes = tool_outputs.pair(result.value)
    if len(sizes) != 2:
        return None
    return f"{span(spec.table.name)} has **{sizes[0]}** rows and **{sizes[1]}** columns."


_WRITERS: dict[str, Callable[[QuerySpec, ToolResult], str | None]] = {
    "statistic": _statistic,
    "count": _count,
    "share": lambda spec, result: counted(spec, result.value, "percent"),
    "distinct": _distinct,
    "nunique": _nunique,
    "missing": _missing,
    "correlation": _correlation,
    "top": _top,
    "head": lambda spec, result: (
        f"{'Last' if spec.tail else 'First'} rows{where(spec)}:\n\n{quoted(result.value)}"
    ),
    "rows": _rows,
    "describe": _describe,
    "shape": _shape,
}
