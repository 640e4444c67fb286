"""Measure JupyterLab in a browser: traffic, long tasks, a reload and an approval.

A real JupyterLab in a headless browser; a scripted model answers inside the kernel. Tokens come at 1,000 a
second, as fast as any provider sends them.
"""

import json
import lzma
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import zmq
from jupyter_client import BlockingKernelClient
from playwright.sync_api import Page, sync_playwright
from tests.bench.figure import Figure
from tests.e2e.jupyterlab import BUILT, FLAGS, ROOT, Lab, browser_path, running
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_long_sessions import GO, NEWEST, TURNS, counts, old_sessions, worked
from tests.e2e.test_panel import at_rest

TOKENS = 20_000
KILOBYTES = 49
SECONDS = 20
UPDATE_SECONDS = 0.03
LONG_MS = 50

SCRIPT = f"""import sys; sys.path.insert(0, {str(ROOT)!r})
import asyncio, time
from dataclasses import replace
from palimpsest.model.script import Say
from tests.e2e.sample_answer import answer
text = answer({KILOBYTES * 1000} / 3.5)[:{KILOBYTES * 1000}]
def tokens(text, count):
    cuts = [round(n * len(text) / count) for n in range(count + 1)]
    return [text[a:b] for a, b in zip(cuts, cuts[1:])]
class Steady:
    \"\"\"Plays tokens at an even rate, however late the loop wakes it.\"\"\"
    def __init__(self, pieces, rate): self.pieces, self.rate = pieces, rate
    async def stream(self, request):
        from palimpsest.model.interface import StepStarted, StepFinished, TextDelta, TextEnded, TextStarted
        from palimpsest.transcript.values import Usage
        yield StepStarted()
        yield TextStarted(id="text")
        began = time.perf_counter()
        for number, piece in enumerate(self.pieces):
            ahead = began + number / self.rate - time.perf_counter()
            if ahead > 0.001:
                await asyncio.sleep(ahead)
            yield TextDelta(id="text", text=piece)
        yield TextEnded(id="text")
        yield StepFinished("stop", Usage(input=10, output=len(self.pieces)), None)
"""


def warm_up(pieces: int, rate: int) -> str:
    """Return code for an answer with all kinds of content, so that scripts and fonts are loaded."""
    return f"harness.model = Steady(tokens(answer(300, seed=2) + text[21_000:32_000], {pieces}), {rate})"


OBSERVE = """() => {
  window.long = [];
  window.watcher?.disconnect();
  window.watcher = new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.long.push(entry.duration);
  });
  window.watcher.observe({ type: 'longtask' });
}"""

CONNECTED = """() => {
  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    constructor(...given) {
      super(...given);
      if (String(given[0]).includes('/channels')) {
        this.addEventListener('message', () => { window.connected ??= performance.now(); });
      }
    }
  };
  const look = () => {
    const found = [...document.querySelectorAll('.jp-Notebook .plm-Segment')].some(one =>
      one.textContent.includes('marigold'));
    if (found) window.drawn ??= performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

CLICK = """() => new Promise(resolve => {
  const button = [...document.querySelectorAll('.jp-Notebook .plm-Question button')].find(one =>
    one.textContent.includes('Allow once'));
  const question = button.closest('.plm-Question');
  const began = performance.now();
  button.click();
  const look = () => {
    if (question.isConnected) requestAnimationFrame(look);
    else resolve(performance.now() - began);
  };
  look();
})"""


def measure() -> list[Figure]:
    """Return the figures of one JupyterLab and one browser."""
    program = browser_path()
    if program is None:
        message = "No browser was found: install chromium, or name one with PALIMPSEST_BROWSER."
        raise RuntimeError(message)
    if not (BUILT / "package.json").is_file():
        subprocess.run(["make", "front"], cwd=ROOT, check=True, timeout=600)
    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home), BUILT) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        try:
            for one in (_sizes, _streaming, _reload, _approval, _long):
                with _page(browser) as page:
                    figures += one(page, lab)
        finally:
            browser.close()
    return figures


@contextmanager
def _page(browser: Any) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    try:
        yield context.new_page()
    finally:
        context.close()


LOADED = """() => performance.getEntriesByType('resource').map(one => new URL(one.name).pathname)
  .filter(path => path.includes('/jupyter-palimpsest/')).map(path => path.split('/').at(-1))"""
"""Returns the names of the extension's files that a page has asked for."""
RECORDING = ROOT / "tests" / "recordings" / "formats" / "samples" / "marshmallow-1867.traj.xz"


