"""Show a session in a cell as a widget; ``session.view()`` returns it.

Border: the kernel's part of the widget. The cell itself holds HTML and plain text only, rewritten
after each turn; the widget is opened beside it and its page draws the live views in place of
the HTML (``labextension/src/widget``). So no widget state is saved in a notebook, and a notebook that is reopened
without a kernel, or sent to another person, looks the same.
"""

import logging
import os
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from palimpsest.frontends.cell_widget import CellWidget
from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.page_channel.notices import missed_notices, new_records
from palimpsest.frontends.page_channel.page_presence import PageWatches
from palimpsest.frontends.protocol.connection import PROTOCOL_VERSION, CurrentNotice
from palimpsest.frontends.static_files import read_built_file
from palimpsest.frontends.turn_output.mime_bundle import Scrub
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.formats import text
from palimpsest.render.formats.html_fragment import render_excerpt
from palimpsest.session.engine import EngineThread, Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible_text

MAX_PLAIN_CHARS = 20_000
"""Maximum characters of the plain text; of a longer session only the end is shown."""
_log = logging.getLogger(__name__)


class SessionView(CellWidget):
    """The widget of one session, shared by all outputs that show it; rewritten after each turn, live in a page."""

    _css = read_built_file("view.css", "")

    def __init__(self, session: KernelSession, engine: EngineThread) -> None:
        self._kernel_session = session
        self._page_watches = PageWatches()
        super().__init__(session.id, engine, read_built_file("view.js"))
        self._unsubscribe = session.subscribe(self._on_records)

    # The saved output of the cell

    def bundle(self) -> dict[str, str]:
        """Return the session as HTML and as plain text, without secrets."""
        snapshot, density = self._kernel_session.snapshot(), self._kernel_session.density
        scrub = scrubber(os.environ)
        notes = OutlineNotes(
            asks=snapshot.asks, decisions=self._kernel_session.decisions(), answers=snapshot.replies
        )
        title = _shown_title(snapshot)
        plain_text = _session_end_text(snapshot, title, scrub, notes, density)
        return {
            "text/html": render_excerpt(
                snapshot.messages,
                title,
                css_class=f"plm-view-{self.key}",
                remark=_subtitle(snapshot),
                scrub=scrub,
                notes=notes,
                density=density,
            ),
            "text/plain": visible_text(plain_text),
        }

    def __repr__(self) -> str:
        return f"<SessionView of {self._kernel_session.id}>"

    # Messages from and to the page

    def _on_records(self, records: Sequence[Record]) -> None:
        """Send records to the page, and update the outputs when a turn ended; on the writer thread."""
        if self._page_watches.is_watched():
            for notice in new_records(self._kernel_session.id, records):
                self._send_notice(notice)
        self._refresh_after_turn(records)

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        match content:
            case {"kind": "watch"}:
                self._page_watches.renew_watch("view", None)
                self._send_notice(CurrentNotice(session=head_of(self._kernel_session)))
            case {"kind": "resync", "id": str(resync_id), "after": None | int() as after_seq}:
                self._on_engine(lambda: self._send_missed_notices(resync_id, after_seq))
            case _:
                _log.debug("The view's page said what nobody understands: %.80r", content)

    async def _send_missed_notices(self, resync_id: str, after_seq: int | None) -> None:
        for notice in await missed_notices(self._kernel_session, after_seq, resync_id):
            self._send_notice(notice)

    def _send_notice(self, notice: BaseModel) -> None:
        """Send a notice; from any thread."""
        self.send({"v": PROTOCOL_VERSION, **notice.model_dump(mode="json", exclude_none=True)})


def view_of(
    session: KernelSession, engine: EngineThread, views: dict[str, SessionView]
) -> SessionView:
    """Return the session's widget; creates a new widget if there is none or its page closed it."""
    view = views.get(session.id)
    if view is None or view.comm is None:
        view = views[session.id] = SessionView(session, engine)
    return view


def _shown_title(snapshot: Snapshot) -> str:
    """Return the session's title, or "New session" before its first message, when the title is a date."""
    return snapshot.session.title if snapshot.session and snapshot.messages else "New session"


def _subtitle(snapshot: Snapshot) -> str:
    info = snapshot.session
    model_text = f" to {info.model.id}" if info is not None and info.model else ""
    step_count = sum(
        part.type == "step-finish" for message in snapshot.messages for part in message.parts
    )
    return f"{counted_noun(step_count, 'model request')}{model_text}"


def _session_end_text(
    snapshot: Snapshot, title: str, scrub: Scrub, notes: OutlineNotes, density: Density
) -> str:
    messages = snapshot.messages
    plain_text = text.render_session(messages, title, scrub=scrub, notes=notes, density=density)
    if len(plain_text) <= MAX_PLAIN_CHARS:
        return plain_text
    cut_index = plain_text.find("\n\n", len(plain_text) - MAX_PLAIN_CHARS)
    end_text = plain_text[cut_index:] if cut_index >= 0 else plain_text[-MAX_PLAIN_CHARS:]
    return f"{title}\n\n[{len(plain_text) - len(end_text):,} characters before this are not shown]{end_text}"
