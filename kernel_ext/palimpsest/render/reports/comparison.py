"""Write a comparison of two columns of numbers as text, Markdown and HTML.

Border: pure; text and numbers in, markup out. The bars of the HTML are plain elements with size and
colour in their ``style`` attribute, since an untrusted notebook loses style sheets.
"""

from dataclasses import dataclass

from palimpsest.render.content.phrases import count
from palimpsest.render.reports.table import DOUBTFUL, ShownInCell
from palimpsest.render.safety.escaping import escape_inline, text_in_html

RECORDED_COLOUR, OTHER_COLOUR = "#8c96ad", "#5b4ab5"
MIN_NUMBER_FOR_PERCENT = 100
"""Minimum number whose difference is shown as a percentage; else the difference is shown as a number."""


@dataclass(frozen=True, slots=True)
class ComparisonTotal:
    """One total, in both columns."""

    name: str
    recorded_value: int
    other_value: int

    @property
    def change_text(self) -> str:
        """The difference as text: a percentage, or a number where numbers are small."""
        if self.recorded_value == self.other_value:
            return "same"
        if self.recorded_value >= MIN_NUMBER_FOR_PERCENT:
            return f"{100 * (self.other_value - self.recorded_value) / self.recorded_value:+.0f} %"
        return f"{self.other_value - self.recorded_value:+,}"


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One step, in both columns."""

    number: int
    recorded_tokens: int
    other_tokens: int
    recorded_cached_tokens: int
    other_cached_tokens: int
    difference_text: str
    """The differences before this step, as text."""


@dataclass(frozen=True, slots=True)
class Comparison(ShownInCell):
    """A session's numbers as recorded beside those under another policy."""

    title: str
    recorded_title: str
    other_title: str
    totals: tuple[ComparisonTotal, ...]
    lines: tuple[ComparisonRow, ...]
    more: str
    """A sentence about omitted lines; empty without any."""
    notes: tuple[str, ...]
    lead: tuple[str, ...] = ()
    """Sentences before the numbers, such as the assumptions behind them."""
    is_doubtful: bool = False
    """Whether the numbers under the other policy are not reliable, as ``lead`` explains; they are pale and marked."""

    @property
    def _marked_other_title(self) -> str:
        return f"{self.other_title} {DOUBTFUL}" if self.is_doubtful else self.other_title

    @property
    def text(self) -> str:
        """The comparison as plain text."""
        totals: list[tuple[str, ...]] = [("", self.recorded_title, self._marked_other_title, "")]
        totals += [
            (total.name, count(total.recorded_value), count(total.other_value), total.change_text)
            for total in self.totals
        ]
        tables = [_aligned_rows(totals), _aligned_rows([self._head_cells, *self._rows])]
        more = [self.more] if self.more else []
        return "\n\n".join([self.title, *self.lead, *tables, *more, *self.notes])

    @property
    def markdown(self) -> str:
        """The same as Markdown."""
        lines = [f"**{escape_inline(self.title)}**", ""]
        lines += [f"{escape_inline(sentence)}\n" for sentence in self.lead]
        lines += [
            f"| | {escape_inline(self.recorded_title)} | {escape_inline(self._marked_other_title)} | |",
            "|---|--:|--:|--:|",
        ]
        lines += [
            f"| {escape_inline(total.name)} | {count(total.recorded_value)} | {count(total.other_value)} | {total.change_text} |"
            for total in self.totals
        ]
        lines += [
            "",
            f"| {' | '.join(map(escape_inline, self._head_cells))} |",
            "|--:|--:|--:|--:|--:|---|",
        ]
        lines += [f"| {' | '.join((*row[:5], escape_inline(row[5])))} |" for row in self._rows]
        sentences = filter(None, (self.more, *self.notes))
        lines += [f"\n{escape_inline(sentence)}" for sentence in sentences]
        return "\n".join(lines)

    @property
    def html(self) -> str:
        """The same as an HTML fragment, with a pair of bars beside each step."""
        largest_tokens = max(
            [1, *(max(line.recorded_tokens, line.other_tokens) for line in self.lines)]
        )
        totals = "\n".join(
            f"<tr><th {_LEFT_STYLE}>{text_in_html(total.name)}</th>{_number_cell(count(total.recorded_value))}"
            f"{_number_cell(count(total.other_value))}{_number_cell(total.change_text)}</tr>"
            for total in self.totals
        )
        steps = "\n".join(
            f"<tr>{_number_cell(str(line.number))}<td {_BARS_STYLE}>{_bar(line.recorded_tokens, line.recorded_cached_tokens, largest_tokens, RECORDED_COLOUR)}"
            f"{_bar(line.other_tokens, line.other_cached_tokens, largest_tokens, OTHER_COLOUR)}</td>{_number_cell(count(line.recorded_tokens))}"
            f"{_number_cell(count(line.other_tokens))}<td {_LEFT_STYLE}>{text_in_html(line.difference_text)}</td></tr>"
            for line in self.lines
        )
        sentences = filter(None, (self.more, *self.notes))
        notes = "\n".join(f"<p>{text_in_html(sentence)}</p>" for sentence in sentences)
        lead = "".join(f"<p>{text_in_html(sentence)}</p>\n" for sentence in self.lead)
        doubt_style = f' style="{_DOUBTFUL_STYLE}"' if self.is_doubtful else ""
        return (
            f"<p><b>{text_in_html(self.title)}</b></p>\n{lead}<table{doubt_style}><thead><tr><th></th>"
            f"<th {_RIGHT_STYLE}>{_swatch(RECORDED_COLOUR)}{text_in_html(self.recorded_title)}</th>"
            f"<th {_RIGHT_STYLE}>{_swatch(OTHER_COLOUR)}{text_in_html(self._marked_other_title)}</th><th></th></tr></thead>"
            f"<tbody>\n{totals}\n</tbody></table>\n<table{doubt_style}><thead><tr><th {_RIGHT_STYLE}>step</th>"
            f"<th {_LEFT_STYLE}>tokens, the part in common with the step before is pale</th>"
            f"<th {_RIGHT_STYLE}>{text_in_html(self.recorded_title)}</th><th {_RIGHT_STYLE}>{text_in_html(self._marked_other_title)}</th>"
            f"<th {_LEFT_STYLE}>otherwise</th></tr></thead><tbody>\n{steps}\n</tbody></table>\n{notes}"
        )

    @property
    def _head_cells(self) -> tuple[str, ...]:
        cached_title = "of it cached"
        return (
            "step",
            self.recorded_title,
            cached_title,
            self._marked_other_title,
            cached_title,
            "otherwise",
        )

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(line.number),
                count(line.recorded_tokens),
                count(line.recorded_cached_tokens),
                count(line.other_tokens),
                count(line.other_cached_tokens),
                line.difference_text,
            )
            for line in self.lines
        ]


