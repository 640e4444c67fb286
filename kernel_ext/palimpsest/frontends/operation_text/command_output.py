"""What a cell shows of an operation's answer, in each format: sentences and tables as Markdown, text and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.render.safety.escaping import code_span, inline
from palimpsest.transcript.visible_text import visible

Rows = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output of a subcommand, in each format."""

    markdown: str
    plain: str
    html: str = ""
    """The output as HTML, where the subcommand has one."""

    @property
    def bundle(self) -> dict[str, str]:
        """The formats by MIME type."""
        drawn = {"text/html": self.html} if self.html else {}
        return drawn | {"text/markdown": self.markdown, "text/plain": visible(self.plain)}


@dataclass(frozen=True, slots=True)
class PolicySection:
    """A table with a title, such as the numbers of one decider."""

    title: str
    head: tuple[str, ...]
    rows: Rows


Lines = Sequence[str | PolicySection | CommandOutput]
"""Sentences and tables, in order."""


def shown(lines: "Lines | CommandOutput | str") -> CommandOutput:
    """Return sentences and tables as one output."""
    if isinstance(lines, CommandOutput):
        return lines
    texts: list[CommandOutput] = []
    for one in [lines] if isinstance(lines, str) else lines:
        if isinstance(one, CommandOutput):
            texts.append(one)
        elif isinstance(one, str):
            texts.append(sentence(one))
        else:
            title = CommandOutput(f"**{inline(one.title)}**", one.title)
            texts += [title] if one.title else []
            texts.append(table(one.head, one.rows))
    return CommandOutput(
        "\n\n".join(text.markdown for text in texts), "\n\n".join(text.plain for text in texts)
    )


def sentence(words: str) -> CommandOutput:
    """Return one sentence as Markdown and as plain text."""
    return CommandOutput(inline(words), words)


def close_lines(lines: Sequence[str]) -> CommandOutput:
    """Return sentences, in plain text without an empty line between them."""
    return CommandOutput("\n\n".join(inline(line) for line in lines), "\n".join(lines))


def table(head: tuple[str, ...], rows: Rows) -> CommandOutput:
    """Return rows as a Markdown table and as aligned text."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [code_span(row[0]), *(inline(cell).replace("|", "\\|") for cell in row[1:])]
        lines.append(f"| {' | '.join(cells)} |")
    everything = [head, *rows] if any(head) else rows
    widths = [max(len(row[i]) for row in everything) for i in range(len(head))]
    plain = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in everything
    ]
    return CommandOutput("\n".join(lines), "\n".join(plain))
