"""A session of 10,000 messages, as pi records it and as it is here after its import, and what opening it costs.

Its newest compaction stands 200 messages before its end, so both agents send the same window of it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TURNS = 2_500
MESSAGES = 4 * TURNS
KEPT_TURNS = 50
"""Turns that follow the newest compaction; before it there is one every so many turns, too."""
WINDOW_MESSAGES = 4 * KEPT_TURNS - 10
"""So many at least are sent of it."""
OUTPUT = "the mean bill depth of all gentoo penguins on this island, by species\n" * 12
BEGUN_MS = 1_790_000_000_000
USAGE = {
    "input": 900,
    "output": 30,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 930,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}
IMPORT = """import palimpsest, sys
app = palimpsest.App()
(found,) = palimpsest.import_session(sys.argv[1]).sessions
print(found.id, palimpsest.open_session(app, found.id).fork().id)
app.close()
"""
MEASURE = """import json, sys, time
from palimpsest import App, open_session
app = App()
assert open_session(app).prompt("Hello").error is None
taken = {}
def timed(name, work):
    begun = time.process_time()
    made = work()
    taken[name] = (time.process_time() - begun) * 1000
    return made
session = timed("open", lambda: open_session(app, sys.argv[1]))
page = timed("page", lambda: session.message_page(100, before=session.message_page(1)[0].id))
assert len(page) == 100
timed("older", lambda: session.message_page(100, before=page[0].id))
timed("fork", session.fork)
app.close()
print(json.dumps(taken))
"""


@dataclass(frozen=True, slots=True)
class LongSession:
    """A project in which the session was imported, and the lines of pi's file without the first."""

    project: Path
    imported_id: str
    session_id: str
    """Of a fork that goes on with it: a recording of another agent is only read."""
    lines: str

    def of_pi(self, folder: Path) -> str:
        """Return the session as pi recorded it in a folder."""
        return _head(folder) + self.lines


def made_in(project: Path) -> LongSession:
    """Make the session, and import it into a project's folder."""
    lines = "".join(f"{json.dumps(entry)}\n" for entry in _entries())
    recording = project.with_name("recording.jsonl")
    recording.write_text(_head(project) + lines)
    project.mkdir()
    imported, fork = _printed(IMPORT, str(recording), project, "openai/scripted").split()
    return LongSession(project, imported, fork, lines)


def opening_ms(long: LongSession) -> dict[str, float]:
    """Return the CPU milliseconds of ``open``, a ``page`` of 100 messages, the ``older`` one before it, and ``fork``."""
    with TemporaryDirectory() as folder:
        shutil.copytree(long.project, folder, dirs_exist_ok=True)
        told = _printed(MEASURE, long.imported_id, Path(folder), "rehearsal/rules")
    found: dict[str, float] = json.loads(told)
    return found


def _printed(script: str, argument: str, folder: Path, model: str) -> str:
    settings = {"titles": False, "model": model}
    environment = {
        "PYTHONPATH": str(ROOT / "kernel_ext"),
        "PALIMPSEST_CONFIG_CONTENT": json.dumps(settings),
        "PALIMPSEST_REHEARSAL_DELAY": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, argument],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2_000:])
    return done.stdout


def _head(folder: Path) -> str:
    head = {"type": "session", "version": 3, "id": "bench-long", "cwd": str(folder)}
    return f"{json.dumps({**head, 'timestamp': '2026-09-21T14:00:00.000Z'})}\n"


def _entries() -> Iterator[dict[str, Any]]:
    """Yield the entries: turns of a prompt, a read, its output and an answer, and a compaction between some."""
    parent: str | None = None
    number = 0

    def entry(**fields: Any) -> dict[str, Any]:
        nonlocal parent, number
        number += 1
        before, parent = parent, f"{number:08x}"
        stamp = "2026-09-21T14:00:00.000Z"
        return {"id": parent, "parentId": before, "timestamp": stamp, **fields}

    def message(role: str, content: Any, **fields: Any) -> dict[str, Any]:
        said = {"role": role, "content": content, "timestamp": BEGUN_MS + number, **fields}
        return entry(type="message", message=said)

    asked = {
        "api": "openai-completions",
        "provider": "bench",
        "model": "scripted",
        "usage": USAGE,
    }
    for turn in range(TURNS):
        if turn and (TURNS - turn) % KEPT_TURNS == 0:
            yield entry(
                type="compaction",
                summary="Penguins were counted.",
                firstKeptEntryId=f"{number + 1:08x}",
                tokensBefore=50_000,
            )
        yield message("user", [{"type": "text", "text": f"How deep is bill {turn}?"}])
        call = {
            "type": "toolCall",
            "id": f"call_{turn}",
            "name": "read",
            "arguments": {"path": "0.txt"},
        }
        yield message("assistant", [call], stopReason="toolUse", **asked)
        result = {"toolCallId": f"call_{turn}", "toolName": "read", "isError": False}
        yield message("toolResult", [{"type": "text", "text": f"{turn} {OUTPUT}"}], **result)
        text = {"type": "text", "text": f"Bill {turn} is as deep as the mean."}
        yield message("assistant", [text], stopReason="stop", **asked)