_CELL_STYLE = "padding:2px 14px 2px 0;font-weight:400;vertical-align:middle"
_LEFT_STYLE = f'style="text-align:left;{_CELL_STYLE}"'
_RIGHT_STYLE = f'style="text-align:right;{_CELL_STYLE}"'
_BARS_STYLE = f'style="text-align:left;width:260px;{_CELL_STYLE}"'
_NUMBER_STYLE = f'style="text-align:right;font-variant-numeric:tabular-nums;{_CELL_STYLE}"'
_CACHED_STYLE = "opacity:0.45"
"""Style of the cached part of a bar; the number stands beside it."""
_DOUBTFUL_STYLE = "opacity:0.75;font-style:italic"
"""Style of unreliable text: any paler, and its contrast falls below 4.5 in a notebook's light theme."""


def _number_cell(text: str) -> str:
    return f"<td {_NUMBER_STYLE}>{text_in_html(text)}</td>"


def _bar(tokens: int, cached_tokens: int, largest_tokens: int, colour: str) -> str:
    cached_percent = 100 * min(cached_tokens, tokens) / largest_tokens
    fresh_percent = 100 * max(tokens - cached_tokens, 0) / largest_tokens
    piece_html = '<span style="width:{:.2f}%;background-color:{};{}"></span>'
    return (
        '<div style="display:flex;height:6px;margin:1px 0">'
        f"{piece_html.format(cached_percent, colour, _CACHED_STYLE)}{piece_html.format(fresh_percent, colour, '')}</div>"
    )


def _swatch(colour: str) -> str:
    return (
        '<span style="display:inline-block;width:10px;height:10px;margin-right:6px;'
        f'border-radius:2px;background-color:{colour}"></span>'
    )


def _aligned_rows(rows: list[tuple[str, ...]]) -> str:
    """Align cells by column: text to the left, numbers to the right."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    are_numbers = [any(cell[:1].isdigit() for cell in column[1:]) for column in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, are_numbers, strict=True)
        ).rstrip()
        for row in rows
    )
