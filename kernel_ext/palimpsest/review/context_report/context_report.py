"""The report of a context window: its values, and their display in a notebook cell.

Border: ``review/context_report/window_contents.py`` defines the values, ``review/context_report/report_view.py`` the text.
"""

from dataclasses import dataclass

from palimpsest.render.reports.context_window import ContextReportView, to_html
from palimpsest.render.reports.context_window_text import to_markdown, to_text
from palimpsest.render.reports.table import ShownInCell
from palimpsest.review.context_report.report_view import report_view
from palimpsest.review.context_report.window_contents import WindowContents


@dataclass(frozen=True)
class ContextReport(ShownInCell, WindowContents):
    """A context window: its items, the free tokens, and the reductions."""

    @property
    def sheet(self) -> ContextReportView:
        """The report as titles and rows of text, for every renderer."""
        return report_view(self)

    @property
    def text(self) -> str:
        """The window as plain text: a bar and tables."""
        return to_text(self.sheet)

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return to_markdown(self.sheet)

    @property
    def html(self) -> str:
        """The report as an HTML fragment for a notebook."""
        return to_html(self.sheet)

    def __repr__(self) -> str:
        name = f" of {self.request_id}" if self.request_id else ""
        window = f" of {self.window:,}" if self.window else ""
        return f"<ContextReport{name}: {self.used_tokens:,}{window} tokens, {len(self.items)} items, {len(self.reductions)} gone>"
