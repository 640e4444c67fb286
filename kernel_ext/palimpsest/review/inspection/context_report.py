"""A context window as a person looks at it: its values, and the same drawn in a cell.

Border: ``review/inspection/window_contents.py`` has the values, ``review/inspection/report_view.py`` their words.
"""

from dataclasses import dataclass
from typing import Any

from palimpsest.render.reports.context_window import ContextReportView, to_html
from palimpsest.render.reports.context_window_text import to_markdown, to_text
from palimpsest.review.inspection.report_view import report_view
from palimpsest.review.inspection.window_contents import WindowContents


@dataclass(frozen=True)
class ContextReport(WindowContents):
    """A context window: what fills it, what is free, and what is gone."""

    @property
    def sheet(self) -> ContextReportView:
        """The same in words, for any view."""
        return report_view(self)

    @property
    def text(self) -> str:
        """The window as plain text: a bar and tables."""
        return to_text(self.sheet)

    @property
    def markdown(self) -> str:
        """The same as Markdown."""
        return to_markdown(self.sheet)

    @property
    def html(self) -> str:
        """The same as a part of a notebook's page."""
        return to_html(self.sheet)

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001  IPython's signature
        printer.text(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        name = f" of {self.request_id}" if self.request_id else ""
        of = f" of {self.window:,}" if self.window else ""
        return f"<Ledger{name}: {self.used:,}{of} tokens, {len(self.items)} items, {len(self.gone)} gone>"
