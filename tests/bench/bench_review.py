"""Measure review: a recording imported and its first table, policies over it and over a large session, 200 MB.

The recording is pi's sample; the large session repeats it until it has over 2,000 requests and 6,000 items. The
import of 200 MB runs in a process of its own, whose memory is measured from before its first byte is read.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count as numbers
from pathlib import Path
from typing import Any

from tests.bench.bench_whatif import long_session
from tests.bench.figure import Figure
from tests.recordings.formats.sample_files import sample

from palimpsest.context.presets import PRESETS as ENGINE
from palimpsest.context_policies.registry import get, presets
from palimpsest.context_policies.replay.simulation_cache import SimulationCache
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.context_policies.whatif.light_whatif import light_whatif
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.review_files.review_file import ReviewFile
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.references import References
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder

POLICIES = (
    *("raw", "opencode.prune", "opencode.prune protect=20000 minimum=5000", "gemini.mask"),
    *("sweagent.last_n", "sweagent.last_n n=10", "sweagent.last_n n=5 polling=10"),
    *("complexity_trap.mask", "openhands.observation_masking", "anthropic.clear_tool_uses"),
    *("langchain.clear_tool_uses", "strands.sliding_window", "openhands.recent"),
    *("openhands.amortized", "openclaw.cache_ttl", "pi.compact", "gemini.compress"),
)
"""Policies of other agents and of papers, with the parameters that they are known with."""
REQUESTS = 2_450
"""So many of pi's requests have 6,000 items."""
LARGE_BYTES = 200_000_000
PACKAGE = Path(__file__).parents[2] / "kernel_ext"
IMPORT = """
import sys, time
from pathlib import Path
import palimpsest
def most():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
app = palimpsest.App()
before, began = most(), time.process_time()
(session,) = palimpsest.import_session(sys.argv[1]).sessions
taken, above = time.process_time() - began, most() - before
began = time.process_time()
assert app.services.store.open_live(session.id).index is not None
print(taken, before, above, session.messages, time.process_time() - began)
app.close()
"""
REPORT = """
import os, sys, time
from pathlib import Path
from palimpsest.frontends.operation_text.report_file import write_report
from palimpsest.review.recorded_sessions.recording import open_recording
with open_recording(sys.argv[1]) as recording:
    began = time.process_time()
    write_report(recording[0], sys.argv[2], environment=os.environ)
    taken = time.process_time() - began
print(taken, int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024)
"""


def measure() -> list[Figure]:
    """Return the figures of review."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = sample("pi_large_session.jsonl", root)
        return [
            *_small(root, path),
            *_own(),
            *_large(root, path),
            *_reports(root, path),
            *_huge(root, path),
        ]


def _small(root: Path, path: Path) -> Iterator[Figure]:
    def first() -> None:
        with open_recording(path) as recording:
            _ = recording[0].compare(["recorded"]).table

    yield Figure("pi: import and first table", _seconds(first), "s", 1.0)
    yield from _opened(root, path)
    with open_recording(path) as recording:
        review = recording[0]
        taken = _replayed(review, POLICIES)
        yield Figure(f"pi: {len(POLICIES)} policies", taken, "s", 0.3)
        yield Figure(
            "pi: a policy asked for again",
            1000 * _seconds(lambda: review.compare(POLICIES[1])),
            "ms",
        )
        names = list(dict.fromkeys(preset.preset for preset in presets()))
        yield Figure(f"pi: all {len(names)} presets", _replayed(review, names), "s")
        yield from _whatifs("pi", review)


def _whatifs(name: str, review: SessionReview) -> Iterator[Figure]:
    """Yield how long a what-if takes under each of the engine's policies, the items counted."""
    steps = len(review.timeline.requests)
    for preset, policy in ENGINE.items():
        light_whatif(review, policy)
        taken = _seconds(lambda policy=policy: light_whatif(review, policy))  # type: ignore[misc]
        yield Figure(f"{name}: light what-if of {steps} steps under {preset}", taken, "s", 0.5)


