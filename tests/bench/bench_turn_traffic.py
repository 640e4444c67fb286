"""Measure what a turn of 60 steps costs on the way to its page: bytes and messages on iopub, and the page's CPU.

Each step thinks, says a sentence and reads a file. A page watches the kernel; the turn is asked for in a cell, then
in the panel. The page's CPU is measured in a real JupyterLab with notebook and panel in sight, in a session that was
just begun and in longer ones.
"""

import json
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright
from tests.bench.figure import Figure
from tests.e2e.jupyterlab import BUILT, FLAGS, ROOT, browser_path, running
from tests.e2e.running_notebook import RUN
from tests.e2e.test_long_sessions import old_sessions, worked
from tests.harness.kernel import Kernel, Message

GROWTH = 1.5
"""How much more the last steps may send than the first: a step costs what it adds."""
TURNS = {"45 parts": 3, "1,000 parts": 67, "10,000 parts": 667}
"""The sessions that a page shows, by their size: turns of fifteen parts each."""
PAGE_STEPS = 20
WAIT_MS = 300_000
STEPS = 60
EDGE = 10
SCRIPT = """from pathlib import Path
from palimpsest.model.script import calls, says, thinks
def steps(count):
    for number in range(count):
        Path(f"{number}.txt").write_text("some words of a line\\n" * 50)
    words = "I look at what the file says, and decide what to read next."
    step = thinks(words).says(words).pauses(0.05)
    harness.script(*(step.calls("read", path=f"{n}.txt") for n in range(count)), says("Done."))
"""
GO = "%%agent\nGo."


def measure() -> list[Figure]:
    """Return the figures of the kernel, and those of the page."""
    return [*iopub_figures(cell=True), *iopub_figures(cell=False), *page_figures()]


def iopub_figures(*, cell: bool) -> list[Figure]:
    """Return what a kernel publishes for a turn that is asked for in a cell, or in the panel."""
    messages = turn_messages(cell=cell)
    steps = bytes_by_step(messages)
    sizes = [(message["header"]["msg_type"], _size(message)) for message in messages]
    outputs = sum(size for kind, size in sizes if "display_data" in kind)
    total = sum(size for _, size in sizes)
    way = "from a cell" if cell else "from the panel"
    note = f"{len(sizes)} messages; {outputs / 1000:.0f} kB of them outputs of the cell"
    first, last = (sum(some) / EDGE for some in (steps[:EDGE], steps[-EDGE:]))
    return [
        Figure(f"iopub, {STEPS} steps {way}", total / 1000, "kB", note=note),
        Figure(
            f"... records of the last {EDGE} steps over the first",
            last / first,
            "x",
            GROWTH,
            f"{first:,.0f} and {last:,.0f} B a step",
        ),
    ]


def turn_messages(*, cell: bool) -> list[Message]:
    """Return the messages of a turn of 60 steps that a page watches, asked for in a cell or in the panel."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Kernel(cwd=Path(folder)) as kernel,
    ):
        kernel.load_scripted_model()
        kernel.run(f"{SCRIPT}steps({STEPS})")
        kernel.request(type="watch", client="page")
        begun = len(kernel.iopub)
        if cell:
            kernel.run(GO)
        else:
            kernel.request(type="prompt", id="asked", text="Go.")
            kernel.wait(lambda m: m["content"].get("kind") == "outcome", since=begun)
        kernel.wait(_ends, since=begun)
        return list(kernel.iopub[begun:])


def bytes_by_step(messages: list[Message]) -> list[int]:
    """Return the bytes of the records of each step."""
    totals = [0]
    for message in messages:
        for record in message["content"].get("records", ()):
            if record["type"] == "step.requested":
                totals.append(0)
            totals[-1] += len(json.dumps(record))
    return totals[1:-1]


def _ends(message: Message) -> bool:
    """Tell whether a message reports that the session is idle again."""
    records = message["content"].get("records", ())
    return any(record.get("status") == {"type": "idle"} for record in records)


def _size(message: Message) -> int:
    """Return about how many bytes a message has on the wire."""
    fields = ("header", "parent_header", "metadata", "content")
    return sum(len(json.dumps(message[field], default=str)) for field in fields)


def page_figures() -> list[Figure]:
    """Return the CPU of the page's main thread for each step, in sessions of several lengths."""
    if not (BUILT / "package.json").is_file():
        subprocess.run(["make", "front"], cwd=ROOT, check=True, timeout=600)
    figures = []
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        running(Path(home), BUILT) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=browser_path(), args=[*FLAGS])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(WAIT_MS)
        sessions = [f"session = old({turns})\nuse(session)" for turns in TURNS.values()]
        cells = [code for session in sessions for code in (session, f"steps({PAGE_STEPS})", GO)]
        _, panel = old_sessions(page, lab, "traffic", SCRIPT, *cells)
        cpu = page.context.new_cdp_session(page)
        cpu.send("Performance.enable", {"timeDomain": "threadTicks"})
        _run(page, panel, 1)
        for number, parts in enumerate(TURNS):
            opened, scripted, asked = range(3 * number + 2, 3 * number + 5)
            _run(page, panel, opened)
            _run(page, panel, scripted)
            before = worked(cpu)
            _run(page, panel, asked)
            spent = (worked(cpu) - before) / PAGE_STEPS * 1000
            figures.append(Figure(f"page's CPU, a step in a session of {parts}", spent, "ms"))
        browser.close()
    return figures


def _run(page: Page, panel: Locator, cell: int) -> None:
    """Run a cell and wait until the session is at rest, asking seldom: a question in each frame costs CPU."""
    page.evaluate(RUN, cell)
    page.wait_for_function("window.ended", polling=400)
    stop = panel.get_by_role("button", name="Stop", exact=True)
    expect(stop).to_have_count(0, timeout=WAIT_MS)
