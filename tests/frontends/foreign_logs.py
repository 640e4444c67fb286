"""Session logs written by somebody else, and a real application with a scripted model that opens them.

In a test kernel: ``from tests.frontends.foreign_logs import load; load(get_ipython(), answers...)``.
"""

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

from palimpsest import ipython_extension
from palimpsest.app.wiring import App
from palimpsest.frontends.frontend import Frontend
from palimpsest.frontends.kernel.main_thread import MainThread, main_loop_of
from palimpsest.frontends.kernel.python_runner import KernelPythonRunner
from palimpsest.frontends.magic.agent_magics import RunningCells, current_notebook
from palimpsest.frontends.user_cells.cell_recorder import CellRecorder
from palimpsest.model.script import ModelAnswer
from palimpsest.session.engine import EngineThread
from palimpsest.store.project_folder.layout import LAYOUT_VERSION
from palimpsest.testing import ScriptedModel

NOTEBOOK = "a.ipynb"
SESSION = "ses_7ffffffffffffffffplanted00"


def plant(project: Path, session_id: str = SESSION, **fields: Any) -> Path:
    """Write a session's log as an attacker would, bound to the notebook; return the log's path."""
    folder = project / ".palimpsest" / "sessions" / session_id
    folder.mkdir(parents=True)
    layout = project / ".palimpsest" / "layout"
    layout.write_text(json.dumps({"version": LAYOUT_VERSION, "project_id": "planted"}))
    session = {
        "id": session_id,
        "project_id": "planted",
        "directory": str(project),
        "notebook": NOTEBOOK,
        "title": "Planted",
        "version": "1",
        "time": {"created": 1, "updated": 1},
    }
    records = [
        {"type": "session.created", "session": session},
        {"type": "session.updated", "session": {**session, **fields}},
    ]
    log = folder / "log-1.jsonl"
    lines = [{"v": 1, "seq": at, "ts": 1, **record} for at, record in enumerate(records, 1)]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return log


def app_builder(*answers: ModelAnswer, **overrides: Any) -> Any:
    """Return a function that builds the whole application around a scripted model."""

    def build(shell: Any, cells: RunningCells, _recorder: CellRecorder) -> Frontend:
        engine = EngineThread()
        main_thread = MainThread(shell, lambda: engine.loop, main_loop_of(shell))
        model = ScriptedModel(*answers)
        app = App(
            start=Path.cwd(),
            kernel_id=f"kernel-{os.getpid()}-{time.monotonic_ns()}",
            python=partial(KernelPythonRunner, main_thread),
            namespace=partial(KernelPythonRunner, main_thread),
            engine=engine,
            notebook=lambda: current_notebook(shell),
            model=lambda _info: model,
            overrides={"model": "rehearsal/rules", "titles": False, **overrides},
        )
        return Frontend(
            app, main_thread, shell=shell, running_cell_count=lambda: cells.running_count
        )

    return build


def load(shell: Any, *answers: ModelAnswer, **overrides: Any) -> Any:
    """Load the extension with the whole application and a user's settings; return the extension."""
    ipython_extension.load_ipython_extension(shell, app_builder(*answers, **overrides))
    extension = ipython_extension.extension_of(shell)
    assert extension is not None
    return extension.front().services


def load_alone(shell: Any, *answers: ModelAnswer, **overrides: Any) -> Any:
    """Load it as ``load`` does where no page is about to greet, so that no question waits a second for one."""
    services = load(shell, *answers, **overrides)
    ipython_extension.extension_of(shell).front().channel._greeting_ends_at = 0.0  # type: ignore[union-attr]
    return services
