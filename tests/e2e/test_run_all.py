"""Restart and Run All of the first notebook sends nothing, in a real JupyterLab."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph
from tests.e2e.test_first_notebook import CLEAR, ENDED, ERRORS, RUN_ALL, START, run_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.usefixtures("own_page")]

FIGURES = "[...document.querySelectorAll('.jp-CodeCell img')].map(i => i.src.slice(-2000))"
AGAIN = "notebooks/run-again.ipynb"
RESTART = "window.jupyterapp.commands.execute('notebook:restart-run-all').then(() => { window.cellsRan = true; })"


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
    page.wait_for_function(ENDED, timeout=120_000)


def test_restart_and_run_all_shows_what_was_recorded(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    page.set_viewport_size({"width": 1280, "height": 5000})  # so that every cell is drawn
    # Under a name of its own, since other tests run the notebook whose sessions would be found.
    shutil.copy(lab.folder / START, lab.folder / AGAIN)
    open_notebook(page, lab, AGAIN)
    run_all(page)
    asking = page.locator(".jp-CodeCell", has_text=re.compile("%%agent|%agent fix"))
    figures = page.evaluate(FIGURES)
    sent = requests(lab.folder)
    assert len(figures) >= 1

    def restart() -> None:
        page.locator(".jp-Dialog button", has_text="Restart").click()

    again(page, RESTART, restart)
    marks = page.get_by_text("Recorded answer of")
    expect(marks).to_have_count(asking.count())
    assert page.evaluate(FIGURES) == figures
    expect(page.locator(ERRORS)).to_have_count(1)
    photograph(page, "run-all-recorded")

    # Without a restart, from its first agent cell on: only the page knows that it is one of several.
    page.evaluate(READY)
    again(page, RUN_ALL, lambda: None)
    expect(marks).to_have_count(asking.count())
    assert requests(lab.folder) == sent
    assert seen.errors == []
