"""Read the running cell's request, and receive those of cells that a page was asked to run, on the control channel.

Border: loaded with ``%load_ext``, so no heavy module is imported. A request that names a run is never handled by the
kernel's own handler, which would run the code on the control thread; every other request is handled as before.
"""

from collections.abc import Callable
from typing import Any, Protocol

RUN_KEY = "palimpsest_run"
"""Key in the metadata of a page's execute request: the id of the run that it was asked for."""


def running_request(shell: Any) -> dict[str, Any]:
    """Return the request of the running cell; empty in a terminal. A kernel of another kind may raise anything."""
    kernel = getattr(shell, "kernel", None)
    request = None if kernel is None else kernel.get_parent("shell")
    return request if isinstance(request, dict) else {}


class RunRequests(Protocol):
    """Runs the cells of requests; ``frontends/page_channel/requested_runs.py`` implements it."""

    def accept(self, identity: Any, request: dict[str, Any]) -> None:
        """Run the cell of a page's request, or reply that it was not run; returns at once."""


class RequestedCells:
    """The control channel's handler of execute requests while the extension is loaded."""

    def __init__(self, kernel: Any, runs: Callable[[], RunRequests]) -> None:
        self._kernel = kernel
        self._runs = runs
        self._handlers: dict[str, Any] = getattr(kernel, "control_handlers", {})
        self._own_handler: Callable[..., Any] | None = self._handlers.get("execute_request")

    def register(self) -> None:
        """Begin to receive requests."""
        if self._own_handler is not None:
            self._handlers["execute_request"] = self._handle

    def unregister(self) -> None:
        """Let the kernel handle all requests again."""
        if self._own_handler is not None:
            self._handlers["execute_request"] = self._own_handler

    def _handle(self, stream: Any, identity: Any, request: Any) -> Any:
        if RUN_KEY not in (request.get("metadata") or {}):
            return self._own_handler(stream, identity, request) if self._own_handler else None
        # The control channel reports itself idle when this returns. A page would take that for the end of the cell,
        # whose last outputs come after its reply; so it is reported of another request.
        header = {**request["header"], "msg_id": f"{request['header']['msg_id']}-received"}
        self._kernel.set_parent(identity, {**request, "header": header}, "control")
        self._runs().accept(identity, request)
        return None
