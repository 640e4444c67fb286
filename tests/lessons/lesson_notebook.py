"""Runs a lesson's notebook in a real kernel, as a learner leaves it: with stubs, or with predictions and solutions."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from palimpsest.lessons.lesson_files import notebook_path
from palimpsest.lessons.lesson_plan import LessonPlan

SECONDS = 300


@dataclass(frozen=True)
class RunNotebook:
    """A notebook after it ran in a folder."""

    cells: dict[str, Any]
    """The cells by id."""
    metadata: Any
    """The notebook's metadata, in which the state of its widgets is saved."""

    def text(self, cell: str) -> str:
        """Return what a cell shows, as plain text."""
        outputs = self.cells[cell]["outputs"]
        return "\n".join(
            output.get("text", "") or str(output.get("data", {}).get("text/plain", ""))
            for output in outputs
        )

    def texts(self, tag: str) -> list[str]:
        """Return what the cells with a tag show."""
        return [self.text(cell) for cell, value in self.cells.items() if tag in tags(value)]

    @property
    def errors(self) -> list[str]:
        """The errors of all cells."""
        return [
            f"{cell}: {output['evalue']}"
            for cell, value in self.cells.items()
            for output in value.get("outputs", ())
            if output["output_type"] == "error"
        ]


def tags(cell: Any) -> list[str]:
    """Return the tags of a cell."""
    return list(cell["metadata"].get("tags", ()))


def notebook_cells(plan: LessonPlan) -> list[dict[str, Any]]:
    """Return the cells of a lesson's notebook."""
    cells: list[dict[str, Any]] = json.loads(notebook_path(plan).read_text("utf-8"))["cells"]
    return cells


def run_notebook(plan: LessonPlan, folder: Path, predictions: dict[str, Any] | None) -> RunNotebook:
    """Run a lesson's notebook; with predictions also with its solutions, which take the place of the stubs."""
    notebook = nbformat.read(notebook_path(plan), as_version=4)
    if predictions is not None:
        solutions = {
            cell["metadata"]["exercise"]: cell["source"]
            for cell in notebook.cells
            if "solution" in tags(cell)
        }
        for cell in notebook.cells:
            if "exercise" in tags(cell):
                cell["source"] = solutions[cell["metadata"]["exercise"]]
            for name, value in predictions.items():
                if f'lesson.predict("{name}"' in cell["source"]:
                    cell["source"] = f'lesson.predict("{name}", {value!r})'
    NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return RunNotebook({cell["id"]: cell for cell in notebook.cells}, notebook.metadata)
