"""Answer ``%agent context``: the window, one request, the changes between two, and why a request shows an item as it does.

Border: text from a session's review, without secrets; sends and writes nothing.
The ``review`` package is imported at the first question, to keep ``%load_ext`` fast.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_text.command_output import CommandOutput
from palimpsest.render.reports.table import ReportTable
from palimpsest.render.safety.escaping import escape_inline, in_html
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import short_id

if TYPE_CHECKING:
    from palimpsest.review.context_report.context_report import ContextReport
    from palimpsest.review.session_review import SessionReview

NO_REQUEST = "Nothing was sent in this session yet, so there is no request to look at."
MIN_SHORT_ID_CHARS = 4
"""Minimum characters of an id's end that identify an item."""


class ContextAnswers:
    """Answers ``%agent context at``, ``changed`` and ``why`` from a session's review."""

    def __init__(self, services: FrontendServices) -> None:
        self._services = services

    def answer(
        self, question_text: str, session: KernelSession, scrub: Callable[[str], str]
    ) -> CommandOutput:
        """Return the answer to ``at 3``, ``changed 3 8`` or ``why 5 8``; raises UserError."""
        review = self.review(session)
        newest_number = len(review.timeline.requests)
        if not newest_number:
            raise UserError(NO_REQUEST)
        keyword, *operands = question_text.split()
        match keyword:
            case "at":
                return _table_output(review.request(int(operands[0])).table, scrub)
            case "changed":
                first_number, second_number = (*operands, str(newest_number))[:2]
                return _table_output(
                    review.difference(int(first_number), int(second_number)).table, scrub
                )
            case _:
                item_text, request_number = (*operands, str(newest_number))[:2]
                explanation = scrub(
                    review.why(_item_key(review, item_text, request_number), int(request_number))
                )
                html = f"<p>{in_html(explanation)}</p>"
                return CommandOutput(escape_inline(explanation), explanation, html)

    def window(self, session: KernelSession, scrub: Callable[[str], str]) -> "ContextReport":
        """Return the report on the window of the next request; for a read-only recording, of its last request."""
        from palimpsest.review.context_report.report_builder import build_context_report
        from palimpsest.review.recorded_sessions.imported_report import imported_report

        info = session.snapshot(messages=False).session
        if info is not None and info.read_only:
            return imported_report(self.review(session), scrub)
        return build_context_report(
            session.basis(),
            lambda record_types: session.records_after(0, record_types),
            scrub,
            hidden_variables=len(self._services.hidden_names.left_out),
        )

    def review(self, session: KernelSession) -> "SessionReview":
        """Return the review of a session's log, after writing the records that its journal has not written yet."""
        from palimpsest.review.recorded_sessions.stored_review import stored_review

        journal = getattr(session, "journal", None)
        if journal is not None:
            journal.flush_sync()
        services = self._services
        return stored_review(services.services.store, session.id, services.price)


def _item_key(review: "SessionReview", number_or_id: str, request_number: str) -> int | str:
    """Return an item's number from 1, or the id of the item whose part or message has this short id.

    Raises UserError where there is none, with ``request_number`` in its hint.
    """
    items = review.timeline.items
    if number_or_id.isdecimal() and 0 < int(number_or_id) <= len(items):
        return int(number_or_id)
    for item in items if len(number_or_id) >= MIN_SHORT_ID_CHARS else ():
        part_id = item.id.removeprefix(f"{item.message}/")
        short_ids = short_id(part_id.removesuffix("/result")), short_id(item.message)
        if number_or_id in (*short_ids, item.id, item.message, part_id):
            return item.id
    raise UserError(
        f"The session has no item {number_or_id!r:.80}; `%agent context at {request_number}` lists those of a request "
        "with their numbers."
    )


def _table_output(table: ReportTable, scrub: Callable[[str], str]) -> CommandOutput:
    return CommandOutput(scrub(table.markdown), scrub(table.text), scrub(table.html))
