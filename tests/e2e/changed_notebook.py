"""Changes of cells that a notebook's kernel asks of its page, as the tool ``cells`` does."""

import json
from typing import Any

from playwright.sync_api import Page
from tests.e2e.jupyterlab import Lab
from tests.e2e.running_notebook import Notebook, begin

_ASK = """
import json as _json
from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin
from palimpsest.transcript.context_values.page_cells import CellsWanted
harness.wait_for_page()
async def _change(changes, origin):
    channel = harness.frontend.channel
    notebook = (await channel.cells.page_notebooks(CellsWanted(), 5))[0].path
    made = [CellChange.model_validate(change) for change in changes]
    origin = None if origin is None else CellOrigin.model_validate(origin)
    return await channel.cell_changes.change(notebook, made, origin)
"""
_EXECUTE = """async code => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const expressions = { answer: '_answer' };
  const content = { code, silent: true, store_history: false, user_expressions: expressions };
  const { content: reply } = await kernel.requestExecute(content).done;
  return reply.status === 'ok' ? eval(reply.user_expressions.answer.data['text/plain']) : reply.traceback.join('');
}"""
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(({ model }) => model.toJSON())"""
UNDO = "window.jupyterapp.commands.execute('notebook:undo-cell-action')"
REDO = "window.jupyterapp.commands.execute('notebook:redo-cell-action')"
ORIGIN = {"session": "ses_1", "message": "msg_1", "call": "call_1", "request": 12}


def open_changing(page: Page, lab: Lab, name: str, *cells: str) -> Notebook:
    """Open a notebook whose kernel can ask the page to change its cells."""
    notebook = begin(page, lab, name, *cells)
    run_silently(page, _ASK + "\n_answer = ''")
    return notebook


def run_silently(page: Page, code: str) -> str:
    """Run code in the notebook's kernel, in no cell, and return what it put into ``_answer``."""
    answer: str = page.evaluate(_EXECUTE, code)
    return answer


def ask_page(
    page: Page, *changes: dict[str, Any], origin: dict[str, Any] | None = ORIGIN
) -> list[dict[str, Any]]:
    """Have the kernel ask its page for changes, and return the results that the kernel got."""
    answer = run_silently(
        page,
        f"_results = harness.engine.submit(_change({list(changes)!r}, {origin!r})).result()\n"
        "_answer = _json.dumps([r.model_dump(exclude_none=True) for r in _results])",
    )
    try:
        results: list[dict[str, Any]] = json.loads(answer)
    except json.JSONDecodeError:
        raise AssertionError(answer) from None
    return results


def cells_of(page: Page) -> list[dict[str, Any]]:
    """Return the cells of the open notebook."""
    cells: list[dict[str, Any]] = page.evaluate(CELLS)
    return cells
