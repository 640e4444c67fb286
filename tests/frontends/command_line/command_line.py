"""Run ``python -m palimpsest`` as a person does, in a folder of the test, with no key and nothing of the network."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.process_forks import forked_python
from tests.waiting import LAST_RESORT_SECONDS

import palimpsest

PACKAGE = Path(palimpsest.__file__).parent
IMPORTED = tuple(
    f"palimpsest.{name}"
    for name in (
        *("frontends.command_line.main", "frontends.command_line.terminal_context"),
        *("frontends.operations.recordings", "frontends.operation_text.session_report"),
        *("frontends.command_line.threshold", "frontends.operation_text.report_file"),
        *("recordings.formats.built_in", "review.recorded_sessions.recording_review"),
        *("review.recorded_comparison", "review.timeline_view.chosen_policies"),
    )
)
"""What a run of the command line imports before it reads a recording."""


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


def run(*arguments: str, cwd: Path, fresh: bool = False) -> Ran:
    """Run the command line in a process of its own.

    A fresh one imports everything itself, as a person's does; the others find the command line imported.
    """
    python = [sys.executable] if fresh else forked_python(*IMPORTED)
    kept = ("PATH", "HOME", "LANG", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PYTHONPATH": str(PACKAGE.parent), "PYTHONIOENCODING": "utf-8"}
    # A proxy that nobody listens at: whatever asked the network would fail.
    environment |= {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    made = subprocess.run(
        [*python, "-m", "palimpsest", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment,
        timeout=LAST_RESORT_SECONDS,
        check=False,
    )
    return Ran(made.returncode, made.stdout, made.stderr)
