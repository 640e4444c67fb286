"""A notebook in a real JupyterLab whose agent has a scripted model, and ways to run its cells."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator, Page
from tests.e2e.jupyterlab import READY, ROOT, Lab, open_notebook

_SETUP = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from palimpsest.model.script import says, calls
from tests.harness.kernel_session import load
harness = load(get_ipython(), notebook={{notebook}}, snapshots={{snapshots}})"""
VIEW = """from palimpsest.model.script import thinks
from palimpsest.frontends.magic.agent_magics import current_notebook
from palimpsest.frontends.session_view import view_of
views = {}
def view():
    live = harness.engine.submit(harness.workspace.current(current_notebook(get_ipython()))).result()
    return view_of(live, harness.engine, views)"""
"""Makes ``view()``, which shows the notebook's session."""
RUN = """cell => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = cell;
  window.ended = false;
  void window.jupyterapp.commands.execute('notebook:run-cell').then(() => { window.ended = true; });
}"""

TELLS = """([cell, words]) => {
  const { model } = window.jupyterapp.shell.currentWidget.content;
  const [first] = model.cells.get(cell).toJSON().outputs;
  return [first?.data['text/markdown'] ?? ''].flat().join('').includes(words);
}"""
"""Returns whether a cell's first output contains a text in its Markdown."""


def setup(*, told: bool = False, snapshots: bool = False) -> str:
    """Return the first cell: it loads the agent with a scripted model, and may tell it of the cells."""
    return _SETUP.format(notebook=told, snapshots=snapshots)


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

    def ended(self) -> None:
        """Wait until the running cell has ended."""
        self.page.wait_for_function("window.ended")

    def cell(self, number: int) -> Locator:
        """Return a cell's element."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def save(self) -> dict[str, Any]:
        """Save the notebook, and return it as it is on disk."""
        self.page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
        saved: dict[str, Any] = nbformat.read(self.path, as_version=4)
        return saved

    def kept(self, cell: int, words: str) -> dict[str, Any]:
        """Save once a cell's Markdown output contains a text; return the data of that output.

        A page that did not run the cell writes the final output once it knows that no page completes it.
        """
        self.page.wait_for_function(TELLS, arg=[cell, words])
        return dict(self.save()["cells"][cell]["outputs"][0]["data"])

    def beside(self, lab: Lab) -> "Notebook":
        """Open the same notebook in a second page."""
        page = self.page.context.new_page()
        open_notebook(page, lab, self.path.name)
        return Notebook(page, self.path)


def begin(
    page: Page,
    lab: Lab,
    name: str,
    *cells: str,
    kernel: str = "python3",
    told: bool = False,
    snapshots: bool = False,
) -> Notebook:
    """Write a notebook, open it, and load the agent with a scripted model.

    ``told``: the agent is told of the cells. ``snapshots``: changes to files are recorded.
    """
    first = setup(told=told, snapshots=snapshots)
    made = new_notebook(cells=[new_code_cell(code) for code in (first, *cells)])
    made.metadata.kernelspec = {"name": kernel, "display_name": "Python 3", "language": "python"}
    path = lab.folder / f"{name}.ipynb"
    nbformat.write(made, path)
    open_notebook(page, lab, path.name)
    page.evaluate(READY)
    notebook = Notebook(page, path)
    notebook.run(0)
    return notebook
