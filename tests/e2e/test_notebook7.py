"""The panel in Notebook 7, which has neither JupyterLab's shell nor its side bars."""

import importlib.util
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.lab import Lab, free_port, needed, photograph, wait_until_up
from tests.e2e.test_panel import at_rest, book, composer, send, story

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def classic(program: str, tmp_path: Path, front_end: Path) -> Iterator[Lab]:  # noqa: ARG001
    """A running Notebook 7 with a folder, settings and kernels of its own."""
    if importlib.util.find_spec("notebook") is None:
        needed("Notebook 7 is not installed: pip install notebook.")
    extensions = tmp_path / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "jupyter-palimpsest").symlink_to(front_end)
    (folder := tmp_path / "work").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"} | {
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PATH": str(tmp_path / "share"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_TOKEN": (token := secrets.token_hex(8)),
    }
    port, log = free_port(), tmp_path / "server.log"
    command = [sys.executable, "-m", "notebook", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.root_dir={folder}", f"--port={port}", "--ip=127.0.0.1"]
    with log.open("wb") as said:
        server = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
    with server:
        wait_until_up(url := f"http://127.0.0.1:{port}", server, log)
        yield Lab(url, token, folder)
        server.send_signal(signal.SIGTERM)


def test_the_panel_loads_asks_and_answers(page: Page, classic: Lab) -> None:
    expect.set_options(timeout=20_000)
    name = book(classic, "classic.ipynb", "1")
    page.goto(f"{classic.url}/notebooks/{name}?token={classic.token}")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    search = page.locator(".lm-CommandPalette-input")
    # By the menu, since the shortcut is another one from release to release.
    page.get_by_role("menuitem", name="View").click()
    page.get_by_role("menuitem", name="Activate Command Palette").click()
    search.fill("Open the Agent Panel")
    page.locator(".lm-CommandPalette-item", has_text="Open the Agent Panel").first.click()
    panel = page.locator("#jupyter-palimpsest-panel")
    panel.get_by_role("button", name="Load it").click()
    expect(composer(panel)).to_be_focused()
    send(panel, "calculate 17*23")
    panel.get_by_role("button", name="Allow once").click()

    expect(story(panel).get_by_text("391").first).to_be_visible()
    at_rest(panel)
    photograph(page, "panel-notebook7")
    right = panel.evaluate("node => node.getBoundingClientRect().right")
    assert right <= page.evaluate("window.innerWidth") + 1
