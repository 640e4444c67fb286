"""Show a session in a cell as a widget; ``session.view()`` returns it.

Border: the widget's half in the kernel. The cell itself holds HTML and plain text only, written
anew after each turn; the widget is opened beside it and its page draws the live views in place of
the HTML (``labextension/src/widget``). So a notebook never holds a widget that could be dead, and
one that is reopened without a kernel, or sent to another person, looks as it did.
"""

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from palimpsest.frontends.cell_widget import CellWidget
from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.page_channel.notices import new_records, resynced
from palimpsest.frontends.page_channel.page_presence import PageWatches
from palimpsest.frontends.protocol.connection import PROTOCOL_VERSION, CurrentNotice
from palimpsest.frontends.static_files import built
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.content.phrases import some
from palimpsest.render.formats import text
from palimpsest.render.formats.html_fragment import render_excerpt
from palimpsest.session.engine import EngineThread, Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible

PLAIN_CHARS = 20_000
"""Length of the plain text, which is the end of the session."""
_log = logging.getLogger(__name__)


class SessionView(CellWidget):
    """One session's widget; every output that shows it is drawn from the same one.

    Responsibilities: display the static HTML and write it anew after each turn; send the session's
    records to a page that watches.
    """

    _css = built("view.css", "")

    def __init__(self, live: KernelSession, engine: EngineThread) -> None:
        self._live = live
        self._watches = PageWatches()
        super().__init__(live.id, engine, built("view.js"))
        self._unsubscribe = live.subscribe(self._told)

    # What the cell holds

    def bundle(self) -> dict[str, str]:
        """Return the session as HTML and as plain text, without secrets."""
        picture = self._live.snapshot()
        clean = scrubber(os.environ)
        notes = OutlineNotes(
            asks=picture.asks, decisions=self._live.decisions(), answers=picture.replies
        )
        title = _title(picture)

        return {
            "text/html": render_excerpt(
                picture.messages,
                title,
                mark=f"plm-view-{self.key}",
                remark=_remark(picture),
                scrub=clean,
                notes=notes,
                density=self._live.density,
            ),
            "text/plain": visible(_plain(picture, title, clean, notes, self._live.density)),
        }

    def __repr__(self) -> str:
        return f"<SessionView of {self._live.id}>"

    # Messages from and to the page

    def _told(self, records: Sequence[Record]) -> None:
        """Send records to the page, and update the outputs when a turn ended; on the writer thread."""
        if self._watches.fresh():
            for notice in new_records(self._live.id, records):
                self._tell(notice)
        self._refresh_after_turn(records)

    def _heard(self, _widget: Any, content: Any, _buffers: Any) -> None:
        match content:
            case {"kind": "watch"}:
                self._watches.renew("view", None)
                self._tell(CurrentNotice(session=head_of(self._live)))
            case {"kind": "resync", "id": str(resync), "after": None | int() as after}:
                self._on_engine(lambda: self._tell_again(resync, after))
            case _:
                _log.debug("The view's page said what nobody understands: %.80r", content)

    async def _tell_again(self, resync: str, after: int | None) -> None:
        for notice in await resynced(self._live, after, resync):
            self._tell(notice)

    def _tell(self, notice: BaseModel) -> None:
        """Send a notice; from any thread."""
        self.send({"v": PROTOCOL_VERSION, **notice.model_dump(mode="json", exclude_none=True)})


def view_of(
    live: KernelSession, engine: EngineThread, views: dict[str, SessionView]
) -> SessionView:
    """Return the session's widget; makes one when there is none or its page closed it."""
    known = views.get(live.id)
    if known is None or known.comm is None:
        known = views[live.id] = SessionView(live, engine)
    return known


def _title(picture: Snapshot) -> str:
    """Return the session's title, or "New session" before its first message, when the title is a date."""
    return picture.session.title if picture.session and picture.messages else "New session"


def _remark(picture: Snapshot) -> str:
    session = picture.session
    model = f" to {session.model.id}" if session is not None and session.model else ""
    steps = sum(part.type == "step-finish" for m in picture.messages for part in m.parts)
    return f"{some(steps, 'model request')}{model}"


def _plain(
    picture: Snapshot,
    title: str,
    clean: Callable[[str], str],
    notes: OutlineNotes,
    density: Density,
) -> str:
    """Return the end of the session as plain text."""
    words = text.render_session(picture.messages, title, scrub=clean, notes=notes, density=density)
    if len(words) <= PLAIN_CHARS:
        return words
    cut = words.find("\n\n", len(words) - PLAIN_CHARS)
    kept = words[cut:] if cut >= 0 else words[-PLAIN_CHARS:]
    return f"{title}\n\n[{len(words) - len(kept):,} characters before this are not shown]{kept}"
