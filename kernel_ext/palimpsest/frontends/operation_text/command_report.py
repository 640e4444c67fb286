"""Write a report of the command line: as text, as Markdown for a pull request, or as JSON with a version.

The schema of the JSON is ``command_line/report.schema.json``; keys are only added within a version.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from palimpsest.frontends import terminal
from palimpsest.transcript.visible_text import visible_json, visible_text

if TYPE_CHECKING:
    from palimpsest.render.reports.table import ReportTable
    from palimpsest.store.interface import Problem

SCHEMA_VERSION = 1
OutputForm = Literal["text", "json", "markdown"]


@dataclass
class CommandReport:
    """The result of a command, for each output format."""

    command: str
    values: dict[str, Any]
    """Plain values, for JSON."""
    tables: "Sequence[ReportTable]" = ()
    """The same values as tables, for people."""
    problems: "Sequence[Problem]" = ()
    """Problems of reading."""
    markdown_tables: "Sequence[ReportTable]" = ()
    """The tables of the Markdown form, where they have fewer columns than ``tables``."""
    text_lines: Sequence[str] = ()
    """Lines instead of tables."""
    link: str = ""
    """An address of the web that stands below the tables, as a link to the report."""

    def as_text(self, form: OutputForm) -> str:
        """Return the report in an output format."""
        if form == "json":
            # Characters that the output cannot encode are escaped as in JSON, so that a program can still read them.
            is_ascii = not terminal.has_unicode_output()
            json_text = json.dumps(self.json(), ensure_ascii=is_ascii, indent=2, allow_nan=False)
            return visible_json(json_text)
        lines = ["\n".join(map(visible_text, self.text_lines))] if self.text_lines else []
        if form == "markdown":
            lines += [table.markdown for table in self.markdown_tables or self.tables]
            lines += [f"[Report](<{self.link}>)"] if self.link else []
        else:
            lines += [table.text for table in self.tables]
            lines += [f"Report: {self.link}"] if self.link else []
        return "\n\n".join(lines)

    def json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        problems = [{"where": problem.where, "what": problem.what} for problem in self.problems]
        head = {"schema": SCHEMA_VERSION, "command": self.command}
        return {**head, **self.values, "problems": problems}
