"""Take the pictures of docs/notebook.md, docs/panel.md, docs/run-all.md and docs/cells.md: answers, an error, cells.

A real JupyterLab in a headless Chromium runs short notebooks; the rehearsal model answers, or a scripted one.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright
from scripts.picture import few_colours
from scripts.screens import SETTLE_MS, rehearse
from tests.e2e.jupyterlab import (
    BUILT,
    FLAGS,
    READY,
    ROOT,
    Lab,
    browser_path,
    open_notebook,
    running,
)
from tests.e2e.recorded_turns import TURNS, play
from tests.e2e.test_cell_reviews import CHANGES, ask_changes, bars, press
from tests.e2e.test_first_notebook import RUN_ALL, run_all
from tests.e2e.test_fix_error import panel_of
from tests.e2e.test_panel import COMMAND, composer

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT, SCALE = 1000, 1400, 1.5
TIMEOUT_MS = 60_000
LOAD = "%load_ext palimpsest"
DATA = 'import pandas as pd\n\npenguins = pd.read_csv("data/penguins.csv")\n%xmode Minimal'
FAILING = 'penguins["bill_length"].mean()'
PLOT = "%%agent\nPlot bill_length_mm against flipper_length_mm by species."


def open_new_notebook(page: Page, lab: Lab, name: str, *cells: str) -> None:
    """Open a new notebook with these cells, of which one that fails ends no run."""
    made = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for source in cells:
        tags = {"tags": ["raises-exception"]} if source == FAILING else {}
        made.cells.append(nbformat.v4.new_code_cell(source, metadata=tags))  # type: ignore[no-untyped-call]
    nbformat.write(made, lab.folder / "notebooks" / f"{name}.ipynb")  # type: ignore[no-untyped-call]
    open_notebook(page, lab, f"notebooks/{name}.ipynb")
    page.evaluate(READY)


def mended_error(page: Page, lab: Lab) -> Locator:
    """A cell that failed, and below it the answer with its buttons."""
    open_new_notebook(page, lab, "mended", LOAD, DATA, FAILING, "%agent fix")
    page.evaluate(f"void {RUN_ALL}")
    page.get_by_role("button", name="Replace the cell").wait_for()
    return page.locator(".jp-WindowedPanel-viewport").first


def named_cells(page: Page, lab: Lab) -> Locator:
    """The panel with a prompt that names an error and a variable, the list open."""
    open_new_notebook(page, lab, "named", LOAD, DATA, FAILING)
    page.evaluate(f"void {RUN_ALL}")
    page.get_by_role("button", name="Fix").wait_for()
    page.evaluate(COMMAND, "jupyter-palimpsest:focus-composer")
    panel = panel_of(page)
    composer(panel).press_sequentially("Why does @error not know @penguins ? Compare @")
    panel.get_by_role("option").first.wait_for()
    panel.locator(".plm-MentionChip", has_text="tokens").nth(1).wait_for()
    return panel


def recorded_answer(page: Page, lab: Lab) -> Locator:
    """An answer that Run All showed again."""
    open_new_notebook(page, lab, "recorded", LOAD, DATA, PLOT)
    run_all(page)
    run_all(page)
    page.get_by_text("Recorded answer of").wait_for()
    return page.locator(".jp-CodeCell").last


def turn(page: Page, lab: Lab, name: str) -> Locator:
    """The cell of a recorded turn."""
    [recorded] = [one for one in TURNS if one.name == name]
    notebook, cell = play(page, lab, recorded)
    shown = notebook.cell(cell)
    shown.get_by_role("button", name="steps").wait_for()
    return shown


def turn_in_cell(page: Page, lab: Lab) -> Locator:
    """A cell with what was done, a figure, a table, the answer and the figures of the turn."""
    shown = turn(page, lab, "figure")
    page.evaluate("window.jupyterapp.shell.collapseRight()")
    return shown


def turn_in_panel(page: Page, lab: Lab) -> Locator:
    """The panel with a turn in which a failure was mended."""
    turn(page, lab, "mended")
    page.set_viewport_size({"width": WIDTH, "height": 560})
    return panel_of(page)


def hide_cells(page: Page, *indices: int) -> None:
    """Leave cells out of a picture."""
    for index in indices:
        page.locator(".jp-Notebook .jp-Cell").nth(index).evaluate(
            "cell => cell.style.display = 'none'"
        )


def reviewed_cells(page: Page, lab: Lab) -> Locator:
    """The cells that the agent asks to change, without those that load it and ask."""
    ask_changes(page, lab, "review", *CHANGES)
    page.evaluate("window.jupyterapp.shell.collapseRight()")
    bars(page).nth(3).wait_for()
    hide_cells(page, 0, 1, 5)
    return page.locator(".jp-WindowedPanel-viewport").first


def origin_sign(page: Page, lab: Lab) -> Locator:
    """A cell that the agent wrote, with the sign beside it and what the sign says."""
    open_new_notebook(
        page, lab, "origin", LOAD, DATA, "%%agent\nWrite a cell that counts penguins by species"
    )
    page.evaluate(f"void {RUN_ALL}")
    press(page, "insert this cell", "Accept and run")
    written = page.locator(".jp-Cell", has=page.locator(".plm-CellOrigin"))
    written.locator(".jp-OutputArea-output").wait_for()
    hide_cells(page, 0, 1)
    # Found with the keyboard, it says the same as under the pointer.
    page.keyboard.press("Shift")
    written.get_by_role("button", name="Written by the agent").focus()
    page.locator(".jp-Cell p", has_text="I wrote the cell.").wait_for()
    return page.locator(".jp-WindowedPanel-viewport").first


PICTURES: dict[str, Callable[[Page, Lab], Locator]] = {
    "cell-origin": origin_sign,
    "cell-review": reviewed_cells,
    "mended-error": mended_error,
    "named-cells": named_cells,
    "recorded-answer": recorded_answer,
    "turn-cell": turn_in_cell,
    "turn-panel": turn_in_panel,
}


def main() -> None:
    """Take every picture, and reduce its colours."""
    program = browser_path()
    if program is None:
        sys.exit("No browser was found. Install chromium, or name one with PALIMPSEST_BROWSER.")
    rehearse()
    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home), BUILT) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        for name, show in PICTURES.items():
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE
            )
            page.set_default_timeout(TIMEOUT_MS)
            shown = show(page, lab)
            page.mouse.move(0, 0)
            page.wait_for_timeout(SETTLE_MS)
            path = IMAGES / f"{name}.png"
            shown.screenshot(path=path)
            with Image.open(path) as picture:
                few = few_colours(picture.convert("RGB"))
            few.save(path, optimize=True)
            print(f"Written: {path.relative_to(ROOT)} ({path.stat().st_size // 1000} kB)")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
