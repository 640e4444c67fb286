"""Jupyter's server ends the kernels of recorded files that no page has any more, and no other."""

import json
import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.e2e.forked_kernels import STARTED, kernel_specs
from tests.harness.free_port import free_port
from tests.waiting import eventually, until
from tornado.websocket import websocket_connect

from palimpsest.server_extension import InspectorKernels, is_left

ROOT = Path(__file__).resolve().parent.parent.parent
SETTING = ROOT / "kernel_ext" / "jupyter_server_config.d"
FILE = "recordings/pi.jsonl"
FRONT_ENDS = ("jupyterlab", "jupyter_lsp", "jupyter_server_terminals", "notebook", "notebook_shim")
"""What an environment for tests has a server load besides, in twice the time."""
OPENED = {"path": f"{FILE}-inspector-1", "name": "pi.jsonl", "type": "file"}


@dataclass
class Server:
    """A running server of Jupyter without a front end."""

    url: str
    token: str

    def ask(self, what: str, method: str = "GET", /, **body: Any) -> Any:
        """Send a request to its REST API; return the answer."""
        request = urllib.request.Request(
            f"{self.url}/api/{what}",
            data=json.dumps(body).encode() if body else None,
            method=method,
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def started(self, **session: str) -> dict[str, Any]:
        """Start a session with a kernel; return it."""
        answer: dict[str, Any] = self.ask("sessions", "POST", kernel={"name": STARTED}, **session)
        return answer

    @property
    def is_up(self) -> bool:
        """Whether it answers."""
        with suppress(OSError):
            return bool(self.ask("status"))
        return False

    @property
    def sessions(self) -> set[str]:
        """The ids of its sessions; none where it cannot list them for a moment."""
        with suppress(urllib.error.HTTPError):
            return {session["id"] for session in self.ask("sessions")}
        return set()


@pytest.fixture
def runtime() -> Iterator[str]:
    """A folder with a name so short that sockets of kernels lie in it."""
    with TemporaryDirectory(prefix="server-") as folder:
        yield folder


@pytest.fixture
def server(tmp_path: Path, runtime: str) -> Iterator[Server]:
    """A server that loads the extension as an installation has it load."""
    folder = tmp_path / "work"
    (folder / "recordings").mkdir(parents=True)
    kernel_specs(tmp_path / "share", None)
    enabled = tmp_path / "config" / SETTING.name
    enabled.parent.mkdir()
    enabled.symlink_to(SETTING)
    server = Server(f"http://127.0.0.1:{(port := free_port())}", secrets.token_hex(8))
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser"]
        + [f"--ServerApp.root_dir={folder}", f"--port={port}", "--ip=127.0.0.1"]
        + [f"--ServerApp.jpserver_extensions={name}=False" for name in FRONT_ENDS]
        + ["--KernelManager.transport=ipc"]
        + ["--InspectorKernels.look_seconds=0.05", "--InspectorKernels.kept_seconds=0.2"],
        env=os.environ
        | {
            "JUPYTER_PATH": str(tmp_path / "share"),
            "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
            "JUPYTER_DATA_DIR": str(tmp_path / "data"),
            "JUPYTER_RUNTIME_DIR": runtime,
            "JUPYTER_TOKEN": server.token,
            "IPYTHONDIR": str(tmp_path / "ipython"),
            "PYTHONPATH": f"{ROOT / 'kernel_ext'}:{ROOT}",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: server.is_up or process.poll() is not None)
        yield server
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
async def test_the_kernel_of_a_recorded_file_ends_after_its_last_page(server: Server) -> None:
    others = [
        server.started(**OPENED | {"type": "console"}),
        server.started(path="pi.ipynb", name="pi.ipynb", type="notebook"),
    ]
    # Connected before it is one of a recorded file, so that no look finds it without a page.
    held = server.started(path="later", name="later", type="file")
    channels = f"{server.url}/api/kernels/{held['kernel']['id']}/channels?token={server.token}"
    page = await websocket_connect(channels.replace("http", "ws", 1))
    server.ask(f"sessions/{held['id']}", "PATCH", **OPENED)
    left = server.started(**OPENED | {"path": f"{FILE}-inspector-2"})

    await until(lambda: server.sessions and left["id"] not in server.sessions)
    assert server.sessions == {held["id"], *(other["id"] for other in others)}

    page.close()

    await until(lambda: server.sessions == {other["id"] for other in others})
    kernels = {kernel["id"] for kernel in server.ask("kernels")}
    assert kernels == {other["kernel"]["id"] for other in others}


def session(connections: int | None = 0, **change: str) -> dict[str, Any]:
    return {"id": "a", **OPENED, "kernel": {"id": "of a", "connections": connections}} | change


@pytest.mark.parametrize(
    "other",
    [
        session(1),
        session(None),
        session(type="notebook"),
        session(name="other.jsonl"),
        session(path=FILE),
    ],
)
def test_a_session_that_a_page_has_or_that_is_no_recorded_files_is_not_left(
    other: dict[str, Any],
) -> None:
    assert is_left(session())
    assert not is_left(other)


def test_a_kernel_is_kept_for_five_minutes_after_each_page_that_had_it() -> None:
    kernels = InspectorKernels(None)

    assert kernels.sessions_to_end([session()], 0) == []
    assert kernels.sessions_to_end([session()], 299) == []
    assert kernels.sessions_to_end([session(1)], 300) == []
    assert kernels.sessions_to_end([session()], 360) == []
    assert kernels.sessions_to_end([session()], 659) == []
    assert kernels.sessions_to_end([session()], 660) == ["a"]
