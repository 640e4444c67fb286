"""Run ``python -m palimpsest`` as a person does, in a folder of the test, with no key and nothing of the network."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import palimpsest

PACKAGE = Path(palimpsest.__file__).parent


@dataclass(frozen=True)
class Ran:
    """What a run wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it wrote, as JSON."""
        return json.loads(self.out)


def run(*arguments: str, cwd: Path) -> Ran:
    """Run the command line."""
    kept = ("PATH", "HOME", "LANG", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PYTHONPATH": str(PACKAGE.parent), "PYTHONIOENCODING": "utf-8"}
    # A proxy that nobody listens at: whatever asked the network would fail.
    environment |= {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    made = subprocess.run(
        [sys.executable, "-m", "palimpsest", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment,
        timeout=100,
        check=False,
    )
    return Ran(made.returncode, made.stdout, made.stderr)