def _sizes(page: Page, lab: Lab) -> list[Figure]:
    """What a page loads of the extension with JupyterLab, and what more when the inspector is opened."""
    (lab.folder / "recording.traj").write_bytes(lzma.decompress(RECORDING.read_bytes()))
    begin(page, lab, "sizes")
    first = set(page.evaluate(LOADED))
    opened = "path => void window.jupyterapp.commands.execute('docmanager:open', { path })"
    page.evaluate(opened, "recording.traj")
    page.locator(".plm-InspectorWidget .plm-Inspector [role='slider']").first.wait_for()
    later = set(page.evaluate(LOADED)) - first
    note = "not compressed, and React is JupyterLab's"
    return [
        Figure(
            "extension, loaded at the start",
            _kilobytes(first),
            "kB",
            target=300,
            note=f"cell, panel and window; {note}",
        ),
        Figure(
            "inspector, loaded when it is opened",
            _kilobytes(later),
            "kB",
            target=300,
            note=f"its tab and views; {note}",
        ),
    ]


def _kilobytes(names: set[str]) -> float:
    """Return the size of built files; each is one that was built."""
    return sum((BUILT / "static" / name).stat().st_size for name in names) / 1000


class Tap(Thread):
    """An additional iopub listener that counts the bytes a kernel publishes."""

    def __init__(self, connection: Path) -> None:
        super().__init__(daemon=True)
        port = json.loads(connection.read_text())["iopub_port"]
        self.bytes = 0
        self._open = True
        self._socket = zmq.Context.instance().socket(zmq.SUB)
        self._socket.set_hwm(0)
        self._socket.subscribe(b"")
        self._socket.connect(f"tcp://127.0.0.1:{port}")

    def run(self) -> None:
        """Listen until stopped."""
        while self._open:
            if self._socket.poll(100):
                self.bytes += sum(len(frame) for frame in self._socket.recv_multipart())
        self._socket.close()

    def take(self) -> int:
        """Return the bytes counted since the last call."""
        counted, self.bytes = self.bytes, 0
        return counted

    def stop(self) -> None:
        """Stop listening."""
        self._open = False
        self.join()


def _streaming(page: Page, lab: Lab) -> list[Figure]:
    notebook = begin(
        page,
        lab,
        "bench-stream",
        SCRIPT,
        warm_up(3_000, 1_000),
        "%%agent\nWarm up.",
        f"harness.model = Steady(tokens(text, {TOKENS}), {TOKENS / SECONDS})",
        "%%agent\nGo.",
    )
    for cell in (1, 2, 3, 4):
        notebook.run(cell, wait=False)
        notebook.ended()
    page.wait_for_timeout(2_000)
    connection = _connection(page, lab)
    tap = Tap(connection)
    tap.start()
    page.wait_for_timeout(500)
    tap.take()
    page.evaluate(OBSERVE)
    began = time.perf_counter()
    notebook.run(5, wait=False)
    notebook.ended()
    took = time.perf_counter() - began
    page.wait_for_timeout(2_000)
    load = os.getloadavg()[0]
    long = [one for one in page.evaluate("window.long") if one >= LONG_MS]
    ours = tap.take()
    _update_plainly(connection)
    plain = tap.take()
    tap.stop()
    return [
        Figure(
            f"kernel to page, {KILOBYTES} kB answer of {TOKENS:,} tokens",
            ours / 1e6,
            "MB",
            target=3,
            note=f"update_display every {UPDATE_SECONDS * 1000:.0f} ms: {plain / 1e6:.1f} MB, "
            f"{plain / ours:.0f} times as much; took {took:.0f} s",
        ),
        Figure(
            f"long tasks over {LONG_MS} ms in {SECONDS} s",
            len(long),
            "tasks",
            target=0,
            note=f"longest {max(long, default=0):.0f} ms, load {load:.1f}",
        ),
    ]


def _connection(page: Page, lab: Lab) -> Path:
    kernel = page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id")
    return lab.folder.parent / "runtime" / f"kernel-{kernel}.json"


