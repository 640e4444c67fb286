"""Take screenshots of every view of the inspector in all its places, for a person to look at.

Recordings of three agents and a session of our own, which was pruned and compacted and has subagents, are
shown as a report opened from the disk, in a tab of JupyterLab and of Notebook 7, in a cell, and on paper, at
three widths, in light and dark themes and with forced colours. The screenshots are written to
build/screens/inspector/PLACE-SESSION-WIDTH-THEME-VIEW.png; names of places after the command choose some.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright
from scripts.screens import LOOKS as LAB_LOOKS
from scripts.screens import SETTLE_MS, Look, rehearse
from tests.e2e.inspected_sessions import own_project, view_of
from tests.e2e.jupyterlab import (
    BUILT,
    FLAGS,
    READY,
    SCREENS,
    Lab,
    Notebook7,
    browser_path,
    choose_theme,
    open_notebook,
    running,
)
from tests.e2e.test_inspector import INSPECT
from tests.e2e.test_panel import RUN, book
from tests.recordings.formats.sample_files import sample

from palimpsest import open_recording
from palimpsest.public.recorded_session import RecordedSession

FOLDER = SCREENS / "inspector"
RECORDINGS = {
    "pi": "pi_large_session.jsonl",
    "claude": "claude_code/cc1df109.jsonl",
    "compacted": "claude_code/compaction_session.jsonl",
    "swe": "marshmallow-1867.traj",
}
OWN = {"Read the logs.": "cleared", "Go.": "subagents"}
"""Names of the own project's sessions that are photographed, by their first prompts."""
POLICIES = ["sweagent.last_n", "opencode.prune", "claude_code.auto"]
VIEWS = ("Timeline", "Items", "Requests", "Cost", "Wastes")
WIDTHS = (320, 768, 1440)
HEIGHT = 1000
MAX_HEIGHT = 6000
SHARE = 0.46
"""Where in a session the cursor stands: neither end shows what a request in the middle does."""
TALL = "node => Math.ceil(node.scrollHeight)"


@dataclass(frozen=True)
class Theme:
    """What a page outside JupyterLab is told of the person's colours."""

    name: str
    scheme: str
    forced: bool = False

    def show(self, page: Page) -> None:
        """Have the page shown in it."""
        page.emulate_media(
            color_scheme="dark" if self.scheme == "dark" else "light",
            forced_colors="active" if self.forced else "none",
        )


THEMES = (Theme("light", "light"), Theme("dark", "dark"), Theme("forced", "dark", forced=True))


@dataclass(frozen=True)
class Subject:
    """A session to be photographed."""

    name: str
    review: RecordedSession
    file: Path
    """The recording, or the folder of the project whose session it is."""


@contextmanager
def subjects(folder: Path) -> Iterator[list[Subject]]:
    """Open the recordings, and make and open the project of our own."""
    found = []
    with ExitStack() as opened:
        for name, file in RECORDINGS.items():
            path = sample(file, folder)
            recording = opened.enter_context(open_recording(path))
            found.append(Subject(name, recording[0], path))
        own = folder / "own"
        own.mkdir()
        own_project(own)
        project = opened.enter_context(open_recording(own))
        found += [
            Subject(OWN[title], review, own)
            for review in project
            if (title := view_of(review).title) in OWN
        ]
        yield found


def place_cursor(views: Locator) -> None:
    """Put the cursor on a request in the middle of the session."""
    field = views.get_by_role("spinbutton", name="Request").first
    field.fill(str(max(2, round(SHARE * int(field.get_attribute("max") or "1")))))


def each_view(page: Page, views: Locator) -> Iterator[str]:
    """Yield the name of one view after the other, when it is open and drawn."""
    for name in VIEWS:
        views.get_by_role("tab", name=name, exact=True).click()
        folds = views.locator(".plm-Compactions .plm-Disclosure-head[aria-expanded='false']")
        if name == "Requests" and folds.count():
            folds.first.click()
            views.locator(".plm-Compactions-sides").first.wait_for()
        page.wait_for_timeout(SETTLE_MS)
        yield name.lower()


def shot(page: Page, *name: str) -> None:
    """Save a screenshot of the whole page."""
    page.screenshot(path=FOLDER / f"{'-'.join(name)}.png", full_page=True)


def see_reports(browser: Browser, found: list[Subject], folder: Path) -> None:
    """Take screenshots of each session's report, opened from the disk."""
    for subject in found:
        path = subject.review.report(
            folder / f"{subject.name}.html", policies=POLICIES, texts="all"
        )
        for theme in THEMES:
            page = browser.new_page(viewport={"width": 1440, "height": HEIGHT})
            theme.show(page)
            page.goto(path.as_uri())
            views = page.locator(".plm-Inspector")
            place_cursor(views)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": HEIGHT})
                for view in each_view(page, views):
                    shot(page, "report", subject.name, str(width), theme.name, view)
            page.close()


