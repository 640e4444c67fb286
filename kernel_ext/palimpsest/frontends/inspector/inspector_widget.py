"""Show a session's inspector in a cell; ``session.inspect()`` returns it.

Border: the kernel's part of the widget. The cell keeps a picture and tables, rewritten after each turn; the
page draws the inspector in their place (``labextension/src/widget``) and sends questions over the widget's comm. Answers
are computed in worker threads.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import traitlets
from pydantic import TypeAdapter, ValidationError

from palimpsest.frontends.cell_widget import CellWidget
from palimpsest.frontends.inspector.beside_session import BesideSession
from palimpsest.frontends.inspector.place_trait import PlaceTrait, link_of_place, place_of_link
from palimpsest.frontends.inspector.saved_output import saved_output
from palimpsest.frontends.static_files import read_built_file
from palimpsest.review.recorded_sessions.session_answers import GROWTH_EVENTS
from palimpsest.review.tables.inspector_place import NEWEST_PLACE, place_link, with_prices
from palimpsest.review.timeline_view.chosen_policies import ChosenPolicies
from palimpsest.review.timeline_view.inspector_parts import (
    OPENS_WHOLE,
    InspectorOpening,
    InspectorPart,
    hidden_with,
    parts_named,
)
from palimpsest.review.timeline_view.view_queries import (
    AskCompaction,
    AskComparison,
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

MIN_NOTICE_SECONDS = 0.5
"""Minimum time between two notices that the session grew."""
EDIT_ACTIONS: frozenset[str] = frozenset({"pin", "unpin", "exclude", "restore"})
QUERY_ADAPTER: TypeAdapter[ViewQuery] = TypeAdapter(ViewQuery)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InspectedSession:
    """The parts of a session that its widget uses."""

    id: str
    ask: Callable[[ViewQuery, str], Coroutine[Any, Any, ViewAnswer]]
    """Answers a question about the session, given the id of the asker; called on the engine's loop."""
    view: Callable[[], TimelineView]
    """Returns the newest view, for the saved output; called on any thread but the engine's."""
    note: Callable[[dict[str, Any]], Coroutine[Any, Any, ViewAnswer]]
    """Writes, changes or removes a note, by the fields of ``WriteNote``; called on the engine's loop, raises UserError."""
    kernel_session: KernelSession | None = None
    """A session of this kernel, whose records are observed and which may be edited."""
    beside: BesideSession | None = None
    """The session that is shown beside it."""
    policies: ChosenPolicies = field(default_factory=dict)
    """The policies that stand before the presets; ``ask`` and ``view`` know them."""


