"""The first notebook (00-start), run by a person in a real JupyterLab."""

import re

import pytest
from playwright.sync_api import Error, Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, choose_theme, open_notebook, photograph

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.usefixtures("own_page")]

START = "notebooks/00-start.ipynb"
ASKS = ".jp-CodeCell [data-answer='once']:enabled"
RUN_MS = 120_000
ERRORS = "[data-mime-type='application/vnd.jupyter.stderr']"
"""JupyterLab draws errors as it draws what was printed to stderr."""
CLEAR = "window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')"
ENDED = (
    "window.cellsRan && [...document.querySelectorAll('.jp-CodeCell')].at(-1)"
    ".querySelector('.jp-OutputArea-output') !== null"
)
"""The command ended, which it does early at a cell that raises, and the last cell has an output."""
RUN_ALL = "window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.cellsRan = true; })"


def run_all(page: Page) -> int:
    """Run every cell, answer every permission question with "allow once", and return their number."""
    page.evaluate(READY)
    page.evaluate(CLEAR)
    page.evaluate(f"window.cellsRan = false; void {RUN_ALL}")
    asked = 0
    while True:
        try:
            page.wait_for_function(
                f"asks => ({ENDED}) || document.querySelector(asks)", arg=ASKS, timeout=RUN_MS
            )
        except Error:
            pytest.fail(f"The notebook did not come to its end: see {photograph(page, 'stuck')}.")
        question = page.query_selector(ASKS)
        if question is None:
            return asked
        photograph(page, "start-asks")
        question.click()
        asked += 1


def test_the_first_notebook_runs_and_is_drawn_by_us(page: Page, lab: Lab, seen: PageErrors) -> None:
    if not (lab.folder / START).is_file():
        pytest.fail(f"There is no {START}.")
    page.set_viewport_size({"width": 1280, "height": 6000})  # so that every cell is drawn
    open_notebook(page, lab, START)
    asked = run_all(page)
    assert page.evaluate("window.jupyterapp.commands.hasCommand('jupyter-palimpsest:open-panel')")
    expect(page.locator("#jupyter-palimpsest-panel")).to_be_hidden()  # opens only when asked for

    questions = page.locator(".jp-CodeCell", has_text="%%agent")
    expect(questions.first.locator(".plm-Segment").first).to_be_visible()
    for number in range(questions.count()):
        assert questions.nth(number).locator(".plm-Segment").count() > 0
    # One error is there, which the notebook has mended.
    expect(page.locator(ERRORS)).to_have_text(
        [re.compile("KeyError: 'Column not found: body_mass'")]
    )
    assert asked >= 1, "the approval did not appear"
    assert seen.errors == []
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        choose_theme(page, theme)
        photograph(page, f"start-{theme.rpartition(' ')[2].lower()}")
    choose_theme(page, "JupyterLab Light")
