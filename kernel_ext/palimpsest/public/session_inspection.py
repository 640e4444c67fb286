"""The methods of ``Session`` that show its context: the inspector in a cell, and a report as a file."""

from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest.public.session_calls import SessionCalls

if TYPE_CHECKING:
    from palimpsest.review.prices.price_file import PriceWords
    from palimpsest.review.timeline_view.report_data import ReportTexts
    from palimpsest.review.timeline_view.view_queries import ViewAnswer, ViewQuery


class SessionInspection(SessionCalls):
    """Shows one session of the project."""

    def inspect(
        self, price: "PriceWords | None" = None, lifetime: str | float | None = None
    ) -> Any:
        """Show in a cell what filled the context in each request, and what other policies would have sent.

        It follows the session while the kernel lives; the notebook keeps a picture and tables, which need no
        kernel. ``price`` is a model's id, ``units``, ``MODEL=in/out/read/write`` or a price file; None for the session's
        models. ``lifetime`` are the seconds for which the cache keeps a prefix, or words such as ``1h``.

        >>> session.inspect()
        <InspectorWidget of ses_...>
        """
        from palimpsest.frontends.inspector.inspector_widget import (
            InspectedSession,
            InspectorWidget,
            inspector_view,
        )
        from palimpsest.review.prices.price_file import price_words
        from palimpsest.review.timeline_view.view_queries import AskView, checked_query

        app, live = self._app, self._live
        words = price_words(price, lifetime)
        key = f"inspect {live.id} {words or ''}"
        known = app.views.get(key)
        if known is not None and known.comm is not None:
            return known
        query = checked_query(AskView, price=words)

        def ask(query: "ViewQuery", asker: str) -> "Coroutine[Any, Any, ViewAnswer]":
            return app.inspections.answer_session(live.id, query, asker)

        inspected = InspectedSession(
            id=live.id,
            ask=ask,
            view=lambda: inspector_view(app.engine.submit(ask(query, "")).result()),
            live_session=live,
        )
        widget = app.views[key] = InspectorWidget(inspected, app.engine, words)
        return widget

    def report(
        self,
        path: str | Path,
        *,
        policies: Sequence[str] | str = (),
        texts: "ReportTexts" = "preview",
        price: "PriceWords | None" = None,
        lifetime: str | float | None = None,
    ) -> Path:
        """Write the inspector as one HTML file that needs no server, kernel or network; returns its path.

        ``policies`` are names, with numbers as in ``"sweagent.last_n n=10"``; without any, three of the field.
        ``texts`` is ``none``, ``preview`` (the first 200 characters of each) or ``all``. What looks like a key
        is removed. Raises UserError for a file that is there and is no report.

        >>> session.report("report.html", policies=["opencode.prune"], texts="none").name
        'report.html'
        """
        from palimpsest.review.prices.price_file import price_words

        words = price_words(price, lifetime)
        chosen = (policies,) if isinstance(policies, str) else tuple(policies)
        prices = (words,) if words else None
        written = self._at_once(
            "report",
            session=self._live.id,
            file=str(path),
            policy=(chosen,),
            texts=texts,
            price=prices,
        )
        return Path(written.values["file"])
