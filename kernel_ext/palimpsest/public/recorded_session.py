"""Open recordings from Python: ``open_recording``, whose sessions can be inspected and reported.

Border: imported with the first recording, since it imports all of review, which ``Session`` does not need.
"""

import asyncio
import functools
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from palimpsest.context_policies.registry import get
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.prices.price_file import PriceWords, price_words
from palimpsest.review.prices.prices import PriceOf
from palimpsest.review.recorded_sessions import recording
from palimpsest.review.recorded_sessions.recording import Recording
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.recorded_sessions.session_comparison import Reviewed, review_of_source
from palimpsest.review.session_review import GetPolicy, PolicyLike, SessionReview
from palimpsest.review.timeline_view.chosen_policies import chosen_policies
from palimpsest.review.timeline_view.inspector_parts import inspector_opening
from palimpsest.review.timeline_view.report_data import ReportTexts
from palimpsest.review.timeline_view.view_queries import (
    AskView,
    ViewAnswer,
    ViewQuery,
    checked_query,
)
from palimpsest.session.engine import EngineThread
from palimpsest.store.exchange.import_report import ImportControl

if TYPE_CHECKING:
    from palimpsest.frontends.inspector.answer_queue import AnswerQueue


class RecordedSession(RecordingReview):
    """A session of a recording: its review, and its inspector in a cell and as a file."""

    def inspect(
        self,
        price: PriceWords | None = None,
        lifetime: str | float | None = None,
        *,
        policies: Sequence[PolicyLike] | PolicyLike = (),
        link: str | None = None,
        views: Sequence[str] | str = (),
        hide: Sequence[str] | str = (),
        beside: SessionReview | Reviewed | str | Path | None = None,
        **place: Any,
    ) -> Any:
        """Show in a cell the contents of each request's context, and the requests of other policies.

        The arguments are those of ``Session.inspect``; ``beside`` may be a review, too.
        """
        from palimpsest.frontends.inspector.answer_queue import SessionQuestions
        from palimpsest.frontends.inspector.beside_session import beside_name, review_beside
        from palimpsest.frontends.inspector.inspector_widget import (
            InspectedSession,
            InspectorWidget,
            inspector_view,
        )
        from palimpsest.frontends.operations.notes import WriteNote
        from palimpsest.review.timeline_view.view_answers import ViewAnswers

        engine, queue = _engine_and_queue()
        price_text, policy_list = price_words(price, lifetime), chosen_policies(policies)
        answers, query = ViewAnswers(self), checked_query(AskView, price=price_text)
        questions = SessionQuestions(answers)

        def ask(query: ViewQuery, asker: str) -> Coroutine[Any, Any, ViewAnswer]:
            return queue.answer(questions, query, asker, policy_list)

        async def note(fields: dict[str, Any]) -> ViewAnswer:
            return await asyncio.to_thread(WriteNote.with_arguments(**fields).write_on, self)

        async def this_review() -> SessionReview:
            return self

        name, session_id = beside_name(beside), self.timeline.session
        opening = inspector_opening(
            session_id, link=link, views=views, hide=hide, place=place, beside=name
        )
        other_session, name = beside or opening.place.beside, opening.place.beside
        session_beside = None
        if other_session is not None and name is not None:
            other_review = review_of_source(other_session)
            session_beside = review_beside(name, this_review, other_review, queue, policy_list)
            # Raises UserError now where the two cannot be compared.
            session_beside.comparison(engine, price_text)
        inspected = InspectedSession(
            id=self.timeline.session,
            ask=ask,
            note=note,
            view=lambda: inspector_view(answers.answer(query, policy_list)),
            beside=session_beside,
            policies=policy_list,
        )
        return InspectorWidget(inspected, engine, price_text, opening)

    def report(
        self,
        path: str | Path,
        *,
        policies: Sequence[PolicyLike] | PolicyLike = (),
        texts: ReportTexts = "preview",
        price: PriceWords | None = None,
        lifetime: str | float | None = None,
        beside: SessionReview | Reviewed | str | Path | None = None,
    ) -> Path:
        """Write the inspector as one HTML file, as ``Session.report`` does; returns its path.

        ``beside`` is a session, a review or the path of a recording, such as of the same task: the page then holds
        both, and where they part.
        """
        from palimpsest.frontends.operation_text.report_file import write_report

        return write_report(
            self,
            path,
            environment=os.environ,
            policies=policies,
            texts=texts,
            price=price_words(price, lifetime),
            beside=None if beside is None else review_of_source(beside),
        )


@functools.cache
def _engine_and_queue() -> "tuple[EngineThread, AnswerQueue]":
    """Return the thread and the queue for questions about recordings, which belong to no project."""
    from palimpsest.frontends.inspector.answer_queue import AnswerQueue

    return EngineThread("palimpsest-inspector"), AnswerQueue()


def open_recording(
    path: str | Path,
    *,
    session: str = "",
    get_policy: GetPolicy = get,
    price_of: PriceOf = offline_price,
    price: PriceWords | None = None,
    lifetime: str | float | None = None,
    control: ImportControl | None = None,
    captured: str | Path | None = None,
) -> Recording[RecordedSession]:
    """Open the sessions of a recording, of a folder of recordings, or of a project, for review.

    Any recording that can be imported is accepted (docs/import.md); of a project (a folder with ``.palimpsest``) all
    sessions are read, or the one named by ``session``. Nothing is written beside it. ``price`` and ``lifetime`` apply
    to all of its sessions, as in ``inspect``. ``captured`` is a capture of the recording's HTTP (HAR, or the lines of
    claude-tap or claude-trace): its requests then show the system prompt, the tools and the cache marks that were sent.
    Each session is a review that can be inspected in a cell and written as
    a report. Raises UserError with one sentence.
    """
    opened_recording = recording.open_recording(
        path,
        session=session,
        get_policy=get_policy,
        price_of=price_of,
        price=price,
        lifetime=lifetime,
        control=control,
        review=RecordedSession,
        captured=captured,
    )
    return cast("Recording[RecordedSession]", opened_recording)
