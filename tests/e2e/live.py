"""A notebook whose agent plays a script, run by a person in a real JupyterLab."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator, Page
from tests.e2e.lab import READY, ROOT, Lab, open_notebook

SETUP = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from palimpsest.model.script import says, calls
from tests.frontends.room import load
room = load(get_ipython())"""
RUN = """cell => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = cell;
  window.ended = false;
  void window.jupyterapp.commands.execute('notebook:run-cell').then(() => { window.ended = true; });
}"""


@dataclass
class Notebook:
    """An open notebook."""

    page: Page
    path: Path

    def run(self, cell: int, *, wait: bool = True) -> None:
        """Run a cell as Shift+Enter does."""
        self.page.evaluate(RUN, cell)
        if wait:
            self.ended()

    def ended(self, seconds: float = 30) -> None:
        """Wait for the end of the cell that runs."""
        self.page.wait_for_function("window.ended", timeout=seconds * 1000)

    def cell(self, number: int) -> Locator:
        """Return a cell as it is drawn."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def save(self) -> dict[str, Any]:
        """Save the notebook, and return it as it is on disk."""
        self.page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
        saved: dict[str, Any] = nbformat.read(self.path, as_version=4)
        return saved

    def kept(self, cell: int, words: str) -> dict[str, Any]:
        """Save until the file tells these words in Markdown; return what the cell's output holds.

        A page that did not run the cell writes the end once it knows that nobody goes on.
        """
        for _ in range(40):
            outputs = self.save()["cells"][cell]["outputs"]
            if outputs and words in (data := outputs[0]["data"])["text/markdown"]:
                return dict(data)
            self.page.wait_for_timeout(250)
        pytest.fail(f"The saved notebook does not tell {words!r}: {outputs}")

    def beside(self, lab: Lab) -> "Notebook":
        """Open the same notebook in a second page."""
        page = self.page.context.new_page()
        open_notebook(page, lab, self.path.name)
        return Notebook(page, self.path)


def begin(page: Page, lab: Lab, name: str, *cells: str) -> Notebook:
    """Write a notebook, open it, and load the agent."""
    made = new_notebook(cells=[new_code_cell(code) for code in (SETUP, *cells)])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = lab.folder / f"{name}.ipynb"
    nbformat.write(made, path)
    open_notebook(page, lab, path.name)
    page.evaluate(READY)
    notebook = Notebook(page, path)
    notebook.run(0)
    return notebook
