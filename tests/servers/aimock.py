"""Run aimock, a third-party mock server of model APIs, as a process on loopback.

It parses our requests and writes the providers' streams with its own code, so it agrees with our fault
server only if both are right. It is installed with the front end's packages and runs in the environment's
Node. Its answers are scripted as its fixtures, in their JSON.
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

from tests.untested import skip_without
from tests.waiting import LAST_RESORT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "labextension/node_modules/@copilotkit/aimock/dist/cli.js"
LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")

Wire = Literal["openai", "anthropic", "gemini", "ollama"]
MODELS: dict[Wire, str] = {
    "openai": "openai/gpt-5.1",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-pro",
    "ollama": "ollama/qwen3",
}
"""Real model names, by which both sides decide on thinking and signatures."""
PATHS: dict[Wire, str] = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta", "ollama": ""}

Fixture = dict[str, Any]


class Aimock:
    """A running aimock."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.key = ""
        """The API key it requires, if any."""

    def script(self, *fixtures: Fixture) -> None:
        """Answer with these fixtures from now on, and forget earlier requests."""
        self._call("POST", "/reset")
        self._call("POST", "/fixtures", {"fixtures": fixtures})

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The model requests received, in order: ``path``, ``body`` as parsed by aimock, ``response``."""
        asked = self._call("GET", "/journal")
        return [one for one in asked if one["method"] == "POST" and "/__aimock" not in one["path"]]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = Request(f"{self.url}/__aimock{path}", data=data, method=method)
        asked.add_header("authorization", f"Bearer {self.key}" if self.key else "")
        with urlopen(asked, timeout=LAST_RESORT_SECONDS) as response:
            return json.load(response)


def settings_for(url: str, wire: Wire) -> dict[str, Any]:
    """Return the settings for a session with a server in a provider's format."""
    facts = {"api_base": f"{url}{PATHS[wire]}", "window": 100_000, "output": 8_000}
    return {"model": MODELS[wire], "models": {MODELS[wire]: facts}}


@contextmanager
def aimock(*options: str, **variables: str) -> Iterator[Aimock]:
    """Start aimock, wait for its address, and end it after the block."""
    node = shutil.which(
        "node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if node is None or not PROGRAM.is_file():
        skip_without("aimock")
    # It needs a fixture at the start, which `script` removes.
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
            if match := LISTENING.search(line):
                break
        else:
            raise AssertionError(f"aimock did not start: {said}")
        yield Aimock(match[1])
    finally:
        started.terminate()
        started.wait(LAST_RESORT_SECONDS)
        started.stdout.close()
