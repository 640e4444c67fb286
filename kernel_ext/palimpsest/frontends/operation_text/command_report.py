"""Write a report of the command line: as text, as Markdown for a pull request, or as JSON with a version.

The schema of the JSON is ``command_line/report.schema.json``; keys are only added within a version.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from palimpsest.frontends import terminal
from palimpsest.transcript.visible_text import visible, visible_json

if TYPE_CHECKING:
    from palimpsest.render.reports.table import ReportTable
    from palimpsest.store.interface import Problem

SCHEMA_VERSION = 1
OutputForm = Literal["text", "json", "markdown"]


@dataclass
class CommandReport:
    """What a command found."""

    command: str
    values: dict[str, Any]
    """Plain values, for JSON."""
    tables: "Sequence[ReportTable]" = ()
    """The same for people."""
    problems: "Sequence[Problem]" = ()
    """What could not be read."""
    words: Sequence[str] = ()
    """Lines instead of tables."""

    def written(self, form: OutputForm) -> str:
        """Return the report as text."""
        if form == "json":
            # Where a letter cannot be written as it is, it is escaped as JSON does, so that a program can read it.
            values = json.dumps(
                self.json(), ensure_ascii=not terminal.takes_unicode(), indent=2, allow_nan=False
            )
            return visible_json(values)
        shown = [one.markdown if form == "markdown" else one.text for one in self.tables]
        return "\n\n".join([*(["\n".join(map(visible, self.words))] if self.words else []), *shown])

    def json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "schema": SCHEMA_VERSION,
            "command": self.command,
            **self.values,
            "problems": [{"where": one.where, "what": one.what} for one in self.problems],
        }
