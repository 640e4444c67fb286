"""A table of named columns and rows, as text, Markdown, HTML and JSON.

Border: pure; values in, markup out. Facts and estimates are marked in the head of a column, in words and
not only by colour; a value that is not known is a dash, never 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, TypeGuard

from palimpsest.render.content.phrases import count, usd_digits, usd_text
from palimpsest.render.safety.escaping import escape_inline, text_in_html
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.terminal_columns import columns_of
from palimpsest.transcript.visible_text import visible_line

ESTIMATED = "~"
"""Mark before the title of a column of estimates."""
DOUBTFUL = "?"
"""Mark after the name of a row whose estimates come from a replay that does not reproduce the recording."""
UNKNOWN_SIGN = "-"
"""Shown in place of an unknown value."""
Cell = str | int | float | bool | None
Form = Literal["text", "count", "share", "usd", "decimal", "seconds"]
Basis = Literal["fact", "estimate", ""]
"""``fact``: recorded; ``estimate``: what a replay computes; empty for names."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column."""

    key: str
    """Its name in JSON and DataFrames: letters, digits and underscores."""
    title: str
    form: Form = "text"
    basis: Basis = ""
    about: str = ""
    """A sentence that defines the column."""


ColumnSpec = TableColumn | tuple[TableColumn, Callable[[Any], Cell]]
"""A column whose key is an attribute of the row's value, or with a function that returns its cell."""


class ShownInCell:
    """Base of values that are shown by ``print`` and in a cell: as text, Markdown and HTML."""

    __slots__ = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Give the class its display method itself: IPython prefers a class's own __repr__, as of a dataclass, to inherited ones."""
        super().__init_subclass__(**arguments)
        cls._repr_pretty_ = cls._repr_pretty_  # type: ignore[method-assign]

    @property
    def _shown_as(self) -> "ShownInCell":
        """The value that is shown in place of this one; a subclass has this property or the three texts below."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The value as plain text."""
        return self._shown_as.text

    @property
    def markdown(self) -> str:
        """The value as Markdown."""
        return self._shown_as.markdown

    @property
    def html(self) -> str:
        """The value as an HTML fragment."""
        return self._shown_as.html

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001  IPython's signature
        printer.text(self.text)

    def __str__(self) -> str:
        return self.text


