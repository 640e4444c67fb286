"""``%load_ext palimpsest``: register the magics now, load everything else in the background.

Border: imports nothing heavy (no pydantic, no litellm), so that loading costs milliseconds; the
first use waits until loading has finished. Loading twice, or unloading, is harmless.
"""

import inspect
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palimpsest.frontends.static_files import STATIC_FOLDER, missing_front_end
from palimpsest.frontends.terminal import write_error
from palimpsest.paused_collection import collection_paused

if TYPE_CHECKING:
    from palimpsest.app.wiring import App
    from palimpsest.frontends.magic.agent_magics import RunningCells
    from palimpsest.frontends.user_cells.cell_recorder import CellRecorder
    from palimpsest.public.session_object import Session

_SHELL_ATTRIBUTE = "_palimpsest_extension"
_COMM_TARGET = "palimpsest"
"""A page requests comms of this name to find out whether the kernel has Palimpsest loaded."""
_MAX_UNLOAD_SECONDS = 10
"""Maximum time that unloading waits for loading to end."""
_CHECK_INTERVAL_SECONDS = 0.05
"""How often the first use checks whether loading has finished; an interrupt is handled in between."""

Build = Callable[[Any, "RunningCells", "CellRecorder"], Any]


class Extension:
    """The extension in one IPython shell: registers everything, loads the application in the background."""

    def __init__(self, shell: Any, build: Build | None = None) -> None:
        # With the first shell only: a script has none, and need not import IPython for its current session.
        from palimpsest.frontends.magic.agent_magics import AgentMagics, RunningCells
        from palimpsest.frontends.magic.completion import Completions
        from palimpsest.frontends.user_cells.cell_recorder import CellRecorder
        from palimpsest.frontends.user_cells.requested_cells import RequestedCells

        self.shell = shell
        self.cells = RunningCells(shell, running_count=_cells_on_the_stack())
        self.recorder = CellRecorder(shell)
        self.magics = AgentMagics(shell, self.front, self._origin, self.cells)
        self._completions = Completions(lambda: self._front)
        self._requested_cells = RequestedCells(
            getattr(shell, "kernel", None), lambda: self._front.channel.requested_runs
        )
        self._build = build or _build
        self._front: Any = None
        self._problem: BaseException | None = None
        self._loaded = threading.Event()
        self._comm_info: Callable[..., Any] | None = None
        """The kernel's own handler of ``comm_info_request``."""

    def register(self) -> None:
        """Register the magics, the input transformers, the completion matcher and the control handlers."""
        shell = self.shell
        self.cells.register()
        self.recorder.register()
        self.magics.register()
        self._completions.register(shell)
        handlers = getattr(getattr(shell, "kernel", None), "control_handlers", None)
        if handlers is not None:
            self._comm_info = handlers.get("comm_info_request")
            handlers["comm_info_request"] = self._on_comm_info
            handlers["palimpsest_request"] = self._on_request
        self._requested_cells.register()
        threading.Thread(target=self._load, name="palimpsest-load", daemon=True).start()

    def unregister(self) -> None:
        """Unregister everything and close the sessions."""
        shell = self.shell
        self.cells.unregister()
        self.recorder.unregister()
        self.magics.unregister()
        self._completions.unregister(shell)
        self._requested_cells.unregister()
        handlers = getattr(getattr(shell, "kernel", None), "control_handlers", {})
        handlers.pop("palimpsest_request", None)
        if self._comm_info is not None:
            handlers["comm_info_request"] = self._comm_info
        if self._loaded.wait(_MAX_UNLOAD_SECONDS) and self._front is not None:
            self._front.close()

    def front(self) -> Any:
        """Return the ``Frontend``, waiting until it is loaded; raises UsageError if loading failed."""
        while not self._loaded.wait(_CHECK_INTERVAL_SECONDS):
            pass
        if self._problem is not None:
            from palimpsest.frontends.usage_errors import usage_error

            raise usage_error(f"Palimpsest could not start: {self._problem}") from self._problem
        return self._front

    def _load(self) -> None:
        try:
            with collection_paused():
                self._front = self._build(self.shell, self.cells, self.recorder)
            self.recorder.read_pages = self._front.channel.cells.page_notebooks
            self.recorder.changer = self._front.channel.cell_changes
            self.recorder.session_id_of_request = self._front.channel.requested_runs.session_id_of
        except BaseException as problem:  # noqa: BLE001  # reported to the user at first use
            self._problem = problem
        finally:
            self._loaded.set()

    def _origin(self) -> Any:
        from palimpsest.frontends.magic.agent_magics import current_notebook
        from palimpsest.transcript.messages import Origin

        return Origin(
            kind="cell",
            cell_id=self.cells.cell_id,
            # IPython increments the count as soon as a cell begins.
            execution_count=self.shell.execution_count - 1,
            notebook=current_notebook(self.shell),
        )

    def _on_comm_info(self, stream: Any, ident: Any, parent: Any) -> Any:
        """Answer a comm_info_request for Palimpsest's target; the kernel's own handler answers every other."""
        if (parent.get("content") or {}).get("target_name") == _COMM_TARGET:
            content = {"status": "ok", "comms": {_COMM_TARGET: {"target_name": _COMM_TARGET}}}
            session = self.shell.kernel.session
            return session.send(stream, "comm_info_reply", content, parent, ident)
        return None if self._comm_info is None else self._comm_info(stream, ident, parent)

    def _on_request(self, stream: Any, ident: Any, parent: Any) -> Any:
        """Reply to a front end's request, on the control thread; the channel does the work elsewhere."""
        if not self._loaded.is_set():
            content = {"status": "loading", "id": parent.get("content", {}).get("id")}
        elif self._problem is not None:
            content = {"status": "error", "error": str(self._problem)}
        else:
            content = self._front.channel.handle(parent.get("content") or {})
        return self.shell.kernel.session.send(stream, "palimpsest_reply", content, parent, ident)


