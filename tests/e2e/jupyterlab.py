"""Helpers for the tests of this folder: start JupyterLab or Notebook 7, and drive it with a browser."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any, ClassVar

import nbformat
import pytest
from playwright.sync_api import ConsoleMessage, Error, Page
from tests.e2e.forked_kernels import kernel_specs
from tests.harness.free_port import free_port
from tests.sample_size import SOAKING
from tests.waiting import LAST_RESORT_SECONDS, eventually

ROOT = Path(__file__).resolve().parent.parent.parent
BUILT = ROOT / "labextension" / "dist"
LEFT_OUT = ROOT / "tests" / "harness" / "left_out"
"""A folder of modules that make slow imports of a server fail."""
SCREENS = ROOT / "build" / "screens"
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
SAMPLED_THEMES = THEMES if SOAKING else THEMES[:1]
"""The themes in which most tests look at what they drew.

In each run test_contrast.py and test_saved_answer.py go through all of them, and a report of the inspector is dark.
"""
PHOTOGRAPHED = bool(os.environ.get("PALIMPSEST_SCREENS")) or SOAKING
"""Whether to take screenshots: each takes a quarter of a second, and there are more than a hundred."""
SECOND_LOOK = THEMES[1] if PHOTOGRAPHED else THEMES[0]
"""The theme of further screenshots; where none are taken, the one that the page has."""
BROWSERS = (
    "chromium-headless-shell",  # the same browser without its own windows: a tenth less to do
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-rasterization",
    "--disable-software-rasterizer",
    "--disable-gpu-compositing",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
END_SECONDS = 20
"""A server ends in two to ten seconds. Where a kernel just starts it never does: it fails on that kernel, and goes on."""

READY = """async () => {
  const { sessionContext } = window.jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  for (let answered = false; !answered; ) {
    const kernel = sessionContext.session?.kernel;
    const changed = new Promise(done => {
      for (const signal of ['kernelChanged', 'statusChanged', 'connectionStatusChanged']) {
        sessionContext[signal].connect(() => done(false));
      }
    });
    answered = await Promise.race([changed, ...(kernel ? [kernel.info.then(() => true)] : [])]);
  }
}"""
"""Resolves when the kernel of the open notebook has answered.

The promise of a connection that JupyterLab replaced meanwhile is never kept, so the next one is asked.
"""

DRAWN = """async () => {
  const loads = [...document.images].filter(one => !one.complete && one.loading !== 'lazy');
  await Promise.all(loads.map(one => new Promise(done => {
    one.addEventListener('load', done);
    one.addEventListener('error', done);
  })));
  await document.fonts.ready;
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const ends = ({ effect, playState }) =>
    playState === 'running' && Number.isFinite(effect.getComputedTiming().endTime) &&
    effect.target?.checkVisibility({ contentVisibilityAuto: true }) !== false;
  while (document.getAnimations().some(ends)) await frame();
  await frame();
  await frame();
  await scheduler.postTask(() => undefined, { priority: 'background' });
}"""
"""Resolves when images, fonts and animations are complete, two frames were painted, and no task waits.

Asked anew in each frame: an animation in a cell that JupyterLab leaves undrawn (``content-visibility``), such as a
cursor's, never settles its promise.

A task in the background runs after all others. An idle callback does, too, but only between frames, when there is
time left until the next one: on a machine under load there was none within a minute, on a page that did nothing.
"""

RECORD = """where => {
  const told = window.told = new Set();
  const note = () => document.querySelectorAll(where).forEach(one => told.add(one.textContent));
  note();
  new MutationObserver(note).observe(document.body, {
    subtree: true, childList: true, characterData: true
  });
}"""

# The transcript may draw a question before the notebook notices it, which begins its time.
QUESTION_NOTICED = """() =>
  'plm-question' in window.jupyterapp.shell.currentWidget.title.dataset
"""

LATER = """() => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + 600;
}"""

OPEN = """async path => {
  const widget = await window.jupyterapp.commands.execute('docmanager:open', { path });
  await widget.context.ready;
  await widget.revealed;
}"""

OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
}


UNUSED = (
    "audio",
    "celltags",
    "console",
    "csvviewer",
    "debugger",
    "extensionmanager",
    "help",
    "hub",
    "imageviewer",
    "inspector",
    "logconsole",
    "lsp",
    "pdf",
    "pluginmanager",
    "running",
    "settingeditor",
    "terminal",
    "toc",
    "tooltip",
    "vega5",
    "video",
)
"""Extensions of JupyterLab that no notebook of ours meets: without them a page loads a quarter faster.

