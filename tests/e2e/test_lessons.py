"""A lesson is walked with clicks: predictions in their fields, answers that draw themselves, and the same after a restart."""

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SECOND_LOOK,
    Lab,
    PageErrors,
    choose_theme,
    open_instead,
    open_notebook,
    photograph,
)
from tests.e2e.test_panel import AXE, COMMAND, RUN, VIOLATIONS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FIRST = "notebooks/01-where-do-the-tokens-go.ipynb"
SCROLL = "place => window.jupyterapp.shell.currentWidget.content.scrollToItem(place)"
RESTART = """async () => {
  const { sessionContext } = window.jupyterapp.shell.currentWidget;
  await sessionContext.session.kernel.restart();
}"""
HOLD = """async code => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  kernel.requestExecute({ code });
  while (kernel.status !== 'busy') {
    await new Promise(resolve => kernel.statusChanged.connect(() => resolve(null)));
  }
}"""
"""Runs code in the kernel, and resolves when the kernel is busy with it."""
WAIT_FOR_FILE = """import os, threading
while not os.path.exists({file!r}):
    threading.Event().wait(0.05)"""
HIDDEN = "Hidden until it is revealed."
KINDS = "Kinds at request 453"
"""The legend of the areas, which tells the answer."""


class LessonPage:
    """A lesson's notebook in a page, with its cells by id."""

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        cells = nbformat.read(lab.folder / name, as_version=4).cells
        self.places = {cell.id: place for place, cell in enumerate(cells)}
        self.lines = {cell.id: cell.source.strip().splitlines()[0] for cell in cells}
        open_notebook(page, lab, name)
        page.evaluate(READY)

    def cell(self, name: str) -> Locator:
        """Return a cell by its id, scrolled to; one that is far away is not in the page."""
        self.page.evaluate(SCROLL, self.places[name])
        return self.page.locator(".jp-Notebook .jp-Cell", has_text=self.lines[name])

    def run(self, *names: str) -> None:
        """Run cells, one after the other."""
        for name in names:
            self.page.evaluate(RUN, self.places[name])

    def predict(self, name: str, value: str) -> Locator:
        """Type a prediction into a cell's field, press Tab and then the button that has the focus, and return the cell."""
        cell = self.cell(name)
        field = cell.get_by_role("textbox", name="Your prediction")
        field.clear()
        field.press_sequentially(value)
        field.press("Tab")
        button = cell.get_by_role("button", name="Keep my prediction")
        expect(button).to_be_focused()
        button.press("Enter")
        return cell


def inspected(page: Page) -> Locator:
    """Return the lesson's live inspector."""
    return page.locator(".plm-InspectedCell .plm-Inspector")


def test_predictions_are_typed_and_the_answers_draw_themselves_also_after_a_restart(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    walked = LessonPage(page, lab, FIRST)
    walked.run("open", "predict-share", "predict-thumb", "reveal", "look")
    expect(walked.cell("predict-share")).to_contain_text(
        "No field below? Run the cells from the top."
    )
    answers = walked.cell("reveal")
    expect(answers).to_contain_text("Predict first")
    photograph(page, "lesson-1-asks")

    refused = walked.predict("predict-share", "half")
    expect(refused.get_by_role("status")).to_contain_text("Give a number from 0 to 100 %")
    prediction = walked.predict("predict-share", "40")
    expect(prediction.get_by_role("status")).to_contain_text("You predicted 40 %. It is kept.")
    expect(prediction.get_by_role("textbox", name="Your prediction")).to_be_disabled()
    walked.cell("look")
    kinds = inspected(page).get_by_role("list", name=KINDS)
    expect(inspected(page).get_by_text(HIDDEN)).to_have_count(2)
    expect(inspected(page)).not_to_contain_text("cache breaks")
    expect(kinds).to_have_count(0)
    photograph(page, "lesson-1-hidden")
    # A busy kernel gets each change in its turn: what was typed last is kept.
    gate = lab.folder / "gate"
    page.evaluate(HOLD, WAIT_FOR_FILE.format(file=str(gate)))
    walked.predict("predict-thumb", "10")
    gate.touch()
    expect(walked.cell("reveal")).to_contain_text("You predicted 10 %")
    page.add_script_tag(path=str(AXE))
    output = prediction.locator(".jupyter-widgets").first.element_handle()
    assert page.evaluate(VIOLATIONS, output) == []
    photograph(page, "lesson-1-answers")
    walked.cell("look")
    # While a notebook is opened anew, its former views may still be there for a moment.
    expect(kinds.filter(visible=True)).to_have_count(1)
    # It is the answer of lesson 4.
    expect(inspected(page)).not_to_contain_text("cache breaks")
    photograph(page, "lesson-1-revealed")

    # The notebook is opened anew, where the kernel still has its widgets.
    page.evaluate(COMMAND, "docmanager:save")
    open_instead(page, lab, FIRST)
    choose_theme(page, SECOND_LOOK)
    page.evaluate(READY)
    expect(walked.cell("predict-share")).to_contain_text("You predicted 40 %. It is kept.")
    walked.cell("look")
    # While a notebook is opened anew, its former views may still be there for a moment.
    expect(kinds.filter(visible=True)).to_have_count(1)

    # The kernel is restarted: what was predicted stands in the file.
    page.evaluate(RESTART)
    page.evaluate(READY)
    walked.run("open", "predict-share", "predict-thumb", "reveal", "look")
    expect(walked.cell("predict-share")).to_contain_text("You predicted 40 %. It is kept.")
    expect(walked.cell("reveal")).to_contain_text("You predicted 10 %")
    photograph(page, "lesson-1-dark-answers")
    walked.cell("look")
    # While a notebook is opened anew, its former views may still be there for a moment.
    expect(kinds.filter(visible=True)).to_have_count(1)
    photograph(page, "lesson-1-dark-revealed")
    assert seen.errors == []
