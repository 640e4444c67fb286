"""A notebook in a file whose cells a test runs in a real kernel, with their outputs saved as a page saves them."""

import ast
import json
from pathlib import Path
from typing import Any

from tests.harness.kernel import Kernel, Run

WORDS = "Said."


class SavedNotebook:
    """Cells by id, in a file; ``with_ids=False`` is the format before 4.5, whose cells have none."""

    def __init__(self, path: Path, *, with_ids: bool = True) -> None:
        self.path = path
        self.with_ids = with_ids
        self.cells: dict[str, dict[str, Any]] = {}
        self.save()

    def add(self, cell_id: str, source: str, outputs: list[Any] | None = None) -> None:
        """Add a cell, or replace what it holds."""
        self.cells[cell_id] = {"source": source, "outputs": outputs or []}

    def save(self) -> None:
        """Write the file."""
        cells = [
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "source": cell["source"].splitlines(keepends=True),
                "outputs": cell["outputs"],
                **({"id": cell_id} if self.with_ids else {}),
            }
            for cell_id, cell in self.cells.items()
        ]
        content = {"cells": cells, "metadata": {}, "nbformat": 4}
        content["nbformat_minor"] = 5 if self.with_ids else 4
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(content))

    def cleared(self) -> None:
        """Take the outputs away, and save."""
        for cell in self.cells.values():
            cell["outputs"] = []
        self.save()


class OpenNotebook:
    """A kernel of a notebook, with the whole application and a model that answers ``Said.``."""

    def __init__(self, project: Path, name: str, *, state: Path | None = None) -> None:
        self._project = project
        self._name = name
        state = state or project.parent / "state"
        self._env = {
            "JPY_SESSION_NAME": name,
            "PALIMPSEST_REPLAY": "never",
            "PALIMPSEST_STATE_DIR": str(state),
        }

    def __enter__(self) -> "OpenNotebook":
        self.kernel = Kernel(cwd=self._project, env=self._env)
        answers = ", ".join([f"says({WORDS!r})"] * 9)
        run = self.kernel.client.run(
            "from palimpsest.model.script import calls, says\n"
            "from tests.frontends.foreign_logs import load\n"
            f"app = load(get_ipython(), {answers})"
        )
        assert run.status == "ok", run.reply
        return self

    def __exit__(self, *_: object) -> None:
        self.kernel.__exit__(None, None, None)

    def ask(self, notebook: SavedNotebook, *prompts: str, save: bool = True) -> str:
        """Ask in a cell for each prompt, named ``name-1`` and so on; return what the cells said beside the answers."""
        told = []
        for number, prompt in enumerate(prompts, 1):
            cell_id = f"{notebook.path.stem}-{number}"
            source = f"%%agent\n{prompt}"
            run = self.kernel.client.run(source, cellId=cell_id)
            assert WORDS in run.markdown(), run.reply
            notebook.add(cell_id, source, [_saved(output) for output in run.outputs()])
            told.append(_told(run))
        if save:
            notebook.save()
        return "".join(told)

    @property
    def session(self) -> str:
        """The id of the notebook's session; empty where it has none."""
        found = self.kernel.value("app.workspace.current_id(" + repr(self._name) + ")")
        return str(ast.literal_eval(found))


def _saved(output: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": output["data"], "metadata": {}}


def _told(run: Run) -> str:
    return run.stream("stderr")
