"""Take screenshots of 00-start and of the agent's rarer states in JupyterLab, for a person to look at.

A real JupyterLab in a headless Chromium runs a throw-away copy of the first notebook, with the panel open
and the permission questions answered with the mouse. At each stage screenshots are taken at three widths,
in light, dark and high contrast, and written to build/screens/WIDTH-THEME-STAGE.png. States that the first
notebook does not reach (a wait before a retry, a queue, an error) come from a server with scripted
failures.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from tests.e2e.jupyterlab import (
    BUILT,
    FLAGS,
    READY,
    ROOT,
    SCREENS,
    Lab,
    browser_path,
    choose_theme,
    open_notebook,
    running,
)
from tests.e2e.test_first_notebook import ENDED

from palimpsest.model.script import fails, says
from palimpsest.testing import FaultServer

START = "notebooks/00-start.ipynb"
STATES = "states.ipynb"
HEIGHT, TALL = 1000, 1500
SETTLE_MS = 250
"""Long enough for the page to redraw after a change of size or theme."""
PATIENCE_SECONDS = 120
OPENED = 6
"""Number of disclosures (reasoning and tool calls) in the first answer."""

COMMAND = "command => window.jupyterapp.commands.execute(command)"
RUN = """index => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.deselectAll();
  content.activeCellIndex = index;
  void window.jupyterapp.commands.execute('notebook:run-cell');
}"""
RUN_ALL = """window.cellsRan = false;
void window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.cellsRan = true; })"""
SCROLL = """([selector, share]) => {
  const node = document.querySelector(selector);
  const last = [...node.querySelectorAll('.jp-Cell, .plm-Turn')].at(-1);
  const edge = node.getBoundingClientRect().top;
  const end = last.getBoundingClientRect().bottom - edge + node.scrollTop + 12;
  node.scrollTop = share * Math.max(0, end - node.clientHeight);
  return Math.ceil(end / node.clientHeight);
}"""
"""Scrolls an element to a share of its height, and returns its height in screens."""
QUESTION = "node => node.closest('[data-ask]').dataset.ask"
IN_SIGHT = "node => node.scrollIntoView({ block: 'center' })"
QUESTIONS = (None, "asks-python", None, "asks-write")
"""Stage names for the questions of the first notebook; None stands for a question that looks like another one.
"""
NOTEBOOK, TRANSCRIPT = ".jp-WindowedPanel-outer", ".plm-Transcript"
ANSWER_CELL = ".jp-CodeCell .plm-Segment"


@dataclass(frozen=True)
class Look:
    """One combination of width, theme and forced colours in which the page is shown."""

    width: int
    theme: str
    forced: bool = False
    """The system enforces its own small set of colours, as Windows' contrast themes do."""

    @property
    def name(self) -> str:
        """Return the prefix of the screenshots' file names."""
        theme = self.theme.removeprefix("JupyterLab ").replace(" ", "-").lower()
        return f"{self.width}-{'forced' if self.forced else theme}"


LOOKS = (
    *(Look(width, "JupyterLab Light") for width in (700, 1100, 1600)),
    Look(1100, "JupyterLab Light", forced=True),
    *(Look(width, "JupyterLab Dark") for width in (700, 1100, 1600)),
    Look(1100, "JupyterLab Dark High Contrast"),
)


@dataclass
class Camera:
    """Takes screenshots of each stage in every look."""

    page: Page
    began: float
    taken: int = 0

    def looks(self, height: int = HEIGHT) -> Iterator[Look]:
        """Yield each look after switching the page to it."""
        for look in LOOKS:
            self.page.emulate_media(
                forced_colors="active" if look.forced else "none",
                color_scheme="dark" if look.forced else "light",
            )
            self.page.set_viewport_size({"width": look.width, "height": height})
            choose_theme(self.page, look.theme)
            self.page.wait_for_timeout(SETTLE_MS)
            yield look

    def keep(self, look: Look, stage: str) -> None:
        """Save a screenshot of the page as it is now."""
        self.page.screenshot(path=SCREENS / f"{look.name}-{stage}.png")
        self.taken += 1

    def stage(self, name: str, shown: Locator | None = None) -> None:
        """Take a screenshot of one stage in every look, with its element scrolled into view."""
        for look in self.looks():
            if shown is not None:
                shown.evaluate(IN_SIGHT)
                self.page.wait_for_timeout(SETTLE_MS)
            self.keep(look, name)
        self.tell(name)

    def tour(self, name: str) -> None:
        """Take screenshots of the notebook and the transcript screen by screen, from top to bottom."""
        for look in self.looks(TALL):
            screens = self.page.evaluate(SCROLL, [NOTEBOOK, 0])
            for number in range(screens):
                share = number / max(1, screens - 1)
                for place in (NOTEBOOK, TRANSCRIPT):
                    self.page.evaluate(SCROLL, [place, share])
                self.page.wait_for_timeout(SETTLE_MS)
                self.keep(look, f"{name}-{number + 1}")
        self.tell(name)

    def tell(self, stage: str) -> None:
        """Print the progress."""
        print(f"{time.monotonic() - self.began:5.0f} s  {stage}", flush=True)


def rehearse() -> None:
    """Make the rehearsal model answer the first notebook, whatever API keys the environment holds.

    Titles are switched off: the answers of the fault server are scripted for prompts alone.
    """
    chosen = {"model": "rehearsal/rehearsal", "titles": False}
    os.environ["PALIMPSEST_CONFIG_CONTENT"] = json.dumps(chosen)


def open_panel(page: Page) -> Locator:
    """Open the panel by its command."""
    page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
    panel = page.locator("#jupyter-palimpsest-panel")
    panel.locator(".plm-Panel").wait_for()
    return panel


