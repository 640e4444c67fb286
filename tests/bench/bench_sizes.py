"""Measure unusually large cases: many sessions, a long log, a thousand turns; each in a new process.

Times are CPU time of the process, since other work on the machine only adds to wall-clock time; memory is
the growth of the process up to its peak.
"""

import asyncio
import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import bench_store
from tests.bench.figure import Figure
from tests.bench.generate_session import TURNS, WORDS, LogAuthor, generate
from tests.harness.session import SessionHarness

from palimpsest.model.script import says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import ModelInfo, ModelRef

SESSIONS = 10_000
FIRST_PAGE_SECONDS = 1.0
LIST_SECONDS = 20.0

TURN_BYTES = 92_000
"""With it, 2,000 turns of five messages make a log of 200 MB, in records of 20 kB."""
OPEN_SECONDS = 2.0
OPEN_MB = 150.0

PROMPTS = 1_000
SETTLED = 100
TURN_KB = 4.0
TURN_GROWTH = 1.3
SMALL = ModelInfo(
    ref=ModelRef(provider="scripted", name="model"), window=20_000, output_limit=2_000
)


def measure() -> list[Figure]:
    """Return the figures of the large cases."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_many(Path(folder) / "many"), *_long(Path(folder)), *_turns()]


def _many(project: Path) -> list[Figure]:
    project.mkdir()
    bench_store.SESSIONS, before = SESSIONS, bench_store.SESSIONS
    try:
        bench_store._fill(JsonlStore(open_project_folder(project)))
    finally:
        bench_store.SESSIONS = before
    run = _apart("listed", str(project))
    note = f"{SESSIONS:,} sessions without an index; {run['wall']:.1f} s in all"
    return [
        Figure("sizes: first page of many sessions", run["first"], "s", FIRST_PAGE_SECONDS, note),
        Figure("sizes: all of them", run["all"], "s", LIST_SECONDS, note),
    ]


def _long(folder: Path) -> list[Figure]:
    figures = []
    for name, every, targets in (
        ("with a checkpoint", 40, (OPEN_SECONDS, OPEN_MB)),
        ("never compacted", TURNS + 1, (None, None)),
    ):
        project = folder / name.replace(" ", "-")
        project.mkdir()
        store = JsonlStore(open_project_folder(project))
        author = LogAuthor("ses_long", random.Random(7), TURNS, TURN_BYTES, compact_every=every)
        generate(store, "ses_long", author=author)
        run = _apart("opened", str(project))
        note = f"{run['size']:.0f} MB, {run['messages']:,.0f} messages of {5 * TURNS:,}"
        figures += [
            Figure(f"sizes: open a log {name}", run["cpu"], "s", targets[0], note),
            Figure(f"sizes: memory for it, {name}", run["memory"], "MB", targets[1], note),
        ]
    return figures


def _turns() -> list[Figure]:
    run = _apart("talked")
    note = f"{PROMPTS:,} turns under a window of {SMALL.window:,}; {run['held']:.0f} messages held"
    return [
        Figure(f"sizes: memory a turn after the first {SETTLED}", run["kb"], "kB", TURN_KB, note),
        Figure("sizes: time of the last turns over the first", run["growth"], "x", TURN_GROWTH),
    ]


def _apart(what: str, *arguments: str) -> dict[str, float]:
    """Run one measurement in a new process."""
    said = subprocess.run(
        [sys.executable, "-m", "tests.bench.bench_sizes", what, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    told: dict[str, float] = json.loads(said.stdout)
    return told


def listed(project: str) -> dict[str, float]:
    """Measure listing the sessions of a project that has no index: the first page, then all."""
    store = JsonlStore(open_project_folder(Path(project)))
    begun, wall = time.process_time(), time.perf_counter()
    sessions, _ = store.recent_sessions(200)
    first = time.process_time() - begun
    assert len(sessions) >= 200
    assert len(store.list()) == SESSIONS
    return {
        "first": first,
        "all": time.process_time() - begun,
        "wall": time.perf_counter() - wall,
    }


def opened(project: str) -> dict[str, float]:
    """Measure opening the live window of a long log and building its messages."""
    store = JsonlStore(open_project_folder(Path(project)))
    size = sum(path.stat().st_size for path in store.layout.sessions.glob("*/log-*.jsonl"))
    before, begun = _peak_mb(), time.process_time()
    messages = store.open_live("ses_long").messages()
    return {
        "cpu": time.process_time() - begun,
        "memory": _peak_mb() - before,
        "size": size / 1e6,
        "messages": len(messages),
    }


def talked() -> dict[str, float]:
    """Measure many turns in a small window."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_talk(Path(folder)))


async def _talk(folder: Path) -> dict[str, float]:
    rng = random.Random(4)

    def words(count: int) -> str:
        return " ".join(rng.choices(WORDS, k=count))

    def summary(count: int) -> str:
        """Return an answer that is also good as a summary, which needs headings or a list to be used."""
        return f"## Goal\n\n{words(count // 2)}\n\n## Done\n\n- {words(count // 4)}\n- {words(count // 4)}"

    (folder / "penguins.csv").write_text("species,mass\n" + "Adelie,3750\n" * 30)
    model = ScriptedModel()
    harness = SessionHarness(
        folder, model, info=SMALL, store=JsonlStore(open_project_folder(folder))
    )
    session = await harness.session()
    memory: list[float] = []
    took: list[float] = []
    for number in range(PROMPTS):
        harness.clock.now += 61_000
        # A turn sends two requests, or three with a summary, which may come first and needs its length.
        model._answers = [says(summary(60)).calls("read", path="penguins.csv")]
        model.script(*[says(summary(150)) for _ in range(4)])
        begun = time.process_time()
        await session.prompt(f"Question {number}: {words(30)}", PromptOptions())
        took.append(time.process_time() - begun)
        model.requests.clear()
        if number % SETTLED == SETTLED - 1:
            gc.collect()
            memory.append(_now_kb())
    held = len(session.journal.state.messages())
    await session.close()
    return {
        "kb": (memory[-1] - memory[0]) / (PROMPTS - SETTLED),
        "growth": sum(took[-SETTLED:]) / sum(took[SETTLED : 2 * SETTLED]),
        "held": held,
    }


def _peak_mb() -> float:
    """Return this process's own peak; the value of ``getrusage`` includes that of the parent process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _now_kb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


if __name__ == "__main__":
    work: dict[str, Callable[..., dict[str, Any]]] = {
        "listed": listed,
        "opened": opened,
        "talked": talked,
    }
    print(json.dumps(work[sys.argv[1]](*sys.argv[2:])))
