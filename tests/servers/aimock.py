"""Run aimock, a mock server of other people, in a process of its own on loopback.

It reads our requests with its own code and writes the providers' streams with its own code, so it agrees
with our fault server only where both are right. It comes with the front end's packages and
runs in the Node of the environment. What it answers is said as its fixtures, in their JSON.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.request import Request, urlopen

from tests.e2e.jupyterlab import needed

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "labextension/node_modules/@copilotkit/aimock/dist/cli.js"
MISSING = "aimock is not installed: run `make front` first."
LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")

Wire = Literal["openai", "anthropic", "gemini", "ollama"]
MODELS: dict[Wire, str] = {
    "openai": "openai/gpt-5.1",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-pro",
    "ollama": "ollama/qwen3",
}
"""Real names, since both sides go by them: who may think, and whose signatures travel back."""
PATHS: dict[Wire, str] = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta", "ollama": ""}

Fixture = dict[str, Any]


class Aimock:
    """A running aimock."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.key = ""
        """What it wants to be asked with, where it wants a key."""

    def script(self, *fixtures: Fixture) -> None:
        """Answer by these fixtures from now on, and forget what was before."""
        self._call("POST", "/reset")
        self._call("POST", "/fixtures", {"fixtures": fixtures})

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What arrived for models, in order: ``path``, ``body`` as aimock understood it, ``response``."""
        asked = self._call("GET", "/journal")
        return [one for one in asked if one["method"] == "POST" and "/__aimock" not in one["path"]]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = Request(f"{self.url}/__aimock{path}", data=data, method=method)
        asked.add_header("authorization", f"Bearer {self.key}" if self.key else "")
        with urlopen(asked, timeout=30) as response:
            return json.load(response)


def settings_for(url: str, wire: Wire) -> dict[str, Any]:
    """Return the settings with which a session asks a server in a provider's format."""
    facts = {"api_base": f"{url}{PATHS[wire]}", "window": 100_000, "output": 8_000}
    return {"model": MODELS[wire], "models": {MODELS[wire]: facts}}


@contextmanager
def aimock(*options: str, **variables: str) -> Iterator[Aimock]:
    """Start it, wait until it says its address, and end it with the block."""
    node = shutil.which(
        "node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if node is None or not PROGRAM.is_file():
        needed(MISSING)
    # It wants some fixture to begin with; `script` takes it away.
    first = PROGRAM.parents[1] / "fixtures/example-greeting.json"
    command = [
        node or "node",
        PROGRAM,
        "--port",
        "0",
        "--log-level",
        "info",
        "--fixtures",
        first,
        *options,
    ]
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **variables},
    )
    assert started.stdout is not None
    try:
        said = ""
        for line in started.stdout:
            said += line
            if found := LISTENING.search(line):
                break
        else:
            raise AssertionError(f"aimock did not start: {said}")
        yield Aimock(found[1])
    finally:
        started.terminate()
        started.wait(10)
        started.stdout.close()