def walk(page: Page, lab: Lab, camera: Camera) -> None:
    """Run the first notebook as a person does, and take screenshots of each stage."""
    open_notebook(page, lab, START)
    page.evaluate(READY)
    panel = open_panel(page)
    camera.stage("begin")
    page.evaluate(RUN_ALL)
    allow = page.locator(f"{ANSWER_CELL} [data-answer='once']:enabled").first
    for stage in QUESTIONS:
        allow.wait_for()
        if stage is not None:
            camera.stage(stage, allow)
        if stage == "asks-write":
            page.locator(f"{ANSWER_CELL} [data-answer='reject']").first.click()
            camera.stage("rejects", page.locator(".jp-CodeCell .plm-Rejection"))
            page.get_by_role("button", name="Back").first.click()
        question = allow.evaluate(QUESTION)
        allow.click()
        page.locator(f"[data-ask='{question}']").first.wait_for(state="detached")
    page.wait_for_function(ENDED, timeout=PATIENCE_SECONDS * 1000)
    panel.get_by_role("button", name="Stop", exact=True).wait_for(state="detached")
    camera.tour("finished")
    closed = page.locator(f"{ANSWER_CELL} .plm-Disclosure-head[aria-expanded='false']")
    for _ in range(OPENED):
        closed.first.click()
    camera.stage("opened", page.locator(f"{ANSWER_CELL} .plm-Tool").nth(1))
    panel.get_by_role("button", name="Context window").click()
    camera.stage("window")
    panel.get_by_role("button", name="Context window").press("Escape")
    for name in ("Agent", "Model"):
        panel.get_by_role("button", name=f"{name}:").click()
        camera.stage(f"choose-{name.lower()}")
        page.keyboard.press("Escape")
    panel.locator(".plm-Panel-sessions").click()
    camera.stage("sessions")


def states_of(server: FaultServer) -> list[str]:
    """Return the cells that produce the states which the first notebook does not reach."""
    return [
        f"%env OPENAI_BASE_URL={server.url}/v1\n%env OPENAI_API_KEY=none\n%load_ext palimpsest",
        "%%agent -y -m openai/fault\nGo on until I stop you.",
        "%%agent\nHow many penguins are there?",
        "%%agent\nAnd how heavy are they?",
        "%%agent\nWhere do they live?",
    ]


ANSWERS = (
    says("I look at the numbers first, one species after the other.")
    .calls("python", code="[len(name) for name in ('Adelie', 'Chinstrap', 'Gentoo')]")
    .calls("python", code="1 / 0"),
    says("The names have 6, 9 and 6 letters. Now I ").stalls(),
    fails(429, retry_after=600),
    fails(400, "The request is wrong: this model takes no tools."),
    *[fails(503, "The model is overloaded.", retry_after=0.02)] * 12,
)


def see_states(page: Page, lab: Lab, camera: Camera) -> None:
    """Take screenshots of rarer states: a streaming answer, a queue, a wait for a retry, and an error."""
    with FaultServer(*ANSWERS) as server:
        made = new_notebook(cells=[new_code_cell(cell) for cell in states_of(server)])
        made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(made, lab.folder / STATES)
        open_notebook(page, lab, STATES)
        page.evaluate(READY)
        panel = open_panel(page)
        page.evaluate(RUN, 0)
        field = panel.get_by_role("textbox", name="Prompt for the agent")
        field.wait_for()
        stop = panel.get_by_role("button", name="Stop", exact=True)
        foot = page.locator(f"{ANSWER_CELL} .plm-TurnFooter").last

        page.evaluate(RUN, 1)
        page.get_by_text("9 and 6 letters").first.wait_for()
        field.fill("Then compare the species by weight, too.")
        field.press("Enter")
        panel.get_by_role("group", name="Waiting prompt").wait_for()
        camera.stage("running", foot)
        stop.click()
        stop.wait_for(state="detached")

        page.evaluate(RUN, 2)
        page.get_by_text("tries again in").first.wait_for()
        camera.stage("retry", foot)
        stop.click()
        stop.wait_for(state="detached")

        failure = page.locator(f"{ANSWER_CELL} .plm-Failure[data-state='error']")
        page.evaluate(RUN, 3)
        failure.last.wait_for()
        page.evaluate(RUN, 4)
        failure.get_by_role("button", name="Retry").wait_for()
        stop.wait_for(state="detached")
        camera.stage("error", failure.last)


@contextmanager
def open_page(browser: Browser) -> Iterator[Page]:
    """Open a page; when an exception is raised, save a screenshot."""
    context = browser.new_context(viewport={"width": 1100, "height": HEIGHT})
    context.set_default_timeout(30_000)
    page = context.new_page()
    try:
        yield page
    except BaseException:
        page.screenshot(path=SCREENS / "stuck.png")
        raise
    finally:
        context.close()


def main() -> None:
    """Take all screenshots."""
    program = browser_path()
    if program is None:
        sys.exit("No browser was found. Install chromium, or name one with PALIMPSEST_BROWSER.")
    rehearse()
    SCREENS.mkdir(parents=True, exist_ok=True)
    for old in SCREENS.glob("[0-9]*-*.png"):
        old.unlink()
    began, taken = time.monotonic(), 0
    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home), BUILT) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        for story in (walk, see_states):
            with open_page(browser) as page:
                camera = Camera(page, began)
                story(page, lab, camera)
                taken += camera.taken
        browser.close()
    print(f"{taken} pictures in {SCREENS.relative_to(ROOT)}/")


if __name__ == "__main__":
    main()