def load_ipython_extension(shell: Any, build: Build | None = None) -> None:
    """Load the extension into a shell; does nothing if it is loaded already."""
    if extension_of(shell) is not None:
        return
    extension = Extension(shell, build)
    extension.register()
    setattr(shell, _SHELL_ATTRIBUTE, extension)
    if getattr(shell, "kernel", None) is not None:
        from jupyter_core.paths import jupyter_path

        problem = missing_front_end(STATIC_FOLDER, map(Path, jupyter_path()))
        if problem is not None:
            write_error(problem)


def unload_ipython_extension(shell: Any) -> None:
    """Unload the extension from a shell."""
    extension = extension_of(shell)
    if extension is not None:
        setattr(shell, _SHELL_ATTRIBUTE, None)
        extension.unregister()


def extension_of(shell: Any) -> Extension | None:
    """Return the extension that is loaded in a shell, or None."""
    extension: Extension | None = getattr(shell, _SHELL_ATTRIBUTE, None)
    return extension


def current_app() -> "App":
    """Return the application of this kernel; in a script, the newest one, or a new one for its folder.

    It waits until the extension is loaded, so that no second application is created beside it.
    """
    ipython = sys.modules.get("IPython")
    extension = extension_of(ipython.get_ipython()) if ipython is not None else None
    services = extension.front().services if extension is not None else None
    from palimpsest.app.wiring import APPS, App

    if isinstance(services, App):
        return services
    return APPS[-1] if APPS else App()


def current_session(session_id: str | None = None) -> "Session":
    """Return the notebook's current session, or the one whose id begins with ``session_id``.

    In a script, where no kernel loaded the extension, it is the session that scripts used last in this folder, or a
    new one if another process writes that.
    """
    app = current_app()
    from palimpsest.public.session_object import open_session

    return open_session(app, session_id)


def _cells_on_the_stack() -> int:
    """Count the cells that run while the extension is loaded; IPython will report the end of each."""
    count = 0
    frame = inspect.currentframe()
    while frame is not None:
        count += frame.f_code.co_name == "run_cell_async"
        frame = frame.f_back
    return count


def _build(shell: Any, cells: "RunningCells", recorder: "CellRecorder") -> Any:
    """Create the application and its front end for this kernel; runs on the loading thread."""
    from palimpsest.app.wiring import App
    from palimpsest.frontends.frontend import Frontend
    from palimpsest.frontends.kernel.main_thread import MainThread, main_loop_of
    from palimpsest.frontends.kernel.python_runner import KernelPythonRunner
    from palimpsest.frontends.kernel.quiet_reader import QuietReader
    from palimpsest.frontends.magic.agent_magics import current_notebook
    from palimpsest.frontends.process_guard.agent_pieces import CURRENT_PIECE
    from palimpsest.session.engine import EngineThread

    engine = EngineThread()
    recorder.is_agent_code = lambda: CURRENT_PIECE.get() is not None
    main_thread = MainThread(shell, lambda: engine.loop, main_loop_of(shell))
    app = App(
        start=Path(getattr(shell, "starting_dir", ".")),
        kernel_id=_kernel_id(shell),
        python=partial(KernelPythonRunner, main_thread),
        namespace=partial(KernelPythonRunner, main_thread),
        quiet_namespace=partial(QuietReader, main_thread),
        notebook_runs=recorder,
        engine=engine,
        notebook=lambda: current_notebook(shell),
    )
    front = Frontend(
        app,
        main_thread,
        shell=shell,
        running_cell_count=lambda: cells.running_count,
        batches=cells.batches,
    )
    app.servers.preload()
    if getattr(shell, "kernel", None) is None:
        # In a kernel, a page reports when a user is about to send a prompt; many kernels never get one.
        app.preload_model()
    return front


def _kernel_id(shell: Any) -> str | None:
    """Return an id that survives a restart of the kernel: its connection file's name."""
    if getattr(shell, "kernel", None) is None:
        return None
    from ipykernel.connect import get_connection_file

    try:
        return Path(get_connection_file()).stem
    except RuntimeError:  # no connection file: an embedded kernel
        return None
