"""A widget whose cell keeps HTML and plain text only, and whose page draws a live view over them.

Border: what ``session.view()`` and ``session.inspect()`` have in common. A notebook never holds a widget that
could be dead, and one that is reopened without a kernel, or sent to another person, looks as it did.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from palimpsest.frontends.static_files import built
from palimpsest.session.engine import EngineThread
from palimpsest.transcript.session_record.events import Record, SessionStatus
from palimpsest.transcript.session_record.sessions import Idle

SHOWN = 8
"""How many of the newest outputs are updated; a cell that runs again makes another output."""

_log = logging.getLogger(__name__)


class CellWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget has no types
    """A widget beside the saved output of its cells.

    Responsibilities: display the saved output and write it anew; open the comm without disturbing cells; do
    work on the engine.
    """

    _esm = built("loader.js", "export default {};")
    module = traitlets.Unicode().tag(sync=True)
    """The widget's JavaScript, which the loader imports."""
    key = traitlets.Unicode().tag(sync=True)
    """Identifies the element of the page that the live view replaces."""
    session = traitlets.Unicode().tag(sync=True)

    def __init__(self, session: str, engine: EngineThread, module: str) -> None:
        self._engine = engine
        self._outputs: list[tuple[str, dict[str, Any]]] = []
        self._unsubscribe: Callable[[], None] = lambda: None
        """Stops following the session."""
        super().__init__(key=secrets.token_hex(8), session=session, module=module)
        self.on_msg(self._heard)

    def open(self) -> None:
        """Open the comm, and keep it out of the way of cells (spec/kernel.md A1, A5)."""
        super().open()
        comm = self.comm
        if comm is not None:
            # ipykernel 7.4 delivers messages to the thread that published last, maybe a busy cell's.
            comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001
            # comm's own handler would tell IPython that a cell begins and ends, and flush its figures.
            comm.handle_msg = self._handle_msg

    def close(self) -> None:
        """Stop following the session and close the comm."""
        self._unsubscribe()
        super().close()

    def _heard(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Answer the page; on the thread where its message arrives, so the work goes to the engine."""
        raise NotImplementedError

    def bundle(self) -> dict[str, str]:
        """Return what the cell keeps, by MIME type, without secrets."""
        raise NotImplementedError

    def _ipython_display_(self, **_: Any) -> None:
        shell = get_ipython()
        if shell is None:
            return
        display_id = secrets.token_hex(8)
        kernel = getattr(shell, "kernel", None)
        parent = kernel.get_parent("shell") if kernel is not None else {}
        self._outputs = [*self._outputs, (display_id, parent)][-SHOWN:]
        shell.display_pub.publish(self.bundle(), {}, transient={"display_id": display_id})

    async def _refresh(self) -> None:
        """Update the outputs in the cells; on the engine."""
        kernel = getattr(get_ipython(), "kernel", None)
        if kernel is None:
            return
        data = await asyncio.to_thread(self.bundle)
        for display_id, parent in self._outputs:
            content = {"data": data, "metadata": {}, "transient": {"display_id": display_id}}
            kernel.session.send(kernel.iopub_socket, "update_display_data", content, parent=parent)

    def _refresh_after_turn(self, records: Sequence[Record]) -> None:
        """Update the outputs when a turn has ended; on the writer thread."""
        states = [one.event.status for one in records if isinstance(one.event, SessionStatus)]
        if self._outputs and any(isinstance(one, Idle) for one in states):
            self._on_engine(self._refresh)

    def _on_engine(self, work: Callable[[], Any]) -> None:
        def report(done: Any) -> None:
            if not done.cancelled() and done.exception() is not None:
                _log.warning("A view of a session could not be told: %s", done.exception())

        self._engine.submit(work()).add_done_callback(report)
