"""Take the pictures of the inspector in docs/images: a recorded session of pi in JupyterLab, and two of Claude Code.

The recordings of the lessons are opened as a person opens them, and the pictures are of the inspector alone.
"""

import lzma
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright
from scripts.picture import few_colours
from scripts.screens import SETTLE_MS
from tests.e2e.jupyterlab import (
    BUILT,
    FLAGS,
    ROOT,
    Lab,
    browser_path,
    running,
    wait_until_drawn,
)

RECORDINGS = ROOT / "kernel_ext" / "palimpsest" / "lessons" / "data"
SAMPLE = RECORDINGS / "pi_large_session.jsonl.xz"
PAIR = RECORDINGS / "claude_code_spotter"
"""Two sessions of one project, each with its compaction: the first with Opus 4.6, the second with Haiku 4.5."""
IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT, SCALE = 1280, 1060, 1.5
MAX_BYTES = 200_000
CHEAP, DEAR = 212, 209
"""Of docs/teaching-a-dear-request.md: two requests of one size, of which the later one read its cache."""
POLICY = "opencode.prune"


def move(views: Locator, request: int) -> None:
    """Write the number of a request into the cursor's field."""
    views.get_by_role("spinbutton", name="Request").first.fill(str(request))


def show_timeline(views: Locator) -> None:
    """Show the timeline with the grid at the dear request."""
    views.get_by_role("tab", name="Timeline").click()
    move(views, DEAR)


def show_cheap(views: Locator) -> None:
    """Show the sentence of the cheap request."""
    views.get_by_role("tab", name="Timeline").click()
    move(views, CHEAP)


def show_what_if(views: Locator) -> None:
    """Show another policy below the recording, and where its facts end."""
    views.get_by_role("tab", name="Timeline").click()
    views.get_by_role("button", name="Policy").click()
    views.get_by_placeholder("Find one").fill(POLICY)
    views.get_by_placeholder("Find one").press("Enter")
    views.get_by_text(f"what if · {POLICY}").wait_for()
    move(views, DEAR)


def show_cost(views: Locator) -> None:
    """Show costs and breaks."""
    views.get_by_role("tab", name="Cost").click()
    move(views, DEAR)


PICTURES: dict[str, tuple[Callable[[Locator], None], str, str]] = {
    "inspector-timeline": (show_timeline, ".plm-Inspector-header", ".plm-ItemGrid-box"),
    "inspector-dear": (show_timeline, ".plm-CursorSentence", ".plm-CursorSentence"),
    "inspector-cheap": (show_cheap, ".plm-CursorSentence", ".plm-CursorSentence"),
    "inspector-difference": (show_timeline, ".plm-Difference", ".plm-Difference"),
    "inspector-cost": (show_cost, ".plm-Inspector-columns", ".plm-Inspector-columns"),
    "inspector-what-if": (show_what_if, ".plm-Tracks", ".plm-PolicyControls"),
}
"""Each with what is shown, and the elements at its top and its bottom."""
MARGIN = 8
COMPARE = """async args => {
  await window.jupyterapp.restored;
  await window.jupyterapp.commands.execute('palimpsest:compare', args);
}"""


def open_sample(page: Page, lab: Lab) -> Locator:
    """Open the sample as a double click does, and return the inspector."""
    (lab.folder / "pi.jsonl").write_bytes(lzma.decompress(SAMPLE.read_bytes()))
    page.goto(f"{lab.url}/doc/workspaces/pictures/tree/pi.jsonl?token={lab.token}&reset")
    views = page.locator(".plm-InspectorWidget .plm-Inspector")
    views.get_by_role("slider", name="Request, recorded").wait_for()
    views.get_by_text("what if ·").wait_for()
    views.get_by_text("computed…").first.wait_for(state="hidden")
    return views


def open_pair(page: Page, lab: Lab) -> Locator:
    """Open both sessions of the pair as *Compare in the Inspector* does, and return the inspector."""
    shutil.copytree(PAIR, lab.folder, dirs_exist_ok=True)
    for packed in lab.folder.rglob("*.jsonl.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    first, second = sorted(path.name for path in PAIR.glob("*.jsonl.xz"))
    page.goto(f"{lab.url}/doc/workspaces/pictures?token={lab.token}&reset")
    page.evaluate(COMPARE, {"path": Path(first).stem, "with": Path(second).stem})
    views = page.locator(".plm-InspectorWidget .plm-Inspector")
    views.get_by_role("group", name="Where they part").wait_for()
    return views


def take(page: Page, views: Locator, first: str, last: str, path: Path) -> None:
    """Take the part of the inspector from one element down to another, with few colours."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    wait_until_drawn(page)
    page.wait_for_timeout(SETTLE_MS)
    frame, top = views.bounding_box(), views.locator(first).first.bounding_box()
    bottom = views.locator(last).first.bounding_box()
    visible = page.locator(".plm-InspectorWidget").bounding_box()
    assert frame is not None
    assert visible is not None
    assert top is not None
    assert bottom is not None
    is_whole = top["width"] > 0.8 * frame["width"]
    edges = frame if is_whole else top
    begin = top["y"] - (0 if is_whole else MARGIN)
    end = min(bottom["y"] + bottom["height"] + MARGIN, visible["y"] + visible["height"])
    left = edges["x"] - (0 if is_whole else MARGIN)
    width = edges["width"] + (0 if is_whole else 2 * MARGIN)
    page.screenshot(path=path, clip={"x": left, "y": begin, "width": width, "height": end - begin})
    with Image.open(path) as picture:
        few = few_colours(picture.convert("RGB"))
    few.save(path, optimize=True)
    size = path.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{path.relative_to(ROOT)} takes {size // 1000} kB, more than a page should load.")
    print(f"Written: {path.relative_to(ROOT)} ({size // 1000} kB)")


def main() -> None:
    """Take each picture."""
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
        views = open_sample(page, lab)
        for name, (show, first, last) in PICTURES.items():
            show(views)
            take(page, views, first, last, IMAGES / f"{name}.png")
        pair = open_pair(page, lab)
        take(
            page,
            pair,
            ".plm-Inspector-header",
            ".plm-Compared > .plm-Inspector-card >> nth=1",
            IMAGES / "inspector-two.png",
        )
        browser.close()


if __name__ == "__main__":
    main()