The debugger asks each kernel that starts for its state, and logs an error where the kernel is restarted
meanwhile, which a test would take for one of ours. ``make soak`` has all of them but the debugger.
"""
NEED_UNUSED = (
    "@jupyter-notebook/console-extension",
    "@jupyter-notebook/terminal-extension",
    "@jupyterlab/fileeditor-extension:language-server",
    "@jupyterlab/notebook-extension:language-server",
    "@jupyterlab/notebook-extension:toc",
    "@jupyterlab/workspaces-extension:sidebar",
)
"""Plugins that would log an error, since they cannot do without one of ``UNUSED``."""


def browser_path() -> str | None:
    """Return the path of a browser on this machine, or None."""
    named = os.environ.get("PALIMPSEST_BROWSER")
    return named or next((path for name in BROWSERS if (path := shutil.which(name))), None)


CONNECTS_TO_ALL = tuple(map(int, version("jupyterlab").split(".")[:2])) < (4, 6)
"""Whether pages also connect to kernels that just end, and log errors about it: in older JupyterLabs."""


@dataclass
class Lab:
    """A running JupyterLab and the folder it shows."""

    url: str
    token: str
    folder: Path
    waiting: Page | None = None
    """The page that shows it with nothing open, for the next test."""
    kind: str = "lab"
    """The name of its fixture."""

    START: ClassVar[tuple[str, ...]] = (str(ROOT / "scripts" / "lab.py"),)
    RUNNING: ClassVar[list["Lab"]] = []
    """The servers of this process."""

    def page_of(self, notebook: str) -> str:
        """Return the URL that opens a notebook alone, without the side bars."""
        return f"{self.url}/doc/workspaces/test/tree/{notebook}?token={self.token}&reset"

    def forget(self, ends: ThreadPoolExecutor) -> None:
        """End the kernels in the background, and delete the settings that a test chose."""
        asked = [
            ends.submit(self._ask, f"sessions/{one['id']}", "DELETE")
            for one in self._ask("sessions")
        ]
        shutil.rmtree(self.folder.parent / "config" / "lab" / "user-settings", ignore_errors=True)
        if CONNECTS_TO_ALL:
            wait(asked)

    def _ask(self, what: str, method: str = "GET") -> Any:
        """Send a request to the server's REST API."""
        request = urllib.request.Request(
            f"{self.url}/api/{what}",
            method=method,
            headers={"Authorization": f"token {self.token}"},
        )
        with (
            suppress(OSError),
            urllib.request.urlopen(request, timeout=LAST_RESORT_SECONDS) as answer,
        ):
            return json.loads(answer.read() or "[]")
        return []


@dataclass
class Notebook7(Lab):
    """A running Notebook 7, where every notebook opens in a page of its own."""

    START: ClassVar[tuple[str, ...]] = ("-m", "notebook", "--allow-root")

    def page_of(self, notebook: str) -> str:
        """Return the URL that opens a notebook."""
        return f"{self.url}/notebooks/{notebook}?token={self.token}"


@dataclass
class PageErrors:
    """Collects the errors of a page from its console."""

    errors: list[str] = field(default_factory=list)

    @contextmanager
    def watching(self, page: Page) -> Iterator[None]:
        """Record every error that the page reports inside the block."""
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)
        yield
        page.remove_listener("console", self._on_console)
        page.remove_listener("pageerror", self._on_error)

    def _on_error(self, error: Error) -> None:
        self.errors.append(str(error))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            if "/api/kernels" in where and "500" in message.text:
                return  # Jupyter's server cannot list its kernels while one of them ends
            if "Kernel message validation error" in message.text and '"stream.' in message.text:
                return  # an ending ipykernel drops the large last frame of an output: pyzmq refuses it at exit
            self.errors.append(f"{message.text} ({where})")


def accepts(port: int) -> bool:
    """Return whether a port accepts connections."""
    with socket.socket() as asks:
        return asks.connect_ex(("127.0.0.1", port)) == 0


def follow(said: IO[bytes], log: Path, up: Event) -> None:
    """Write a server's output to its log, and set ``up`` once the server says that it runs."""
    with log.open("wb", buffering=0) as kept:
        for line in said:
            kept.write(line)
            if b" is running at:" in line:
                up.set()
    up.set()  # it has ended: nothing to wait for


def copy_notebooks(folder: Path) -> None:
    """Copy the notebooks as they are committed, without the outputs and files of earlier runs."""
    left = shutil.ignore_patterns(".palimpsest", "notes.md", ".ipynb*")
    shutil.copytree(ROOT / "notebooks", folder, ignore=left)
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, path)


def unused_plugins() -> list[str]:
    """Return what a lean server leaves out of its pages; the soak has all that a person has but the debugger."""
    if SOAKING:
        return ["@jupyterlab/debugger-extension"]
    return [*(f"@jupyterlab/{name}-extension" for name in UNUSED), *NEED_UNUSED]


