"""Show the window or one request of a session, what changed between two, and why an item is in one or not.

Border: text from a session's review; nothing is sent or written, and what comes out is cleaned of secrets.
Review is imported with the first question, so that ``%load_ext`` does without.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.render.reports.table import ReportTable
from palimpsest.render.safety.escaping import in_html, inline
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import short

if TYPE_CHECKING:
    from palimpsest.review.comparison.session_review import SessionReview
    from palimpsest.review.inspection.context_report import ContextReport

NO_REQUEST = "Nothing was sent in this session yet, so there is no request to look at."
SHORT_ID = 4
"""Characters from which on the end of an id names an item."""


class ContextAnswers:
    """Answers ``%agent context at``, ``changed`` and ``why`` from a session's review."""

    def __init__(self, services: FrontendServices) -> None:
        self._services = services

    def run(
        self, argument: str, session: KernelSession, clean: Callable[[str], str]
    ) -> CommandOutput:
        """Return the answer to ``at 3``, ``changed 3 8`` or ``why 5 8``; raises UserError."""
        review = self.review(session)
        newest = len(review.timeline.requests)
        if not newest:
            raise UserError(NO_REQUEST)
        name, *rest = argument.split()
        match name:
            case "at":
                return _shown(review.request(int(rest[0])).table, clean)
            case "changed":
                first, second = (*rest, str(newest))[:2]
                return _shown(review.difference(int(first), int(second)).table, clean)
            case _:
                item, request = (*rest, str(newest))[:2]
                words = clean(review.why(_item(review, item, request), int(request)))
                return CommandOutput(inline(words), words, f"<p>{in_html(words)}</p>")

    def window(self, session: KernelSession, clean: Callable[[str], str]) -> "ContextReport":
        """Return what fills the window: in the next request, or in the last one of a recording that is only read."""
        from palimpsest.review.inspection.report_builder import build_context_report
        from palimpsest.review.recordings.imported_report import imported_report

        kept = session.snapshot(messages=False).session
        if kept is not None and kept.read_only:
            return imported_report(self.review(session), clean)
        return build_context_report(
            session.basis(),
            lambda only: session.records_after(0, only),
            clean,
            hidden_variables=len(self._services.hidden_names.left_out),
        )

    def review(self, session: KernelSession) -> "SessionReview":
        """Return the review of a session as far as it is written."""
        from palimpsest.review.recordings.stored_review import stored_review

        journal = getattr(session, "journal", None)
        if journal is not None:
            journal.flush_sync()
        services = self._services
        return stored_review(services.services.store, session.id, services.price)


def _item(review: "SessionReview", name: str, request: str) -> int | str:
    """Return an item's number from 1, or the id that a short id of a part or message is the end of.

    Raises UserError where there is none; ``request`` is what was asked about.
    """
    items = review.timeline.items
    if name.isdecimal() and 0 < int(name) <= len(items):
        return int(name)
    for item in items if len(name) >= SHORT_ID else ():
        part = item.id.removeprefix(f"{item.message}/")
        if name in (short(part.removesuffix("/result")), short(item.message)):
            return item.id
        if name in (item.id, item.message, part):
            return item.id
    raise UserError(
        f"The session has no item {name!r}; `%agent context at {request}` lists those of a request "
        "with their numbers."
    )


def _shown(table: ReportTable, clean: Callable[[str], str]) -> CommandOutput:
    return CommandOutput(clean(table.markdown), clean(table.text), clean(table.html))
