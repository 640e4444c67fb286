"""A whole application with a scripted model, wired into a shell: what a kernel test of every way loads.

In a test kernel: ``from tests.harness.kernel_application import load; room = load(get_ipython())``. Unlike
``room`` it is the application itself: a store on disk, settings, the library, hooks and servers.
"""

from pathlib import Path
from typing import Any

from palimpsest import ipython_extension
from palimpsest.app.wiring import App
from palimpsest.frontends.frontend import Frontend
from palimpsest.frontends.kernel.main_thread import MainThread, main_loop_of
from palimpsest.frontends.magic.agent_magics import RunningCells
from palimpsest.model.script import ModelAnswer
from palimpsest.session.engine.thread import EngineThread
from palimpsest.testing import ScriptedModel

SETTINGS: dict[str, Any] = {
    "model": "scripted/model",
    "models": {"scripted/model": {"window": 200_000, "output": 8_000}},
    "titles": False,
    "permission": {"edit": "allow", "todowrite": "allow", "question": "allow", "task": "allow"},
}
"""Writing files is allowed, so that a turn which is about something else asks nothing; Python asks."""


class ApplicationHarness:
    """The model of a kernel's application, to be scripted anew."""

    def __init__(self) -> None:
        self.model = ScriptedModel()

    def script(self, *answers: ModelAnswer) -> None:
        """Let a fresh model play these answers from now on."""
        self.model = ScriptedModel(*answers)


def load(shell: Any) -> ApplicationHarness:
    """Load the extension with an application whose model plays a script; returns its stage."""
    run_context = ApplicationHarness()

    def build(shell: Any, cells: RunningCells) -> Frontend:
        engine = EngineThread()
        main_thread = MainThread(shell, lambda: engine.loop, main_loop_of(shell))
        app = App(
            start=Path.cwd(),
            overrides=SETTINGS,
            python=main_thread.runner,
            namespace=main_thread.runner,
            engine=engine,
            model=lambda _info: run_context.model,
        )
        return Frontend(app, main_thread, shell=shell, cells_running=lambda: cells.running)

    ipython_extension.load_ipython_extension(shell, build)
    extension = ipython_extension.extension_of(shell)
    assert extension is not None
    extension.front()
    return run_context