@contextmanager
def running(
    home: Path,
    front_end: Path,
    kind: type[Lab] = Lab,
    *,
    ours: bool = True,
    lean: bool = False,
    forks: str | None = None,
    python: str = sys.executable,
) -> Iterator[Lab]:
    """Run JupyterLab as ``make lab`` starts it, or Notebook 7, on a copy of the notebooks.

    Without ``ours`` our own extension is disabled, as in the extension manager. A ``lean`` server does
    without what takes time and plays no part in a test: ``LEFT_OUT`` and ``UNUSED``. With ``forks``, the
    socket of ``forked_kernels.py``, its kernels are forked. ``python`` is that of the server; kernels have the tests' own.
    """
    folder = home / "work"
    copy_notebooks(folder / "notebooks")
    extensions = home / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "jupyter-palimpsest").symlink_to(front_end)
    kernel_specs(home / "share", forks)
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(OVERRIDES))
    page_config: dict[str, Any] = {"disabledExtensions": {}}
    if lean:
        # Each page would start Node to ask whether JupyterLab's own assets are to be built anew.
        page_config |= {"buildAvailable": False, "buildCheck": False}
        page_config["disabledExtensions"] |= dict.fromkeys(unused_plugins(), True)
    if not ours:
        page_config["disabledExtensions"]["jupyter-palimpsest"] = True
    (settings / "page_config.json").write_text(json.dumps(page_config))
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"} | {
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PATH": str(home / "share"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": (runtime := tempfile.mkdtemp(prefix="lab-")),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_TOKEN": (token := secrets.token_hex(8)),
    }
    if lean:
        paths = [str(LEFT_OUT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    port, log = free_port(), home / "server.log"
    command = [python, *kind.START, "--no-browser"]
    command += [f"--ServerApp.root_dir={folder}", f"--port={port}", "--ip=127.0.0.1"]
    command.append("--expose-app-in-browser")  # lets the tests choose a theme
    command.append("--KernelRestarter.time_to_dead=0.5")  # seconds, instead of three
    # A port that is chosen for a kernel may be taken by another process before the kernel listens. Sockets in the file
    # system have paths of their own, in a folder with a short name: a path is at most 107 bytes.
    command.append("--KernelManager.transport=ipc")
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )
    assert server.stdout is not None
    thread = Thread(target=follow, args=(server.stdout, log, up := Event()), daemon=True)
    thread.start()
    lab = kind(f"http://127.0.0.1:{port}", token, folder)
    try:
        if not up.wait(LAST_RESORT_SECONDS) or server.poll() is not None:
            pytest.fail(f"The server did not start:\n{log.read_text()[-4000:]}")
        eventually(lambda: accepts(port))  # the message comes a moment before it listens
        Lab.RUNNING.append(lab)
        yield lab
        Lab.RUNNING.remove(lab)
    finally:
        # Without a terminal the server ends at SIGTERM without a question; its kernels end with it.
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        thread.join()
        server.stdout.close()
        shutil.rmtree(runtime, ignore_errors=True)


def open_notebook(page: Page, lab: Lab, notebook: str) -> None:
    """Open a notebook and wait until its cells are drawn."""
    waits = lab.waiting is page
    for one in Lab.RUNNING:
        if one.waiting is page:
            one.waiting = None
    if waits:
        page.evaluate(OPEN, notebook)
    else:
        page.goto(lab.page_of(notebook))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()


def open_instead(page: Page, lab: Lab, notebook: str) -> None:
    """Close the page's notebook without saving it, and open one in its place from the disk, where loading costs nothing.

    In the soak the page is loaded anew.
    """
    if SOAKING:
        page.goto("about:blank")
        open_notebook(page, lab, notebook)
        return
    page.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    page.evaluate(OPEN, notebook)
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()


def wait_until_drawn(page: Page) -> None:
    """Wait until the page has drawn its state, and its images were loaded or failed."""
    page.evaluate(DRAWN)


def record(page: Page, where: str) -> None:
    """Record every text in the elements of a selector from now on, also what appears only for a moment."""
    page.evaluate(RECORD, where)


def recorded(page: Page) -> list[str]:
    """Return every text that was recorded."""
    told: list[str] = page.evaluate("[...window.told]")
    return told


def seen_for_a_while(page: Page) -> None:
    """Make the page treat a question as visible for long enough to be answered by a key."""
    page.wait_for_function(QUESTION_NOTICED, polling=50)
    page.evaluate(LATER)


COMMAND_MODE = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const focus = document.activeElement;
  if (focus?.closest('.jp-Notebook') && !focus.closest('.cm-editor')) {
    return true;
  }
  content.mode = 'command';
  content.activate();
  return false;
}"""


def into_command_mode(page: Page) -> None:
    """Focus the notebook, as after running a cell, and leave the editor."""
    # Asked in intervals: a page that draws nothing has no frames, between which it would be asked otherwise.
    page.wait_for_function(COMMAND_MODE, polling=50)


def choose_theme(page: Page, theme: str) -> None:
    """Change the theme as the menu does, and wait until it is applied."""
    if page.evaluate("document.body.dataset.jpThemeName") == theme:
        return
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def photograph(page: Page, name: str) -> None:
    """Save a screenshot in build/screens when ``PALIMPSEST_SCREENS`` is set, for a person to look at."""
    if PHOTOGRAPHED:
        SCREENS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENS / f"{name}.png")
