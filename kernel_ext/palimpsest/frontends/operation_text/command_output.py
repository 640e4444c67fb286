"""Output of an operation in a cell: sentences and tables as Markdown, text and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.render.safety.escaping import code_span, escape_inline
from palimpsest.transcript.visible_text import visible_text

Rows = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output of a subcommand, in each format."""

    markdown: str
    plain_text: str
    html: str = ""
    """The output as HTML, where the subcommand has one."""

    @property
    def bundle(self) -> dict[str, str]:
        """The texts by MIME type."""
        html = {"text/html": self.html} if self.html else {}
        return html | {"text/markdown": self.markdown, "text/plain": visible_text(self.plain_text)}


@dataclass(frozen=True, slots=True)
class TitledTable:
    """A table with a title, which may be empty."""

    title: str
    header: tuple[str, ...]
    rows: Rows


OutputLines = Sequence[str | TitledTable | CommandOutput]
"""Sentences and tables, in order."""


def joined_output(lines: "OutputLines | CommandOutput | str") -> CommandOutput:
    """Return sentences and tables as one output."""
    if isinstance(lines, CommandOutput):
        return lines
    outputs: list[CommandOutput] = []
    for line in [lines] if isinstance(lines, str) else lines:
        if isinstance(line, CommandOutput):
            outputs.append(line)
        elif isinstance(line, str):
            outputs.append(sentence_output(line))
        else:
            title = CommandOutput(f"**{escape_inline(line.title)}**", line.title)
            outputs += [title] if line.title else []
            outputs.append(table_output(line.header, line.rows))
    return CommandOutput(
        "\n\n".join(output.markdown for output in outputs),
        "\n\n".join(output.plain_text for output in outputs),
    )


def sentence_output(sentence: str) -> CommandOutput:
    """Return one sentence as Markdown and as plain text."""
    return CommandOutput(escape_inline(sentence), sentence)


def unspaced_output(lines: Sequence[str]) -> CommandOutput:
    """Return sentences as one output, whose plain text has no empty lines between them."""
    return CommandOutput("\n\n".join(escape_inline(line) for line in lines), "\n".join(lines))


def table_output(header: tuple[str, ...], rows: Rows) -> CommandOutput:
    """Return rows as a Markdown table and as aligned text."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    for row in rows:
        cells = [code_span(row[0]), *map(escape_inline, row[1:])]
        lines.append(f"| {' | '.join(cells)} |")
    aligned_rows = [header, *rows] if any(header) else rows
    widths = [max(len(row[i]) for row in aligned_rows) for i in range(len(header))]
    plain_lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in aligned_rows
    ]
    return CommandOutput("\n".join(lines), "\n".join(plain_lines))