def _own() -> Iterator[Figure]:
    """Yield what-ifs over sessions of ours of 200 and 450 steps, light beside exact."""
    for turns, window, presets_held in (
        (20, 400_000, tuple(ENGINE)),
        (45, 2_000_000, ("palimpsest",)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            yield from asyncio.run(_measured(Path(folder), turns, window, presets_held))


async def _measured(
    root: Path, turns: int, window: int, presets_held: tuple[str, ...]
) -> list[Figure]:
    harness, session = await long_session(root, turns, window)
    timeline = timeline_of(harness.store, session.id, counter)
    figures = list(_whatifs("own", SessionReview(timeline, get, lambda _model: None)))
    for preset in presets_held:
        before = time.process_time()
        exact_whatif(harness.store, session.id, ENGINE[preset])
        taken = time.process_time() - before
        words = f"own: exact what-if of {len(timeline.requests)} steps under {preset}"
        figures.append(Figure(words, taken, "s"))
    await harness.workspace.close()
    return figures


def _large(root: Path, path: Path) -> Iterator[Figure]:
    large = root / "large.jsonl"
    repeat_recording(path, large, lambda _size, requests: requests >= REQUESTS)
    yield from _opened(root, large)
    with open_recording(large) as recording:
        review = recording[0]
        timeline = review.timeline
        note = f"{len(timeline.requests):,} requests, {len(timeline.items):,} items"
        yield Figure(f"{len(POLICIES)} policies", _replayed(review, POLICIES), "s", 2.0, note)


def _reports(root: Path, path: Path) -> Iterator[Figure]:
    """Yield what a report takes, and how much more one of a session of twice the length does."""
    taken = []
    for requests in (REQUESTS // 2, REQUESTS):
        recording = root / f"report-{requests}.jsonl"
        repeat_recording(path, recording, lambda _size, had, most=requests: had >= most)  # type: ignore[misc]
        done = subprocess.run(
            [sys.executable, "-c", REPORT, str(recording), str(root / f"{requests}.html")],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, megabytes = map(float, done.stdout.split())
        taken.append(seconds)
        note = f"{megabytes:,.0f} MB of memory at most"
        yield Figure(f"report of {requests:,} requests", seconds, "s", None, note)
    yield Figure("report of twice the requests", taken[1] / taken[0], "times", 2.6)


def _huge(root: Path, path: Path) -> Iterator[Figure]:
    huge = root / "huge.jsonl"
    repeat_recording(path, huge, lambda size, _requests: size >= LARGE_BYTES)
    project = root / "huge"
    project.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, str(huge)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    taken, before, above, messages, opened = map(float, done.stdout.split())
    note = f"{before:.0f} MB before it, {messages:,.0f} messages"
    yield Figure("import of 200 MB, CPU", taken, "s")
    yield Figure("import of 200 MB, memory above its start", above, "MB", 100, note)
    yield Figure("session of 200 MB opened after its import, CPU", opened, "s")


def repeat_recording(path: Path, target: Path, enough: Callable[[int, int], bool]) -> None:
    """Write a recording again and again into one, each time with calls of their own, until it is enough."""
    begin, *lines = path.read_text("utf-8").splitlines()
    size = requests = 0
    with target.open("w", encoding="utf-8") as file:
        file.write(begin + "\n")
        for turn in numbers():
            for line in lines:
                value = json.loads(line)
                if value.get("type") == "message":
                    requests += _renamed(value["message"], turn)
                size += file.write(json.dumps(value) + "\n")
                if enough(size, requests):
                    return


def _renamed(message: dict[str, Any], turn: int) -> bool:
    """Give the calls of a message ids of their own; returns whether it is an answer."""
    if "toolCallId" in message:
        message["toolCallId"] += f"-{turn}"
    for block in message["content"] if isinstance(message["content"], list) else ():
        if block.get("type") == "toolCall":
            block["id"] += f"-{turn}"
        if isinstance(block.get("text"), str) and turn:
            block["text"] += f" {turn}"
    return bool(message.get("role") == "assistant")


def _replayed(review: SessionReview, policies: Any) -> float:
    """Return how long a table of policies takes, the timeline and its names known."""
    _ = review.ruler, review.references

    def replay() -> None:
        review.replays = SimulationCache(review.timeline)
        _ = review.compare(list(policies)).table

    return _seconds(replay)


def _opened(root: Path, path: Path) -> Iterator[Figure]:
    """Yield how long a review takes to open, names included: made from its log, and read from its file."""
    project = root / f"{path.stem}-project"
    project.mkdir()
    store = JsonlStore(open_project_folder(project))
    (session,) = REGISTRY.import_from(store, path, lambda: 1).sessions
    made = timeline_of(store, session.id, counter)

    def first() -> None:
        References.of(timeline_of(store, session.id, counter))

    def second() -> None:
        assert ReviewFile(store, session.id, lambda _model: None).load(counter) is not None

    note = f"{len(made.requests):,} requests"
    yield Figure("review opened", _seconds(first), "s", None, note)
    ReviewFile(store, session.id, lambda _model: None).store_review(made, References.of(made))
    yield Figure("review opened again", _seconds(second), "s", None, note)


def _seconds(run: Callable[[], object]) -> float:
    """Return the lowest CPU time of three runs."""
    taken = []
    for _ in range(3):
        before = time.process_time()
        run()
        taken.append(time.process_time() - before)
    return min(taken)
