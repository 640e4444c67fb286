"""A whole application with a scripted model, loaded into a kernel's shell, for tests of every interface.

In a test kernel: ``from tests.harness.kernel_application import load; harness = load(get_ipython())``. Unlike
``harness`` it is the application itself: a store on disk, settings, the library, hooks and servers.
"""

from functools import partial
from pathlib import Path
from typing import Any

from tests.waiting import eventually

import palimpsest
from palimpsest import ipython_extension
from palimpsest.app.wiring import App
from palimpsest.frontends.frontend import Frontend
from palimpsest.frontends.kernel.main_thread import MainThread, main_loop_of
from palimpsest.frontends.kernel.python_runner import KernelPythonRunner
from palimpsest.frontends.magic.agent_magics import RunningCells
from palimpsest.frontends.user_cells.cell_recorder import CellRecorder
from palimpsest.model.script import ModelAnswer
from palimpsest.session.engine import EngineThread
from palimpsest.testing import ScriptedModel

SETTINGS: dict[str, Any] = {
    "model": "scripted/model",
    "models": {"scripted/model": {"window": 200_000, "output": 8_000}},
    "titles": False,
    "permission": {"edit": "allow", "todowrite": "allow", "question": "allow", "task": "allow"},
}
"""Writing files is allowed, so that turns of other tests ask no permission; Python asks."""


class ApplicationHarness:
    """Gives the application of a kernel a scripted model whose script can be replaced."""

    def __init__(self) -> None:
        self.model = ScriptedModel()

    def script(self, *answers: ModelAnswer) -> None:
        """Replace the model by one with these answers."""
        self.model = ScriptedModel(*answers)

    def end_turn(self, session_id: str) -> None:
        """Stop the turn of a session, if the kernel still has it, and wait for its end."""
        session = palimpsest.current_session()
        if session is not None and session.id == session_id:
            session.cancel()
            eventually(lambda: session.status.type == "idle")


def load(shell: Any) -> ApplicationHarness:
    """Load the extension with an application and a scripted model; return its harness."""
    harness = ApplicationHarness()

    def build(shell: Any, cells: RunningCells, _recorder: CellRecorder) -> Frontend:
        engine = EngineThread()
        main_thread = MainThread(shell, lambda: engine.loop, main_loop_of(shell))
        app = App(
            start=Path.cwd(),
            overrides=SETTINGS,
            python=partial(KernelPythonRunner, main_thread),
            namespace=partial(KernelPythonRunner, main_thread),
            engine=engine,
            model=lambda _info: harness.model,
        )
        return Frontend(
            app, main_thread, shell=shell, running_cell_count=lambda: cells.running_count
        )

    ipython_extension.load_ipython_extension(shell, build)
    extension = ipython_extension.extension_of(shell)
    assert extension is not None
    extension.front()
    return harness
