"""JupyterLab, Notebook 7 and a browser, as plain values for the fixtures and the tests of this folder."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import ClassVar
from urllib.error import URLError

import nbformat
import pytest
from playwright.sync_api import ConsoleMessage, Page

ROOT = Path(__file__).resolve().parent.parent.parent
BUILT = ROOT / "labextension" / "dist"
SCREENS = ROOT / "build" / "screens"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START_SECONDS = 60

READY = """async () => {
  const { sessionContext } = window.jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  await sessionContext.session.kernel.info;
}"""
"""Resolves when the open notebook has its kernel."""

OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
}


def browser_path() -> str | None:
    """Return the browser of this machine, or None."""
    named = os.environ.get("PALIMPSEST_BROWSER")
    return named or next((found for name in BROWSERS if (found := shutil.which(name))), None)


def needed(what: str) -> None:
    """Skip with one sentence; where all must run, fail with it."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@dataclass
class Lab:
    """A running JupyterLab and the folder it shows."""

    url: str
    token: str
    folder: Path

    START: ClassVar[tuple[str, ...]] = (str(ROOT / "scripts" / "lab.py"),)

    def page_of(self, notebook: str) -> str:
        """Return the address that opens a notebook alone, without the side bars."""
        return f"{self.url}/doc/workspaces/test/tree/{notebook}?token={self.token}&reset"


@dataclass
class Classic(Lab):
    """A running Notebook 7, where every notebook is a page of its own."""

    START: ClassVar[tuple[str, ...]] = ("-m", "notebook", "--allow-root")

    def page_of(self, notebook: str) -> str:
        """Return the address that opens a notebook."""
        return f"{self.url}/notebooks/{notebook}?token={self.token}"


@dataclass
class Seen:
    """What went wrong in a page, as its console tells."""

    errors: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note every error that the page reports from now on."""
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            self.errors.append(f"{message.text} ({where})")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_until_up(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the server's first answer."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/api", timeout=2):
                return
        except (URLError, OSError, HTTPException):  # another program may have taken the port
            time.sleep(0.1)
    server.kill()
    pytest.fail(f"The server did not start:\n{log.read_text()[-4000:]}")


def copy_notebooks(folder: Path) -> None:
    """Copy the notebooks as they came, without what somebody who ran them left there."""
    left = shutil.ignore_patterns(".palimpsest", "notes.md", ".ipynb*")
    shutil.copytree(ROOT / "notebooks", folder, ignore=left)
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, path)


@contextmanager
def running(
    home: Path, front_end: Path, kind: type[Lab] = Lab, *, ours: bool = True
) -> Iterator[Lab]:
    """Run JupyterLab as ``make lab`` starts it, or Notebook 7, on a copy of the notebooks.

    Without ``ours`` our own extension is switched off, as a person does it in the manager.
    """
    folder = home / "work"
    copy_notebooks(folder / "notebooks")
    extensions = home / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "jupyter-palimpsest").symlink_to(front_end)
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(OVERRIDES))
    if not ours:
        disabled = {"disabledExtensions": {"jupyter-palimpsest": True}}
        (settings / "page_config.json").write_text(json.dumps(disabled))
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"} | {
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PATH": str(home / "share"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_TOKEN": (token := secrets.token_hex(8)),
    }
    port, log = free_port(), home / "server.log"
    command = [sys.executable, *kind.START, "--no-browser"]
    command += [f"--ServerApp.root_dir={folder}", f"--port={port}", "--ip=127.0.0.1"]
    command.append("--expose-app-in-browser")  # how the tests choose a theme
    with log.open("wb") as said:
        server = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
    with server:
        wait_until_up(url := f"http://127.0.0.1:{port}", server, log)
        try:
            yield kind(url, token, folder)
        finally:
            # A server that has no terminal asks nothing at SIGTERM; its kernels end with it.
            server.send_signal(signal.SIGTERM)


def open_notebook(page: Page, lab: Lab, notebook: str) -> None:
    """Open a notebook and wait until its cells are drawn."""
    page.goto(lab.page_of(notebook))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()


def choose_theme(page: Page, theme: str) -> None:
    """Change the theme as the menu does, and wait until its colours are there."""
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.locator(f"body[data-jp-theme-name='{theme}']").wait_for(state="attached")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def photograph(page: Page, name: str) -> Path:
    """Keep a picture of the page for a person to look at."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    path = SCREENS / f"{name}.png"
    page.screenshot(path=path)
    return path
