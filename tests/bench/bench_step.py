"""Measure the CPU time of a whole step in a session of 10,000 messages, and in short ones.

A step is one request with what comes before and after it: a prompt is sent to the session, and all that it causes is
counted. The short session with equal requests shows what the length costs; the one that was just begun, what the
window costs.
"""

import asyncio
import gc
import random
import tempfile
import time
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.generate_session import LogAuthor
from tests.harness.session import SessionHarness, ask

from palimpsest.model.script import calls, says
from palimpsest.store.interface import Owner
from palimpsest.store.session_state.live_window import MAX_EARLIER_MESSAGES
from palimpsest.store.session_state.state import State
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import ModelInfo, ModelRef

TARGET_RATIO = 1.3
"""How much more a step may cost in the long session: it grows with the live window, not with the session."""
NEW = 4
LONG = 2_000
"""Turns of five messages each."""
ROUNDS = 2
"""The sessions are measured in turn, and the lowest counts: other work on the machine only adds."""
INFO = ModelInfo(ref=ModelRef(provider="x", name="y"), window=400_000, output_limit=4_000)
COMPACTED_EVERY = 40
STEPS = 6


def measure() -> list[Figure]:
    """Return the figures of the three sessions, and the ratio of the two with equal requests."""
    figures = {turns: [_measured(turns)] for turns in (NEW, COMPACTED_EVERY, LONG)}
    for _ in range(ROUNDS - 1):
        for turns, seconds in figures.items():
            seconds.append(_measured(turns))
    new, short, long = (min(seconds) * 1000 for seconds in figures.values())
    return [
        Figure("CPU of a whole step in a session of 20 messages", new, "ms"),
        Figure("CPU of a whole step in a session of 200 messages", short, "ms"),
        Figure("CPU of a whole step in a session of 10,000 messages", long, "ms"),
        Figure(
            "... of 10,000 messages, in those of 200 with equal requests",
            long / short,
            "times",
            TARGET_RATIO,
        ),
    ]


def _measured(turns: int) -> float:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number in range(7 * STEPS):
            Path(folder, f"{number}.txt").write_text("hello\n")
        return asyncio.run(_step_seconds(Path(folder), turns))


def _written_session(harness: SessionHarness, turns: int) -> str:
    """Write a session without a checkpoint, so that all of it is read when it is opened."""
    made = harness.services.ids.new("ses", descending=True)
    author = LogAuthor(
        made, random.Random(7), turns, turn_bytes=4_000, compact_every=COMPACTED_EVERY
    )
    writer = harness.store.acquire(made, Owner(host="test", pid=0, kernel_id="test"), create=True)
    state = State()
    records = []
    for event in author.session():
        records.append(Record(seq=state.seq + 1, ts=author.now, event=event))
        state.apply(records[-1])
    writer.append(records)
    writer.close()
    return made


async def _step_seconds(folder: Path, turns: int) -> float:
    """Return the lowest CPU seconds of one step in a session of so many turns."""
    answers = [
        says("Done.") if number % STEPS == STEPS - 1 else calls("read", path=f"{number}.txt")
        for number in range(7 * STEPS)
    ]
    harness = SessionHarness(folder, ScriptedModel(*answers), info=INFO)
    session = await harness.workspace.open(_written_session(harness, turns))
    assert len(session.journal.read_state(State.messages)) == 5 * turns
    await ask(session, "Warm up.")
    gc.collect()
    gc.freeze()
    spent = []
    for number in range(6):
        before = time.process_time()
        await ask(session, f"Go on, {number}.")
        spent.append(time.process_time() - before)
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # the suite's own objects, which were thawed with the session's
    # What is not sent any more left the memory with the first prompt, and is in the log.
    assert (
        len(session.journal.read_state(State.messages))
        < 5 * COMPACTED_EVERY + MAX_EARLIER_MESSAGES + 100
    )
    assert len(harness.store.load(session.id).messages()) > 5 * turns
    await harness.workspace.close()
    return min(spent) / STEPS
