"""Measure what an answer that streams into a notebook and the panel beside it costs the page, and what opening a session does.

A scripted model sends 5,000 pieces of Markdown, as fast as a fast provider. Other work on the machine only adds to wall time, so
CPU time is measured: of the page's main thread, of its process, of each task, and of what the main thread does from the press of
a key until its letter is seen, compared with the same on the page at rest.
"""

import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from playwright.sync_api import CDPSession, Page, sync_playwright
from tests.bench.bench_lab import SCRIPT, warm_up
from tests.bench.figure import Figure
from tests.e2e.jupyterlab import BUILT, FLAGS, ROOT, Lab, browser_path, running
from tests.e2e.running_notebook import RUN
from tests.e2e.test_long_sessions import GO, old_sessions, worked

DELTAS = 5_000
RATE = 250
"""Deltas in a second."""
TURNS = 300
KEYS = 30
KEY_MS = 100
WAIT_MS = 300_000
BEGUN_MS = 8_000
"""After its first long listing, which costs a page little."""

TELL = f"""from tests.e2e.sample_answer import answer
told = answer({DELTAS} * 5 / 3.5, seed=3, huge=False)[:{DELTAS} * 5]
harness.model = Steady(tokens(told, {DELTAS}), {RATE})"""

TYPED = """() => {
  window.typed = [];
  window.onTyped ??= document.addEventListener('keydown', event => {
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port2.onmessage = () => window.typed.push([event.timeStamp, performance.now()]);
      port1.postMessage(null);
    });
  }, true) ?? true;
}"""
"""Notes for each key when it was pressed, and when the frame that shows it was painted."""

ZERO = "performance.mark('zero').startTime"

REST = """() => new Promise(done => {
  let quiet = 0;
  const next = deadline => {
    quiet = deadline.timeRemaining() > 5 ? quiet + 1 : 0;
    quiet < 5 ? setTimeout(() => requestIdleCallback(next), 200) : done();
  };
  requestIdleCallback(next);
})"""
"""Resolves when the page was idle for a second."""


def measure() -> list[Figure]:
    """Return the figures of one JupyterLab and one browser."""
    if not (BUILT / "package.json").is_file():
        subprocess.run(["make", "front"], cwd=ROOT, check=True, timeout=600)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        running(Path(home), BUILT) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=browser_path(), args=[*FLAGS])
        try:
            figures = []
            for one in (streaming_figures, opening_figures):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.set_default_timeout(WAIT_MS)
                figures += one(page, lab)
                page.close()
            return figures
        finally:
            browser.close()


class Task(NamedTuple):
    """A task of the main thread, in milliseconds."""

    began: float
    took: float
    cpu: float

    def within(self, began: float, ended: float) -> float:
        """Return the CPU time that falls into a stretch of time."""
        shared = min(self.began + self.took, ended) - max(self.began, began)
        return self.cpu * max(shared, 0) / self.took if self.took else 0


class Meter:
    """The CPU time that a page has taken."""

    def __init__(self, page: Page) -> None:
        self.main: CDPSession = page.context.new_cdp_session(page)
        self.main.send("Performance.enable", {"timeDomain": "threadTicks"})
        assert page.context.browser is not None
        self.browser: CDPSession = page.context.browser.new_browser_cdp_session()

    def read(self) -> tuple[float, float]:
        """Return the CPU seconds of the page's main thread, and of all threads of the renderers."""
        told = self.browser.send("SystemInfo.getProcessInfo")["processInfo"]
        return worked(self.main), sum(one["cpuTime"] for one in told if one["type"] == "renderer")

    def spent(self, act: Callable[[], object]) -> tuple[float, float]:
        """Return how much both grew while something was done."""
        before = self.read()
        act()
        main, renderer = self.read()
        return main - before[0], renderer - before[1]

    def tasks(self, act: Callable[[], object]) -> list[Task]:
        """Return what the main thread did, task by task, while something was done."""
        events: list[dict[str, Any]] = []
        self.browser.on("Tracing.dataCollected", lambda told: events.extend(told["value"]))
        ended: list[object] = []
        self.browser.on("Tracing.tracingComplete", lambda told: ended.append(told))
        config = {
            "includedCategories": ["disabled-by-default-devtools.timeline", "blink.user_timing"]
        }
        self.browser.send("Tracing.start", {"traceConfig": config, "transferMode": "ReportEvents"})
        zero = self.main.send("Runtime.evaluate", {"expression": ZERO})["result"]["value"]
        act()
        self.browser.send("Tracing.end")
        while not ended:
            self.main.send("Runtime.evaluate", {"expression": "0"})
        mark = next(e for e in events if e.get("name") == "zero")
        # The page's own clock, in milliseconds.
        return [
            Task((e["ts"] - mark["ts"]) / 1e3 + zero, e["dur"] / 1e3, e["tdur"] / 1e3)
            for e in events
            if e.get("name") == "RunTask"
            and "tdur" in e
            and (e["pid"], e["tid"]) == (mark["pid"], mark["tid"])
        ]