def see_paper(browser: Browser, found: list[Subject], folder: Path) -> None:
    """Print each report into a PDF."""
    for subject in found:
        path = subject.review.report(
            folder / f"{subject.name}-paper.html", policies=POLICIES, texts="all"
        )
        page = browser.new_page(viewport={"width": 1440, "height": HEIGHT}, color_scheme="dark")
        page.goto(path.as_uri())
        place_cursor(page.locator(".plm-Inspector"))
        page.emulate_media(media="print", color_scheme="dark")
        page.locator(".plm-Inspector-printed").wait_for()
        page.screenshot(path=FOLDER / f"paper-{subject.name}.png", full_page=True)
        page.pdf(path=FOLDER / f"paper-{subject.name}.pdf", format="A4", print_background=True)
        page.close()


def see_tabs(browser: Browser, lab: Lab, found: list[Subject], place: str) -> None:
    """Take screenshots of a tab with each recording, in every theme of JupyterLab."""
    for subject in found:
        if subject.file.is_dir():
            continue
        file = subject.file.name
        (lab.folder / file).write_bytes(subject.file.read_bytes())
        page = browser.new_page(viewport={"width": 1440, "height": HEIGHT})
        open_notebook(page, lab, book(lab, f"beside-{subject.name}.ipynb", "1"))
        page.evaluate(READY)
        page.evaluate(INSPECT, {"path": file})
        _see_lab(page, page.locator(".plm-InspectorWidget .plm-Inspector"), place, subject.name)
        page.close()


def see_cells(browser: Browser, lab: Lab, found: list[Subject], place: str) -> None:
    """Take screenshots of ``inspect()`` in a cell."""
    (subject,) = [one for one in found if one.name == "claude"]
    (lab.folder / subject.file.name).write_bytes(subject.file.read_bytes())
    cell = (
        f"import palimpsest\nrecording = palimpsest.open_recording({subject.file.name!r})\n"
        "recording[0].inspect()"
    )
    page = browser.new_page(viewport={"width": 1440, "height": HEIGHT})
    open_notebook(page, lab, book(lab, "inspected-cell.ipynb", cell))
    page.evaluate(READY)
    page.evaluate(RUN, 0)
    _see_lab(page, page.locator(".plm-InspectedCell .plm-Inspector"), place, subject.name)
    page.close()


def _see_lab(page: Page, views: Locator, place: str, name: str) -> None:
    views.get_by_role("slider", name="Request, recorded").wait_for(timeout=60_000)
    place_cursor(views)
    for theme, forced in sorted({(look.theme, look.forced) for look in LAB_LOOKS}):
        page.emulate_media(
            forced_colors="active" if forced else "none",
            color_scheme="dark" if forced else "light",
        )
        choose_theme(page, theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            for view in each_view(page, views):
                # The tab scrolls in itself: the window is made as high as what is in it.
                high = min(views.evaluate(TALL) + 160, MAX_HEIGHT)
                page.set_viewport_size({"width": width, "height": max(high, HEIGHT)})
                page.wait_for_timeout(SETTLE_MS)
                look = Look(width, theme, forced=forced).name
                shot(page, place, name, look, view)
                page.set_viewport_size({"width": width, "height": HEIGHT})


PLACES: dict[str, tuple[type[Lab], Callable[[Browser, Lab, list[Subject], str], None]]] = {
    "tab": (Lab, see_tabs),
    "cell": (Lab, see_cells),
    "notebook7": (Notebook7, see_tabs),
}


def main() -> None:
    """Take the screenshots of the named places, or of all."""
    chosen = {*sys.argv[1:]}
    names = {one for one in chosen if one not in {"report", "paper", *PLACES}}
    program = browser_path()
    if program is None:
        sys.exit("No browser was found. Install chromium, or name one with PALIMPSEST_BROWSER.")
    rehearse()
    FOLDER.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as home,
        sync_playwright() as playwright,
        subjects(Path(home)) as found,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        meant = [one for one in found if not names or one.name in names]
        places = chosen - names or {"report", "paper", *PLACES}
        if "report" in places:
            see_reports(browser, meant, Path(home))
        if "paper" in places:
            see_paper(browser, meant, Path(home))
        for place, (kind, see) in PLACES.items():
            if place in places:
                with running(Path(home) / place, BUILT, kind) as lab:
                    see(browser, lab, meant, place)
            print(f"{time.monotonic() - began:5.0f} s  {place}", flush=True)
        browser.close()
    print(f"{len([*FOLDER.glob('*.png')])} pictures in {FOLDER}/")


if __name__ == "__main__":
    main()