PLAIN = f"""from IPython.display import Markdown, display, update_display
shown = display(Markdown(''), display_id='plain')
began = time.perf_counter()
while (spent := time.perf_counter() - began) < {SECONDS}:
    update_display(Markdown(text[:int(len(text) * spent / {SECONDS})]), display_id='plain')
    time.sleep({UPDATE_SECONDS})
update_display(Markdown(text), display_id='plain')"""


def _update_plainly(connection: Path) -> None:
    """Show the same answer with plain display updates; no page draws it, which would take minutes."""
    client = BlockingKernelClient(connection_file=str(connection))
    client.load_connection_file()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        reply = client.execute_interactive(PLAIN, output_hook=lambda _message: None, timeout=120)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(reply["content"]["evalue"])
    finally:
        client.stop_channels()


def _long(page: Page, lab: Lab) -> list[Figure]:
    seconds, rate = 10, 250
    notebook, panel = old_sessions(
        page,
        lab,
        "bench-long",
        SCRIPT,
        warm_up(2_000, 500),
        "use(short)",
        GO,
        "use(long)",
        f"harness.model = Steady(tokens(text[:{seconds * 1_000}], {seconds * rate}), {rate})",
        GO,
    )
    cpu = page.context.new_cdp_session(page)
    cpu.send("Performance.enable", {"timeDomain": "threadTicks"})
    for cell in (1, 2, 3, 4):
        notebook.run(cell)
        at_rest(panel)
    before = worked(cpu)
    notebook.run(5)
    page.wait_for_function(NEWEST, arg=TURNS)
    opened = worked(cpu) - before
    page.wait_for_function(f"document.querySelectorAll('.plm-Turn').length === {TURNS}")
    told = counts(page)
    notebook.run(6)
    page.evaluate(OBSERVE)
    notebook.run(7)
    at_rest(panel)
    long = [one for one in page.evaluate("window.long") if one >= LONG_MS]
    return [
        Figure(
            f"page's CPU until the newest of {15 * TURNS:,} parts is drawn",
            opened * 1000,
            "ms",
            target=500,
            note=f"{told['nodes']:,} elements in the panel, {told['whole']} turns whole",
        ),
        Figure(
            f"long tasks over {LONG_MS} ms while {seconds} s stream into it",
            len(long),
            "tasks",
            target=0,
            note=f"longest {max(long, default=0):.0f} ms, load {os.getloadavg()[0]:.1f}",
        ),
    ]


def _reload(page: Page, lab: Lab) -> list[Figure]:
    notebook = begin(
        page,
        lab,
        "bench-reload",
        "harness.script(says('First.').calls('python', code='import time; time.sleep(3)'), "
        "says('It is marigold.').calls('python', code='import time; time.sleep(60)'), says('End.'))",
        "for _ in range(1):\n    get_ipython().run_line_magic('agent', '-y Go.')",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    notebook.cell(2).get_by_text("First.").wait_for()
    notebook.save()
    notebook.cell(2).get_by_text("It is marigold.").wait_for()
    page.wait_for_timeout(1_000)
    page.add_init_script(f"({CONNECTED})()")
    page.reload()
    page.wait_for_function("window.drawn && window.connected")
    spent = page.evaluate("window.drawn - window.connected")
    _stop(notebook)
    return [
        Figure(
            "reload in mid-cell to full transcript, once the kernel answers",
            spent,
            "ms",
            target=300,
        )
    ]


def _approval(page: Page, lab: Lab) -> list[Figure]:
    notebook = begin(
        page,
        lab,
        "bench-approve",
        "harness.script(*(says(f'Step {n}.').calls('python', code=f'print({n})') for n in range(5)), says('End.'))",
        "for _ in range(1):\n    get_ipython().run_line_magic('agent', 'Go.')",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    spent = []
    for number in range(5):
        page.locator(f".jp-Notebook .plm-Tool:has-text('print({number})') .plm-Question").wait_for()
        spent.append(page.evaluate(CLICK))
    notebook.ended()
    return [
        Figure(
            "approval while a cell blocks, click to answer shown",
            sorted(spent)[2],
            "ms",
            target=100,
            note=f"median of {json.dumps([round(one) for one in spent])}",
        )
    ]


def _stop(notebook: Notebook) -> None:
    notebook.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()"
    )