class ShownAsTable(ShownInCell):
    """Base of values that are shown as a table."""

    @property
    def table(self) -> "ReportTable":
        """The table for any renderer."""
        raise NotImplementedError

    @property
    def _shown_as(self) -> "ReportTable":
        return self.table

    def to_dataframe(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return self.table.to_dataframe()


class NoPandas(UserError, ImportError):
    """pandas is not installed."""


NO_PANDAS = "A DataFrame needs pandas, which is not installed here; %pip install pandas adds it."


@dataclass(frozen=True)
class ReportTable(ShownAsTable):
    """A table with a title and notes."""

    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    links: tuple[str, ...] = field(default=())
    """A link for each row, which later views open; empty for none."""
    estimates: frozenset[tuple[int, str]] = frozenset()
    """Row and key of single values that are estimates, in columns that are not."""
    lead: tuple[str, ...] = ()
    """Sentences before the rows: what they rest on."""
    doubtful: frozenset[int] = frozenset()
    """Rows whose estimates are not reliable, for the reason that the lead gives; drawn pale, and marked."""

    @property
    def table(self) -> "ReportTable":
        """The table itself."""
        return self

    def with_columns(self, keys: Sequence[str]) -> "ReportTable":
        """Return the table with the columns of these keys, in their order; the first column, the rows' name, stays first.

        Raises UserError with one sentence for an unknown key.
        """
        index_by_key = {column.key: index for index, column in enumerate(self.columns)}
        check_columns(keys, [*index_by_key])
        name_key = self.columns[0].key
        chosen_indexes = [index_by_key[key] for key in dict.fromkeys((name_key, *keys))]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in chosen_indexes),
            rows=tuple(tuple(row[index] for index in chosen_indexes) for row in self.rows),
            estimates=frozenset(
                (row_index, key) for row_index, key in self.estimates if key in keys
            ),
        )

    def records(self) -> list[dict[str, Cell]]:
        """Return the rows as dicts by the columns' keys."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]

    def priced_records(self) -> list[dict[str, Cell]]:
        """Return the rows as ``records`` does, with the basis of each amount of money under ``<key>_basis``."""
        money_columns = [
            column for column in self.columns if column.form == "usd" or column.key == "cost"
        ]
        records = self.records()
        for row_index, record in enumerate(records):
            for column in money_columns:
                is_estimate = (
                    column.basis == "estimate" or (row_index, column.key) in self.estimates
                )
                record[f"{column.key}_basis"] = "estimate" if is_estimate else "fact"
        return records

    @property
    def text(self) -> str:
        """The table as plain text."""
        # A recording may hold a terminal's commands, so each text is made visible.
        header = [visible_line(_column_title(column)) for column in self.columns]
        body = [[visible_line(cell) for cell in row] for row in self._shown_rows()]
        widths = [max(map(columns_of, column)) for column in zip(header, *body, strict=True)]
        lines = [
            "  ".join(
                _padded_cell(cell, width, is_left=column.form == "text")
                for cell, width, column in zip(row, widths, self.columns, strict=True)
            ).rstrip()
            for row in (header, *body)
        ]
        opening = [visible_line(sentence) for sentence in (self.title, *self.lead)]
        notes = [visible_line(note) for note in self.notes]
        return "\n\n".join([*opening, "\n".join(lines), *notes])

    @property
    def markdown(self) -> str:
        """The table as Markdown."""
        rule = ["---" if column.form == "text" else "--:" for column in self.columns]
        header = [escape_inline(_column_title(column)) for column in self.columns]
        lines = [f"**{escape_inline(self.title)}**", ""]
        lines += [f"{escape_inline(sentence)}\n" for sentence in self.lead]
        lines += [f"| {' | '.join(header)} |", f"|{'|'.join(rule)}|"]
        lines += [f"| {' | '.join(map(escape_inline, row))} |" for row in self._shown_rows()]
        lines += [f"\n{escape_inline(note)}" for note in self.notes]
        return "\n".join(lines)

    @property
    def html(self) -> str:
        """The table as an HTML fragment."""
        header_html = "".join(
            f"<th {_cell_style(column)} title={json_attribute(column.about)}>{text_in_html(_column_title(column))}</th>"
            for column in self.columns
        )
        body = "\n".join(
            f"<tr{_DOUBTFUL_STYLE if row_index in self.doubtful else ''}>"
            + "".join(
                f"<td {_cell_style(column)}>{text_in_html(cell)}</td>"
                for cell, column in zip(row, self.columns, strict=True)
            )
            + "</tr>"
            for row_index, row in enumerate(self._shown_rows())
        )
        lead_html = "".join(f"<p>{text_in_html(sentence)}</p>\n" for sentence in self.lead)
        notes = "\n".join(f"<p>{text_in_html(note)}</p>" for note in self.notes)
        title = text_in_html(self.title)
        return (
            f'{lead_html}<div style="overflow-x:auto"><table><caption style="text-align:left"><b>{title}</b></caption>'
            f"<thead><tr>{header_html}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n{notes}"
        )

    def json(self) -> dict[str, Any]:
        """Return the table as plain values."""
        fields = ("key", "title", "form", "basis")
        return {
            "title": self.title,
            "columns": [{name: getattr(c, name) for name in fields} for c in self.columns],
            "rows": self.records(),
            "estimates": [
                {"row": row_index, "key": key} for row_index, key in sorted(self.estimates)
            ],
            "lead": list(self.lead),
            "doubtful": sorted(self.doubtful),
            "notes": list(self.notes),
        }

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame; raises NoPandas where pandas is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415  # optional, and slow to import
        except ImportError as error:
            raise NoPandas(NO_PANDAS) from error

        return pd.DataFrame(self.records(), columns=[column.key for column in self.columns])

    def _shown_rows(self) -> list[list[str]]:
        """Return the rows as shown; amounts of money in one column have the same number of decimals."""
        digits = [
            max(
                (usd_digits(amount) for row in self.rows if _is_number(amount := row[index])),
                default=0,
            )
            if column.form == "usd"
            else 0
            for index, column in enumerate(self.columns)
        ]
        shown_rows = [
            [
                mark_estimate(
                    shown_cell(cell, column, column_digits),
                    (row_index, column.key) in self.estimates,
                )
                for cell, column, column_digits in zip(cells, self.columns, digits, strict=True)
            ]
            for row_index, cells in enumerate(self.rows)
        ]
        for row_index in self.doubtful:
            shown_rows[row_index][0] += f" {DOUBTFUL}"
        return shown_rows


def table_of(
    title: str,
    columns: Sequence[ColumnSpec],
    values: Sequence[Any],
    notes: tuple[str, ...] = (),
    links: Sequence[str] = (),
    estimates: frozenset[tuple[int, str]] = frozenset(),
) -> ReportTable:
    """Return a table with a row for each value."""
    readers = [(c, attrgetter(c.key)) if isinstance(c, TableColumn) else c for c in columns]
    rows = tuple(tuple(read_cell(value) for _, read_cell in readers) for value in values)
    shown_columns = tuple(column for column, _ in readers)
    return ReportTable(title, shown_columns, rows, notes, tuple(links), estimates)


def check_columns(keys: Sequence[str], known_keys: Sequence[str]) -> None:
    """Raise UserError with one sentence for the first of the keys that is no known column."""
    for key in keys:
        if key not in known_keys:
            raise UserError(f"There is no column {key!r}; there are {', '.join(known_keys)}.")


def mark_estimate(text: str, is_estimate: bool) -> str:  # noqa: FBT001  reads as a sentence where it is called
    """Return a shown value with the sign of an estimate, where it is one."""
    return f"{ESTIMATED}{text}" if is_estimate and text != UNKNOWN_SIGN else text


def _is_number(value: Cell) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown_cell(value: Cell, column: TableColumn, digits: int = 0) -> str:
    """Return a value as it is shown in its column; a dash where it is not known.

    ``digits`` are the decimals of its column, for an amount in US dollars.
    """
    if value is None:
        return UNKNOWN_SIGN
    if isinstance(value, str | bool):
        return str(value)
    match column.form:
        case "count":
            return count(round(value))
        case "share":
            return f"{value:.3f}".lstrip("0") if 0 < value < 1 else f"{value:.3f}"
        case "usd":
            return usd_text(value, digits)
        case "decimal":
            return f"{value:,.1f}"
        case "seconds":
            return f"{value:,.0f} s"
        case _:
            return str(value)


def json_attribute(text: str) -> str:
    """Return a text as the quoted value of an HTML attribute."""
    return f'"{text_in_html(text)}"'


_DOUBTFUL_STYLE = ' style="opacity:0.75;font-style:italic"'


def _column_title(column: TableColumn) -> str:
    return f"{ESTIMATED}{column.title}" if column.basis == "estimate" else column.title


def _cell_style(column: TableColumn) -> str:
    side = "left" if column.form == "text" else "right;font-variant-numeric:tabular-nums"
    return f'style="text-align:{side};padding:2px 12px 2px 0;font-weight:400"'


def _padded_cell(text: str, width: int, *, is_left: bool) -> str:
    blanks = " " * (width - columns_of(text))
    return text + blanks if is_left else blanks + text
