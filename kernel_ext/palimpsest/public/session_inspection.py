"""The methods of ``Session`` that show its context: the inspector in a cell, and a report as a file."""

import re
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest.public.session_calls import SessionCalls

if TYPE_CHECKING:
    from palimpsest.frontends.inspector.beside_session import BesideSession
    from palimpsest.review.prices.price_file import PriceWords
    from palimpsest.review.recorded_sessions.session_comparison import Reviewed
    from palimpsest.review.session_review import PolicyLike, SessionReview
    from palimpsest.review.tables.inspector_place import InspectorPlace
    from palimpsest.review.timeline_view.chosen_policies import ChosenPolicies
    from palimpsest.review.timeline_view.report_data import ReportTexts
    from palimpsest.review.timeline_view.view_queries import ViewAnswer, ViewQuery

SESSION_ID = re.compile(r"ses_\w+")


class SessionInspection(SessionCalls):
    """Shows one session of the project."""

    def inspect(
        self,
        price: "PriceWords | None" = None,
        lifetime: str | float | None = None,
        *,
        policies: "Sequence[PolicyLike] | PolicyLike" = (),
        link: str | None = None,
        views: Sequence[str] | str = (),
        hide: Sequence[str] | str = (),
        beside: "Reviewed | str | Path | None" = None,
        **place: Any,
    ) -> Any:
        """Show in a cell what filled the context in each request, and what other policies would have sent.

        It follows the session while the kernel lives; the notebook keeps a picture and tables, which need no
        kernel. ``price`` is a model's id, ``units``, ``MODEL=in/out/read/write`` or a price file; None for the session's
        models. ``lifetime`` are the seconds for which the cache keeps a prefix, or words such as ``1h``. ``policies``
        stand first in the list of policies: your own, by name, themselves or as a function, or any with other numbers.
        ``link`` is a link to a place in the session, and ``place`` the fields of one, as in
        ``request=209, tab="cost", policy="sweagent.last_n n=10"`` (docs/inspector.md). While it is open, ``view.place``
        reads and sets what is shown. ``views`` are parts that are shown alone, such as ``["grid"]``; what ``hide`` names,
        such as ``["cost", "breaks"]``, is hidden, with what else tells it, until ``view.reveal()``.
        ``beside`` is another session of the project, its id, or the path of a recording: the cell then shows both, and
        where they part. Raises UserError, with one sentence, for what is no price, no policy, no part, no place or no
        session.

        >>> view = session.inspect(request=1, tab="cost")
        >>> view.place.tab
        'cost'
        """
        from palimpsest.frontends.inspector.beside_session import beside_name
        from palimpsest.frontends.inspector.inspector_widget import (
            InspectedSession,
            InspectorWidget,
            inspector_view,
        )
        from palimpsest.frontends.operations.notes import WriteNote
        from palimpsest.review.prices.price_file import price_words
        from palimpsest.review.timeline_view.chosen_policies import chosen_policies
        from palimpsest.review.timeline_view.inspector_parts import inspector_opening
        from palimpsest.review.timeline_view.view_queries import AskView, checked_query

        app, kernel_session = self._app, self._kernel_session
        price_text, policy_list = price_words(price, lifetime), chosen_policies(policies)
        beside_place, session_id = beside_name(beside), kernel_session.id
        opening = inspector_opening(
            session_id, link=link, views=views, hide=hide, place=place, beside=beside_place
        )
        view_key = (
            f"inspect {kernel_session.id} {price_text or ''} {' , '.join(policy_list)} {opening}"
        )
        earlier_view = app.views.get(view_key)
        # A recording that is shown beside is read anew.
        if (
            earlier_view is not None
            and earlier_view.comm is not None
            and earlier_view.policies == policy_list
            and SESSION_ID.fullmatch(earlier_view.beside or kernel_session.id)
        ):
            earlier_view.open_again(opening)
            return earlier_view
        query = checked_query(AskView, price=price_text)

        def ask(query: "ViewQuery", asker: str) -> "Coroutine[Any, Any, ViewAnswer]":
            return app.inspections.answer_session(kernel_session.id, query, asker, policy_list)

        async def note(fields: "dict[str, Any]") -> "ViewAnswer":
            note_fields = {**fields, "session": kernel_session.id, "path": None}
            return await WriteNote.with_arguments(**note_fields).run(self._operation_context())

        inspected = InspectedSession(
            id=kernel_session.id,
            ask=ask,
            note=note,
            view=lambda: inspector_view(app.engine.submit(ask(query, "")).result()),
            kernel_session=kernel_session,
            beside=self._session_beside(beside or opening.place.beside, opening.place, policy_list),
            policies=policy_list,
        )
        if inspected.beside is not None:
            # Raises UserError now where the two cannot be compared.
            inspected.beside.comparison(app.engine, price_text)
        widget = app.views[view_key] = InspectorWidget(inspected, app.engine, price_text, opening)
        return widget

    def link(
        self,
        request: int | None = None,
        item: int | None = None,
        *,
        price: "PriceWords | None" = None,
        lifetime: str | float | None = None,
        **place: Any,
    ) -> str:
        """Return the link to a place of the session, which ``inspect(link=...)`` and every view open.

        Requests and items count from 1. The arguments are those of ``inspect``; raises UserError as it does.

        >>> session.link(request=1, tab="cost").endswith("/1?tab=cost")
        True
        """
        from palimpsest.review.tables.inspector_place import link_of_fields

        fields = {"request": request, "item": item, **place}
        return link_of_fields(self._kernel_session.id, fields, price, lifetime)

    def report(
        self,
        path: str | Path,
        *,
        policies: "Sequence[PolicyLike] | PolicyLike" = (),
        texts: "ReportTexts" = "preview",
        price: "PriceWords | None" = None,
        lifetime: str | float | None = None,
        beside: "Reviewed | str | Path | None" = None,
    ) -> Path:
        """Write the inspector as one HTML file that needs no server, kernel or network; returns its path.

        ``policies`` are names, with numbers as in ``"sweagent.last_n n=10"``, or your own; without any, three of the
        field. ``texts`` is ``none``, ``preview`` (the first 200 characters of each) or ``all``. What looks like a key
        is removed. ``beside`` is another session of the project, its id, or the path of a recording, such as of the
        same task: the page then holds both, and where they part. Raises UserError for a file that is there and is no
        report, and for a policy that fails.

        >>> session.report("report.html", policies=["opencode.prune"], texts="none").name
        'report.html'
        """
        from palimpsest.frontends.operation_text.report_file import write_report
        from palimpsest.review.prices.price_file import price_words

        app = self._app
        return write_report(
            app.inspections.answers(self._kernel_session.id).review(),
            path,
            environment=app.services.environment,
            policies=policies,
            texts=texts,
            price=price_words(price, lifetime),
            beside=None if beside is None else self._review_beside(beside),
        )

    def _review_beside(self, beside: "Reviewed | str | Path") -> "SessionReview":
        """Return the review of another session of the project, or of the first session of a recording."""
        from palimpsest.review.recorded_sessions.session_comparison import review_of_source

        if isinstance(beside, str) and SESSION_ID.fullmatch(beside):
            return self._app.inspections.answers(beside).review()
        return review_of_source(beside)

    def _session_beside(
        self,
        beside: "Reviewed | str | Path | None",
        place: "InspectorPlace",
        policies: "ChosenPolicies",
    ) -> "BesideSession | None":
        """Return what is shown beside this session; None without ``beside``. Raises UserError where it cannot be read."""
        from palimpsest.frontends.inspector.beside_session import (
            project_session_beside,
            review_beside,
        )

        if beside is None or place.beside is None:
            return None
        inspections, session_id = self._app.inspections, self._kernel_session.id
        is_id = isinstance(beside, str) and SESSION_ID.fullmatch(beside)
        if is_id or (isinstance(beside, SessionInspection) and beside._app is self._app):  # noqa: SLF001 - of this class
            return project_session_beside(inspections, session_id, place.beside, policies)
        other_review = self._review_beside(beside)
        return review_beside(
            place.beside,
            lambda: inspections.review(session_id),
            other_review,
            inspections.queue,
            policies,
        )
