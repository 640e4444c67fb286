"""A cell fails; the agent is asked from under the error, and its correction is put into the cell."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import SAMPLED_THEMES, Lab, PageErrors, choose_theme, photograph
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_panel import at_rest, transcript_region

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FAILING = "total = 12\ntotal / 0"
FIXED = "total = 12\ntotal / 4"
ANSWER = f"You divide by zero.\n\n```python\n{FIXED}\n```\n\nNow it is three."
SCRIPT = f"harness.script(says({ANSWER!r}))"
SOURCES = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(
  ({ model }) => model.sharedModel.getSource()
)"""
UNDO = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = 2;
  content.activeCell.model.sharedModel.undo();
}"""
FIX = "Fix this error with the agent"


def failed(page: Page, lab: Lab, name: str) -> Notebook:
    """A notebook whose third cell has failed."""
    notebook = begin(page, lab, name, SCRIPT, FAILING, told=True)
    notebook.run(1)
    notebook.run(2)
    return notebook


def press(button: Locator, key: str = "Enter") -> None:
    """Press a button by the keyboard."""
    button.focus()
    button.press(key)


def panel_of(page: Page) -> Locator:
    return page.locator("#jupyter-palimpsest-panel")


def sources(page: Page) -> list[str]:
    found: list[str] = page.evaluate(SOURCES)
    return found


def look(page: Page, name: str) -> None:
    """Photograph the page, in the soak in every theme."""
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"{name}-{theme.split()[-1].lower()}")
    choose_theme(page, "JupyterLab Light")


def test_an_error_is_mended_from_under_it(page: Page, lab: Lab, seen: PageErrors) -> None:
    notebook = failed(page, lab, "fix-error")
    cell, panel = notebook.cell(2), panel_of(page)
    press(cell.get_by_role("button", name=FIX))

    region = transcript_region(panel)
    expect(region.get_by_text("Fix @error 3")).to_be_visible()
    at_rest(panel)
    press(region.get_by_role("button", name="Changes to cell 3"))
    expect(region.get_by_role("group", name="What it would change")).to_contain_text("-total / 0")
    look(page, "fix-error")

    press(region.get_by_role("button", name="Replace the cell"))
    expect(region.get_by_text("Cell 3 was replaced. Undo brings it back.")).to_be_visible()
    assert sources(page)[2] == FIXED
    page.evaluate(UNDO)
    assert sources(page)[2] == FAILING

    press(region.get_by_role("button", name="Run again"), "Space")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("3.0")
    expect(cell.get_by_role("button", name=FIX)).to_have_count(0)
    assert sources(page)[2] == FIXED

    press(region.get_by_role("button", name="Insert below"))
    expect(region.get_by_text("The code is in a new cell.")).to_be_visible()
    assert sources(page)[2:] == [FIXED, FIXED]
    saved: dict[str, Any] = notebook.save()
    assert "Fix this error" not in str(saved)
    assert seen.errors == []
