"""Show a session's inspector in a cell; ``session.inspect()`` returns it.

Border: the widget's half in the kernel. The cell keeps a picture and tables, written anew after each turn; the
page draws the inspector in their place (``labextension/src/widget``) and asks over the widget's comm. Answers
are made in worker threads.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import traitlets
from pydantic import TypeAdapter, ValidationError

from palimpsest.frontends.cell_widget import CellWidget
from palimpsest.frontends.inspector.saved_output import saved_output
from palimpsest.frontends.static_files import built
from palimpsest.review.recordings.session_answers import GROWTH
from palimpsest.review.timeline_view.view_queries import (
    AskCompaction,
    AskTrack,
    AskView,
    ViewAnswer,
    ViewQuery,
)
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.session.controls.context_edits import ContextEditAction
from palimpsest.session.engine import EngineThread
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import Record

CHANGED_SECONDS = 0.5
"""A page hears at most so often that the session grew."""
EDITS: frozenset[str] = frozenset({"pin", "unpin", "exclude", "restore"})
QUERY: TypeAdapter[ViewQuery] = TypeAdapter(ViewQuery)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InspectedSession:
    """What a widget needs of the session that it shows."""

    id: str
    ask: Callable[[ViewQuery, str], Coroutine[Any, Any, ViewAnswer]]
    """Answers a question about it, given who asks; called on the engine's loop."""
    view: Callable[[], TimelineView]
    """Returns the newest view, for the saved output; called on any thread but the engine's."""
    live: KernelSession | None = None
    """A session of this kernel, which is followed and may be edited."""


class InspectorWidget(CellWidget):
    """One session's inspector.

    Responsibilities: answer the page's questions and carry out its edits; say when the session grew; write the
    saved output anew after each turn.
    """

    _css = built("inspector.css", "")
    own = traitlets.Bool(default_value=False).tag(sync=True)
    """A session that can be written: its items can be pinned, left out and restored."""

    def __init__(
        self, inspected: InspectedSession, engine: EngineThread, price: str | None = None
    ) -> None:
        self._inspected = inspected
        self._price = price
        self._is_watched = False
        self._told_at = 0.0
        self._is_due = False
        super().__init__(inspected.id, engine, built("inspector.js"))
        live = inspected.live
        self.own = live is not None and not live.read_only
        if live is not None:
            self._unsubscribe = live.subscribe(self._grew)

    def bundle(self) -> dict[str, str]:
        """Return the session's picture and tables as HTML, and the tables as plain text."""
        return saved_output(self._inspected.view(), f"plm-inspect-{self.key}", os.environ)

    def __repr__(self) -> str:
        return f"<InspectorWidget of {self._inspected.id}>"

    # Messages from and to the page

    def _heard(self, _widget: Any, content: Any, _buffers: Any) -> None:
        match content:
            case {"kind": "ask", "id": str(identifier), "query": dict(query)}:
                self._is_watched = True
                self._on_engine(lambda: self._answer(identifier, query))
            case {"kind": "edit", "id": str(identifier), "action": str(action), "part": str(part)}:
                self._on_engine(lambda: self._edit(identifier, action, part))
            case _:
                _log.debug("The inspector's page said what nobody understands: %.80r", content)

    async def _answer(self, identifier: str, query: dict[str, Any]) -> None:
        try:
            asked = self._priced(QUERY.validate_python(query))
        except ValidationError:
            answer = ViewAnswer(error="The page and the kernel are of different versions; reload.")
        else:
            answer = await self._inspected.ask(asked, self.key)
        told = answer.model_dump(mode="json", exclude_none=True)
        self.send({"kind": "answer", "id": identifier, "answer": told})

    def _priced(self, query: ViewQuery) -> ViewQuery:
        """Return a question with the prices that the inspector was opened with; what the page asks for wins."""
        if not isinstance(query, AskView | AskTrack | AskCompaction):
            return query
        words = " ".join(one for one in (self._price, query.price) if one)
        return query.model_copy(update={"price": words or None})

    async def _edit(self, identifier: str, action: str, part: str) -> None:
        error = await asyncio.to_thread(self._edited, action, part)
        self.send({"kind": "edited", "id": identifier, "error": error})

    def _edited(self, action: str, part: str) -> str:
        """Change what later requests show of a part; returns one sentence where that cannot be done."""
        live = self._inspected.live
        if live is None or action not in EDITS:
            return "This recording is only read, so nothing in it can be changed."
        chosen: ContextEditAction = action  # type: ignore[assignment]  # one of EDITS
        try:
            live.edit_context(chosen, part)
        except UserError as error:
            return str(error)
        return ""

    def _grew(self, records: Sequence[Record]) -> None:
        """Tell the page that there is more, and write the outputs anew after a turn; on the writer thread."""
        self._refresh_after_turn(records)
        if self._is_watched and any(one.event.type in GROWTH for one in records):
            self._on_engine(self._tell_changed)

    async def _tell_changed(self) -> None:
        """Tell the page once for all that grew meanwhile."""
        if self._is_due:
            return
        self._is_due = True
        await asyncio.sleep(max(0.0, self._told_at + CHANGED_SECONDS - time.monotonic()))
        self._is_due, self._told_at = False, time.monotonic()
        live = self._inspected.live
        self.send(
            {"kind": "changed", "seq": live.snapshot(messages=False).seq if live is not None else 0}
        )


def inspector_view(answer: ViewAnswer) -> TimelineView:
    """Return the view in an answer; raises UserError with its sentence where there is none."""
    if answer.view is None:
        raise UserError(answer.error or "The session cannot be shown.")
    return answer.view
