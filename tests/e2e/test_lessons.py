"""A lesson is walked with clicks: predictions in their fields, answers that draw themselves, and the same after a restart."""

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    Lab,
    PageErrors,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.test_panel import RUN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FIRST = "notebooks/01-where-do-the-tokens-go.ipynb"

SCROLL = "place => window.jupyterapp.shell.currentWidget.content.scrollToItem(place)"


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
        """Type a prediction into a cell's field and press the button."""
        cell = self.cell(name)
        field = cell.locator(".jp-OutputArea").get_by_role("textbox", name="Your prediction")
        field.fill(value)
        cell.get_by_role("button", name="Keep my prediction").click()
        return cell


def test_predictions_are_typed_and_the_answers_draw_themselves(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    walked = LessonPage(page, lab, FIRST)
    walked.run("open", "first-requests", "predict-share", "predict-thumb", "reveal", "look")
    for cell in ("open", "first-requests", "predict-share", "reveal", "look"):
        walked.cell(cell)
        wait_until_drawn(page)
        photograph(page, f"lesson-1-before-{cell}")
    walked.predict("predict-share", "40")
    wait_until_drawn(page)
    photograph(page, "lesson-1-share")
    walked.predict("predict-thumb", "10")
    expect(walked.cell("reveal")).to_contain_text("You predicted 40 %")
    photograph(page, "lesson-1-revealed")
    walked.cell("look")
    wait_until_drawn(page)
    photograph(page, "lesson-1-look")
