"""Take docs/images/first-light.png, a screenshot of a question of 00-start and its answer in JupyterLab.

A real JupyterLab in a headless Chromium runs a throw-away copy of the first notebook; the rehearsal model
answers, and its permission questions are answered with the mouse.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from scripts.screens import SETTLE_MS, START, open_panel, rehearse
from tests.e2e.jupyterlab import BUILT, FLAGS, READY, ROOT, browser_path, open_notebook, running
from tests.e2e.test_first_notebook import run_all

PICTURE = ROOT / "docs" / "images" / "first-light.png"
QUESTION = "scatter"
"""Text in the prompt of the cell that is shown; later cells are not run."""
WIDTH, HEIGHT, SCALE = 1120, 1072, 1.5
TO_TOP = "node => node.scrollIntoView({ block: 'start' })"


def shorten(path: Path) -> None:
    """Remove the cells after the question from the notebook."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    names = [cell.id for cell in notebook.cells]
    notebook.cells = notebook.cells[: names.index(QUESTION) + 1]
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


def show(page: Page) -> None:
    """Run the notebook, and scroll the question to the top."""
    page.evaluate(READY)
    open_panel(page)
    run_all(page)
    page.locator(".jp-CodeCell").last.evaluate(TO_TOP)
    page.mouse.move(0, 0)
    page.wait_for_timeout(SETTLE_MS)


def few_colours(picture: Image.Image) -> Image.Image:
    """Reduce the colours: the most common ones are kept, rare ones become the nearest of a few."""
    counted = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)
    rare = picture.quantize(64, Image.Quantize.FASTOCTREE).getpalette() or []
    common = [part for _, colour in counted[:192] for part in colour]
    palette = Image.new("P", (1, 1))
    palette.putpalette(common + rare[: 64 * 3])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def main() -> None:
    """Run the notebook, take the screenshot, and reduce its colours."""
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
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE
        )
        shorten(lab.folder / START)
        open_notebook(page, lab, START)
        show(page)
        page.screenshot(path=PICTURE)
        with Image.open(PICTURE) as picture:
            few = few_colours(picture.convert("RGB"))
        few.save(PICTURE, optimize=True)
        browser.close()
    print(f"Written: {PICTURE.relative_to(ROOT)} ({PICTURE.stat().st_size // 1000} kB)")


if __name__ == "__main__":
    main()
