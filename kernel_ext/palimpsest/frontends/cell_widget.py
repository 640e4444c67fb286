"""A widget whose cell keeps HTML and plain text only, and whose page draws a live view over them.

Border: the common part of ``session.view()`` and ``session.inspect()``. No widget state is saved in a notebook, so a
notebook that is reopened without a kernel, or sent to another person, looks the same.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from palimpsest.frontends.static_files import read_built_file
from palimpsest.frontends.user_cells.requested_cells import running_request
from palimpsest.session.engine import EngineThread
from palimpsest.transcript.session_record.events import Record, SessionStatus
from palimpsest.transcript.session_record.sessions import Idle

MAX_UPDATED_OUTPUTS = 8
"""Number of the newest outputs that are updated; a cell that runs again adds an output."""

_log = logging.getLogger(__name__)


class CellWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget has no types
    """A widget shown with the saved output of its cells, which it rewrites; opens the comm without disturbing cells."""

    _esm = read_built_file("loader.js", "export default {};")
    module = traitlets.Unicode().tag(sync=True)
    """The widget's JavaScript, which the loader imports."""
    key = traitlets.Unicode().tag(sync=True)
    """Identifies the element of the page that the live view replaces."""
    session = traitlets.Unicode().tag(sync=True)
    """The session's id."""

    def __init__(self, session_id: str, engine: EngineThread, module: str, **traits: Any) -> None:
        """Open the comm; ``traits`` are those of a subclass that the page is sent with it."""
        self._engine = engine
        self._outputs: list[tuple[str, dict[str, Any]]] = []
        """The display id of each output that shows the widget, and the request of its cell."""
        self._unsubscribe: Callable[[], None] = lambda: None
        """Unsubscribes from the session's records."""
        super().__init__(key=secrets.token_hex(8), session=session_id, module=module, **traits)
        self.on_msg(self._on_message)

    def open(self) -> None:
        """Open the comm without its effects on running cells."""
        super().open()
        comm = self.comm
        if comm is not None:
            # ipykernel 7.4 delivers messages to the thread that published last, maybe a busy cell's.
            comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001
            # comm's own handler would tell IPython that a cell begins and ends, and flush its figures.
            comm.handle_msg = self._handle_msg

    def close(self) -> None:
        """Unsubscribe from the session and close the comm."""
        self._unsubscribe()
        super().close()

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Answer a message of the page, on the thread where it arrives; longer work is given to the engine."""
        raise NotImplementedError

    def bundle(self) -> dict[str, str]:
        """Return the saved output of the cell by MIME type, without secrets."""
        raise NotImplementedError

    def _ipython_display_(self, **_: Any) -> None:
        shell = get_ipython()
        if shell is None:
            return
        display_id = secrets.token_hex(8)
        output = display_id, running_request(shell)
        self._outputs = [*self._outputs, output][-MAX_UPDATED_OUTPUTS:]
        shell.display_pub.publish(self.bundle(), {}, transient={"display_id": display_id})

    async def _refresh(self) -> None:
        """Update the displayed outputs in the cells; on the engine."""
        kernel = getattr(get_ipython(), "kernel", None)
        if kernel is None:
            return
        bundle = await asyncio.to_thread(self.bundle)
        for display_id, request in self._outputs:
            content = {"data": bundle, "metadata": {}, "transient": {"display_id": display_id}}
            kernel.session.send(kernel.iopub_socket, "update_display_data", content, parent=request)

    def _refresh_after_turn(self, records: Sequence[Record]) -> None:
        """Update the outputs when a turn has ended; on the writer thread."""
        events = (record.event for record in records)
        statuses = [event.status for event in events if isinstance(event, SessionStatus)]
        if self._outputs and any(isinstance(status, Idle) for status in statuses):
            self._on_engine(self._refresh)

    def _on_engine(self, work: Callable[[], Any]) -> None:
        def log_failure(future: Any) -> None:
            if not future.cancelled() and future.exception() is not None:
                _log.warning("A view of a session could not be updated: %s", future.exception())

        self._engine.submit(work()).add_done_callback(log_failure)
