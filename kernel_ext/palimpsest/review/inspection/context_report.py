"""The report of a context window: its values, and their display in a notebook cell.

Border: ``review/inspection/window_contents.py`` has the values, ``review/inspection/report_view.py``
the text.
"""

from dataclasses import dataclass

from palimpsest.render.reports.context_window import ContextReportView, to_html
from palimpsest.render.reports.context_window_text import to_markdown, to_text
from palimpsest.render.reports.table import ShownInCell
from palimpsest.review.inspection.report_view import report_view
from palimpsest.review.inspection.window_contents import WindowContents


@dataclass(frozen=True)
class ContextReport(ShownInCell, WindowContents):
    """A context window: what fills it, what is free, and what was reduced or left out."""

    # IPython prefers a class's own __repr__ to what it inherits.
    _repr_pretty_ = ShownInCell._repr_pretty_

    @property
    def sheet(self) -> ContextReportView:
        """The same as titles and rows of text, for any renderer."""
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
        """The same as an HTML fragment for a notebook."""
        return to_html(self.sheet)

    def __repr__(self) -> str:
        name = f" of {self.request_id}" if self.request_id else ""
        of = f" of {self.window:,}" if self.window else ""
        return f"<Ledger{name}: {self.used:,}{of} tokens, {len(self.items)} items, {len(self.gone)} gone>"
