"""Measure the command line and the inspector's first picture over recordings, each in a process of its own.

The recordings repeat pi's sample. CPU time is that of the whole process, its start and imports included; a figure's
note says what a fixed loop took beside it, since a shared machine varies.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bench_review import repeat_recording
from tests.bench.figure import Figure
from tests.recordings.formats.sample_files import sample

PALIMPSEST = ("-m", "palimpsest")
SMALL_BYTES = 3_000_000
REQUESTS, MANY, MOST = 2_000, 5_000, 20_000
LINEAR = 1.15
"""How much more than four times as much the fourfold session may take."""
TEN = (
    *("raw", "opencode.prune", "gemini.mask", "sweagent.last_n n=10", "pi.compact"),
    *("openhands.observation_masking", "anthropic.clear_tool_uses", "openhands.recent"),
    *("langchain.clear_tool_uses", "strands.sliding_window"),
)
FACTS = """
import sys
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_figures import session_figures
with open_recording(sys.argv[1]) as recording:
    print(session_figures(recording[0]))
"""
INSPECTED = """
import asyncio, sys, time
from pathlib import Path
from palimpsest.frontends.inspector.inspections import Inspections
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.timeline_view.view_queries import AskTrack, AskView
from palimpsest.store.log.memory_store import MemoryStore

async def answered(inspections, query):
    began = time.process_time()
    answer = await inspections.answer_recording(sys.argv[1], "", query)
    assert not answer.error, answer.error
    answer.model_dump_json(exclude_none=True)
    return answer, time.process_time() - began

async def main():
    inspections = Inspections(MemoryStore(), lambda _: None, offline_price, Path.cwd())
    picture, _ = await answered(inspections, AskView(part="picture"))
    first = time.process_time()
    after = dict(after=picture.view.seq, epoch=picture.view.epoch)
    rest, of_rest = await answered(inspections, AskView(part="rest", **after))
    assert rest.patch is not None
    _, of_track = await answered(inspections, AskTrack(policy="sweagent.last_n"))
    print(first, of_rest, of_track)

asyncio.run(main())
"""
"""What a page asks of the kernel after a double click, in its order."""
LOOP_ROUNDS = 3_000_000
COMPILED = Path(tempfile.gettempdir(), "palimpsest-bench-compiled")
"""Where the compiled modules lie: an environment that writes none would compile all in each process."""


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    """Of a processor."""
    megabytes: float
    """Of memory, at most."""


def measure() -> list[Figure]:
    """Return the figures of opened recordings."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_figures(Path(folder))]


def _figures(root: Path) -> Iterator[Figure]:
    source = sample("pi_large_session.jsonl", root)
    for warm_up in ((*PALIMPSEST, "inspect", str(source)), ("-c", INSPECTED, str(source))):
        cost_of(*warm_up)
    small = root / "small.jsonl"
    repeat_recording(source, small, lambda size, _requests: size >= SMALL_BYTES)
    yield _cpu("inspect of 3 MB", cost_of(*PALIMPSEST, "inspect", str(small)).seconds, 1.0)
    yield _cpu("line of facts of 3 MB", cost_of("-c", FACTS, str(small)).seconds, 0.5)

    yield from _inspected(_repeated(source, root, REQUESTS))

    many = str(_repeated(source, root, MANY))
    inspected = cost_of(*PALIMPSEST, "inspect", many)
    yield _cpu(f"inspect of {MANY:,} requests", inspected.seconds, 3.0)
    yield _memory(f"inspect of {MANY:,} requests, memory", inspected, 200)
    compared = cost_of(*PALIMPSEST, "compare", many, "--policy", *TEN)
    yield _cpu(f"{len(TEN)} policies over {MANY:,} requests", compared.seconds, 6.0)
    report = cost_of(*PALIMPSEST, "report", many, "-o", str(root / "report.html"))
    yield _cpu(f"report of {MANY:,} requests", report.seconds, 20.0)

    most = cost_of(*PALIMPSEST, "inspect", str(_repeated(source, root, MOST)))
    times = f"inspect of {MOST:,} requests, of that of {MANY:,}"
    yield Figure(times, most.seconds / inspected.seconds, "times", LINEAR * MOST / MANY)
    yield _memory(f"inspect of {MOST:,} requests, memory", most, 400)


def _inspected(recording: Path) -> Iterator[Figure]:
    """Yield what a double click costs the kernel: its imports and the first picture, and what is asked for then."""
    printed = subprocess.run(
        (sys.executable, "-c", INSPECTED, str(recording)),
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    first, rest, track = map(float, printed.stdout.split())
    session = f"of {REQUESTS:,} requests, kernel"
    yield _cpu(f"inspector's first picture {session}", first, 1.0)
    yield _cpu(f"the rest of its view {session}", rest)
    yield _cpu(f"replay of the default policy {session}", track, 1.0)


def _repeated(source: Path, root: Path, requests: int) -> Path:
    recording = root / f"{requests}.jsonl"
    repeat_recording(source, recording, lambda _size, had: had >= requests)
    return recording


def _cpu(name: str, seconds: float, target: float | None = None) -> Figure:
    note = f"a fixed loop takes {_loop_seconds():.2f} s"
    return Figure(f"{name}, CPU", seconds, "s", target, note)


def _memory(name: str, cost: Cost, target: float) -> Figure:
    return Figure(name, cost.megabytes, "MB", target)


def _loop_seconds() -> float:
    """Return the processor time of a loop that makes small values: how fast the machine is now."""
    began = time.process_time()
    made = {}
    for number in range(LOOP_ROUNDS):
        made[number % 1_000] = number, str(number & 7)
    return time.process_time() - began


def _environment() -> dict[str, str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(COMPILED)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def cost_of(*arguments: str) -> Cost:
    """Run Python with some arguments, with compiled modules as in an installation; raises CalledProcessError."""
    command: Sequence[str] = (sys.executable, *arguments)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=_environment()) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
