"""The first notebook (00-start), run by a person in a real JupyterLab, and shown again without sending anything."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
)
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

START = "notebooks/00-start.ipynb"
OWN = "notebooks/run-again.ipynb"
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
RESTART = "window.jupyterapp.commands.execute('notebook:restart-run-all').then(() => { window.cellsRan = true; })"
FIGURES = "[...document.querySelectorAll('.jp-CodeCell img')].map(i => i.src.slice(-2000))"


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


def requests(folder: Path) -> int:
    """Return how many model requests the sessions of a folder record."""
    return sum(
        json.loads(line)["type"] == "step.requested"
        for log in folder.rglob(".palimpsest/sessions/*/log-*.jsonl")
        for line in log.read_text(encoding="utf-8").splitlines()
    )


def again(page: Page, command: str, confirm: Callable[[], None]) -> None:
    page.evaluate(CLEAR)
    page.evaluate(f"window.cellsRan = false; void {command}")
    confirm()
    page.wait_for_function(ENDED, timeout=RUN_MS)


def test_it_runs_is_drawn_by_us_and_shows_what_was_recorded_when_it_is_run_again(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    page.set_viewport_size({"width": 1280, "height": 6000})  # so that every cell is drawn
    # Under a name of its own, since other tests run the notebook whose sessions would be found.
    shutil.copy(lab.folder / START, lab.folder / OWN)
    open_notebook(page, lab, OWN)
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
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"start-{theme.rpartition(' ')[2].lower()}")
    choose_theme(page, "JupyterLab Light")

    asking = page.locator(".jp-CodeCell", has_text=re.compile("%%agent|%agent fix"))
    figures = page.evaluate(FIGURES)
    sent = requests(lab.folder)
    assert len(figures) >= 1

    def restart() -> None:
        page.locator(".jp-Dialog button", has_text="Restart").click()

    def shows_what_was_recorded() -> None:
        expect(page.get_by_text("Recorded answer of")).to_have_count(asking.count())
        assert page.evaluate(FIGURES) == figures
        expect(page.locator(ERRORS)).to_have_count(1)

    if SOAKING:  # in each run test_hosts.py has a second kernel
        again(page, RESTART, restart)
        shows_what_was_recorded()
        photograph(page, "run-all-recorded")
        page.evaluate(READY)

    # Without a restart, from its first agent cell on: only the page knows that it is one of several.
    again(page, RUN_ALL, lambda: None)
    shows_what_was_recorded()
    assert requests(lab.folder) == sent
    assert seen.errors == []