SELECT = """async cell => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = cell;
  await content.scrollToItem(cell);
}"""


def select(page: Page, cell: int) -> None:
    """Select a cell as one who has written into it, and wait until the cells around it are drawn."""
    page.evaluate(SELECT, cell)
    page.evaluate(REST)


def run(page: Page, cell: int) -> None:
    """Run a cell until the page is at rest, asking seldom: a question in each frame costs CPU."""
    page.evaluate(RUN, cell)
    page.wait_for_function("window.ended", polling=500)
    page.evaluate(REST)


def streamed_notebook(page: Page, lab: Lab) -> list[int]:
    """Open a notebook with the panel beside it, warmed up; return the cells that stream an answer."""
    streams = 4
    cells = [SCRIPT, warm_up(1_000, 250), GO, TELL, *[GO] * streams]
    old_sessions(page, lab, "bench-streaming", *cells)
    for cell in (1, 2, 3, 4):
        run(page, cell)
    return list(range(5, 5 + streams))


def type_in(page: Page, meter: Meter, place: str) -> float:
    """Type into an element; return the median of the CPU milliseconds until a letter is seen."""
    page.evaluate(TYPED)
    # Not by a click, which would wait until an answer that grows has come to rest.
    page.locator(place).evaluate("place => place.focus({ preventScroll: true })")
    tasks = meter.tasks(lambda: page.keyboard.type("a" * KEYS, delay=KEY_MS))
    typed = page.evaluate("window.typed")
    return median(sum(task.within(*one) for task in tasks) for one in typed)


PLACES = {
    "composer": ".plm-Composer-field",
    "cell": ".jp-Notebook .jp-CodeCell.jp-mod-active .cm-content",
}
"""The second is the editor of the cell whose answer streams, right above it."""


def streaming_figures(page: Page, lab: Lab) -> list[Figure]:
    """Return what an answer costs that streams into a cell and the panel at once."""
    plain, traced, *typing = streamed_notebook(page, lab)
    meter = Meter(page)
    select(page, plain)
    idle, _ = meter.spent(lambda: page.wait_for_timeout(DELTAS / RATE * 1000))
    main, renderer = meter.spent(lambda: run(page, plain))
    select(page, traced)
    tasks = meter.tasks(lambda: run(page, traced))
    longest: dict[int, float] = defaultdict(float)
    for task in tasks:
        second = int(task.began / 1000)
        longest[second] = max(longest[second], task.cpu)
    at_rest = {place: type_in(page, meter, where) for place, where in PLACES.items()}
    meanwhile = {}
    late = False
    for cell, (place, where) in zip(typing, PLACES.items(), strict=True):
        page.evaluate(RUN, cell)
        page.wait_for_timeout(BEGUN_MS)
        meanwhile[place] = type_in(page, meter, where)
        late = late or bool(page.evaluate("window.ended"))
        page.wait_for_function("window.ended", polling=500)
    name = f"{DELTAS:,} deltas, cell and panel"
    load = f"load {os.getloadavg()[0]:.1f}"
    return [
        Figure(
            f"{name}: page's CPU",
            main,
            "s",
            target=3,
            note=f"{renderer:.1f} s of the renderer's process; at rest {idle:.2f} s; {load}",
        ),
        Figure(
            f"{name}: longest task of a second, median",
            median(longest.values()),
            "ms",
            target=50,
            note="CPU time",
        ),
        Figure(f"{name}: longest task", max(longest.values()), "ms", target=200, note="CPU time"),
        *(
            Figure(
                f"a letter typed into the {place} meanwhile",
                meanwhile[place] / at_rest[place],
                "x",
                target=2,
                note=f"of that at rest: medians {meanwhile[place]:.1f} and {at_rest[place]:.1f} ms of CPU time"
                + ("; the answer ended before" if late else ""),
            )
            for place in PLACES
        ),
    ]


def opening_figures(page: Page, lab: Lab) -> list[Figure]:
    """Return what it costs to open a long session in the panel, beyond an empty one."""
    cells = (f"long = old({TURNS}); short = old(0)", "use(short)", "use(long)")
    old_sessions(page, lab, "bench-opening", *cells)
    run(page, 1)
    meter = Meter(page)
    empty, _ = meter.spent(lambda: run(page, 2))
    main, renderer = meter.spent(lambda: run(page, 3))
    shown = page.evaluate("document.querySelectorAll('.plm-Panel .plm-Turn').length")
    return [
        Figure(
            f"{TURNS} turns opened in the panel, to rest: page's CPU",
            main - empty,
            "s",
            target=0.5,
            note=f"beyond {empty:.2f} s of an empty session; {shown} turns; {renderer:.1f} s of the renderer's process",
        )
    ]