class InspectorWidget(CellWidget):
    """One session's inspector.

    Responsibilities: answer the page's questions, carry out its edits and write its notes; notify it when the session grew;
    rewrite the saved output after each turn.
    """

    _css = read_built_file("inspector.css", "")
    own = traitlets.Bool(default_value=False).tag(sync=True)
    """Whether the session can be written: its items can be pinned, excluded and restored."""

    price = traitlets.Unicode().tag(sync=True)
    """The prices with which it opened, which a link to it carries; empty for the recorded model's."""
    place = PlaceTrait().tag(sync=True, to_json=link_of_place, from_json=place_of_link)
    """What the page shows; set, it moves the page, and ``observe`` tells of each move.

    >>> view.place = {"request": 209, "tab": "cost"}
    >>> view.place.request
    209
    """

    views = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The parts that are shown alone; none for all, in tabs."""
    hidden = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The parts that are not shown until ``reveal`` is called."""

    def __init__(
        self,
        inspected: InspectedSession,
        engine: EngineThread,
        price: str | None = None,
        opening: InspectorOpening = OPENS_WHOLE,
    ) -> None:
        self._inspected_session = inspected
        self._hidden_parts = opening.hide
        self._is_watched = False
        self._notified_at = 0.0
        self._has_pending_notice = False
        super().__init__(
            inspected.id,
            engine,
            read_built_file("inspector.js"),
            price=price or "",
            place=opening.place,
            views=list(opening.views),
            hidden=list(hidden_with(opening.hide)),
        )
        kernel_session = inspected.kernel_session
        self.own = kernel_session is not None and not kernel_session.read_only
        if kernel_session is not None:
            self._unsubscribe = kernel_session.subscribe(self._on_records)

    @property
    def policies(self) -> ChosenPolicies:
        """The policies that stand before the presets."""
        return self._inspected_session.policies

    @property
    def beside(self) -> str | None:
        """How a link names the session beside; None where it is shown alone."""
        beside = self._inspected_session.beside
        return None if beside is None else beside.name

    def bundle(self) -> dict[str, str]:
        """Return the session's picture and tables as HTML, and the tables as plain text."""
        css_class = f"plm-inspect-{self.key}"
        beside = self._inspected_session.beside
        return saved_output(
            self._inspected_session.view(),
            css_class,
            os.environ,
            tuple(self.views),
            tuple(self.hidden),
            None if beside is None else beside.comparison(self._engine, self.price or None),
        )

    def __repr__(self) -> str:
        return f"<InspectorWidget of {self._inspected_session.id}>"

    @property
    def link(self) -> str:
        """The link to what is shown, as *Copy link* copies it, also to the prices with which it opened."""
        price = with_prices(self.price or None, self.place.price)
        return place_link(self.session, self.place.model_copy(update={"price": price}))

    def move_to(self, **fields: Any) -> None:
        """Change these fields of the place, and leave the others; raises UserError for one that is not valid.

        >>> view.move_to(request=210, item=None)
        """
        self.place = {**self.place.model_dump(exclude_unset=True), **fields}

    def open_again(self, opening: InspectorOpening) -> None:
        """Go back to how it opened: to its place, if one was given, and with what is hidden."""
        if opening.place != NEWEST_PLACE:
            self.place = opening.place
        self._hide_only(opening.hide)

    def reveal(self, *answers: str) -> None:
        """Show what was hidden, or only these parts of it, in the page and in the saved cell.

        Raises UserError for a name that is no part.

        >>> view = session.inspect(hide=["cost", "breaks"])
        >>> view.reveal("breaks")
        >>> view.reveal()
        """
        revealed_parts = parts_named(answers, "reveal") or self._hidden_parts
        self._hide_only(tuple(part for part in self._hidden_parts if part not in revealed_parts))

    def _hide_only(self, hidden_parts: tuple[InspectorPart, ...]) -> None:
        self._hidden_parts = hidden_parts
        hidden_names = list(hidden_with(hidden_parts))
        if hidden_names != self.hidden:
            self.hidden = hidden_names
            self._on_engine(self._refresh)

    # Messages from and to the page

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        match content:
            case {"kind": "ask", "id": str(message_id), "query": dict(query)}:
                self._is_watched = True
                is_second = content.get("side") == "second"
                self._on_engine(lambda: self._send_answer(message_id, query, is_second=is_second))
            case {"kind": "edit", "id": str(message_id), "action": str(action), "part": str(part)}:
                self._on_engine(lambda: self._send_edit_outcome(message_id, action, part))
            case {"kind": "note", "id": str(message_id), "words": dict(words)}:
                self._on_engine(lambda: self._write_note(message_id, words))
            case _:
                _log.debug("The inspector's page said what nobody understands: %.80r", content)

    async def _send_answer(
        self, message_id: str, query: dict[str, Any], *, is_second: bool
    ) -> None:
        try:
            priced_query = self._with_price(QUERY_ADAPTER.validate_python(query))
        except ValidationError:
            answer = ViewAnswer(error="The page and the kernel are of different versions; reload.")
        else:
            answer = await self._answer(priced_query, is_second=is_second)
        self._send_to_page(message_id, answer)

    def _send_to_page(self, message_id: str, answer: ViewAnswer) -> None:
        content = answer.model_dump(mode="json", exclude_none=True)
        self.send({"kind": "answer", "id": message_id, "answer": content})

    async def _answer(self, query: ViewQuery, *, is_second: bool) -> ViewAnswer:
        """Answer a question about the session, the one beside it, or both."""
        beside = self._inspected_session.beside
        if beside is None:
            return await self._inspected_session.ask(query, self.key)
        if isinstance(query, AskComparison):
            return await beside.compare(query)
        return await (beside if is_second else self._inspected_session).ask(query, self.key)

    async def _write_note(self, message_id: str, note_fields: dict[str, Any]) -> None:
        try:
            answer = await self._inspected_session.note(note_fields)
        except UserError as error:
            answer = ViewAnswer(error=str(error))
        self._send_to_page(message_id, answer)

    def _with_price(self, query: ViewQuery) -> ViewQuery:
        """Return a question with the inspector's prices, before those in the question, which win."""
        if not isinstance(query, AskView | AskTrack | AskCompaction | AskComparison):
            return query
        price = with_prices(self.price or None, query.price)
        return query.model_copy(update={"price": price})

    async def _send_edit_outcome(self, message_id: str, action: str, part_id: str) -> None:
        error = await asyncio.to_thread(self._apply_edit, action, part_id)
        self.send({"kind": "edited", "id": message_id, "error": error})

    def _apply_edit(self, action: str, part_id: str) -> str:
        """Edit a part for later requests; returns an error of one sentence, or an empty text."""
        kernel_session = self._inspected_session.kernel_session
        if kernel_session is None or action not in EDIT_ACTIONS:
            return "This recording is only read, so nothing in it can be changed."
        edit_action: ContextEditAction = action  # type: ignore[assignment]  # one of EDIT_ACTIONS
        try:
            kernel_session.edit_context(edit_action, part_id)
        except UserError as error:
            return str(error)
        return ""

    def _on_records(self, records: Sequence[Record]) -> None:
        """Notify the page of new records, and rewrite the outputs after a turn; on the writer thread."""
        self._refresh_after_turn(records)
        if self._is_watched and any(record.event.type in GROWTH_EVENTS for record in records):
            self._on_engine(self._notify_changed)

    async def _notify_changed(self) -> None:
        """Notify the page once for all records that arrived since the last notice."""
        if self._has_pending_notice:
            return
        self._has_pending_notice = True
        await asyncio.sleep(max(0.0, self._notified_at + MIN_NOTICE_SECONDS - time.monotonic()))
        self._has_pending_notice, self._notified_at = False, time.monotonic()
        kernel_session = self._inspected_session.kernel_session
        seq = kernel_session.snapshot(messages=False).seq if kernel_session is not None else 0
        self.send({"kind": "changed", "seq": seq})


def inspector_view(answer: ViewAnswer) -> TimelineView:
    """Return the view in an answer; raises UserError with the answer's error where it has no view."""
    if answer.view is None:
        raise UserError(answer.error or "The session cannot be shown.")
    return answer.view
