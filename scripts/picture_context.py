"""Take docs/images/context.png, a screenshot of the ``%agent context`` output of a compacted session.

A real JupyterLab in a headless Chromium plays a short session with a scripted model; only the cell with the
context window is kept.
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from scripts.picture import few_colours
from scripts.screens import SETTLE_MS
from tests.e2e.jupyterlab import BUILT, FLAGS, ROOT, browser_path, running
from tests.e2e.running_notebook import begin

PICTURE = ROOT / "docs" / "images" / "context.png"
NAME = "window"
WIDTH, HEIGHT, SCALE = 1000, 900, 1.5
SETUP = """from pathlib import Path
from palimpsest.model.script import thinks
from palimpsest.transcript.values import ModelInfo, ModelRef
def prepare(info=ModelInfo(ref=ModelRef(provider='rehearsal', name='penguins'), window=64_000, output_limit=8_000)):
    object.__setattr__(harness.services, 'info', lambda name, variant: info)
    object.__setattr__(harness.services, 'default_model', lambda: info.ref.id)
    Path('.palimpsest').mkdir(exist_ok=True)
    Path('AGENTS.md').write_text('# House rules\\n' + 'Lengths are given in millimetres, never in inches. ' * 60)
    Path('raw').mkdir(exist_ok=True)
    for year in range(2007, 2011):
        lines = (f'Adelie,Torgersen,{39 + row % 7}.{row % 10},18.{row % 9},181,3750,{year}' for row in range(1900))
        Path(f'raw/{year}.csv').write_text('\\n'.join(lines))
prepare()
harness.script(
    thinks('The bill lengths may hold typing errors. ' * 40).says('I look at the oldest file first.')
        .calls('read', path='raw/2007.csv'),
    says('Seven rows lie more than three standard deviations from the mean of 43.92. ' * 20),
    says('## Goal\\n- find the odd bill lengths in penguins\\n\\n## Numbers and facts\\n- mean 43.92, 344 rows\\n'
        '- seven rows of raw/2007.csv, 39.0 to 45.9\\n\\n## Open\\n- compare the years\\n' + '- none\\n' * 40),
    thinks('Each year has a file of its own. ' * 60).calls('read', path='raw/2008.csv'),
    calls('read', path='raw/2009.csv'), calls('read', path='raw/2010.csv'),
    says('2009 holds all of them: one instrument was off by 10 mm. ' * 40),
    says('The file raw/2009.csv is the one to mend. ' * 20),
)
del prepare, ModelInfo, ModelRef, Path, thinks, says, calls, load"""
POLICY = (
    "truncate.max_bytes=24000 prune.protect_tokens=6000 prune.minimum_tokens=4000 prune.minimum_scaled=share "
    "prune.start_share=0.5 prune.target_share=0.4 prune.protect_turns=1 compact.tail_turns=0"
)
CELLS = (
    SETUP,
    f"%agent policy {POLICY}",
    "%agent Which bill lengths are odd?",
    "%agent compact focus on the numbers",
    "%agent In which year?",
    "%agent What is to be done?",
    "%agent context",
)


def main() -> None:
    """Run the notebook, open the list of items, and take a screenshot of the last cell."""
    program = browser_path()
    if program is None:
        sys.exit("No browser was found. Install chromium, or name one with PALIMPSEST_BROWSER.")
    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home), BUILT) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE
        )
        notebook = begin(page, lab, NAME, *CELLS)
        for number in range(1, len(CELLS) + 1):
            notebook.run(number)
        cell = notebook.cell(len(CELLS))
        cell.locator(".plm-Saved-window").wait_for()
        page.mouse.move(0, 0)
        page.wait_for_timeout(SETTLE_MS)
        cell.screenshot(path=PICTURE)
        with Image.open(PICTURE) as picture:
            few = few_colours(picture.convert("RGB"))
        few.save(PICTURE, optimize=True)
        browser.close()
    print(f"Written: {PICTURE.relative_to(ROOT)} ({PICTURE.stat().st_size // 1000} kB)")


if __name__ == "__main__":
    main()
