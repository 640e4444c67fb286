"""The cost of a step depends on the size of its request, not on the length of the session."""

import gc
import random
import time
from pathlib import Path

import pytest
from tests.bench.generate_session import LogAuthor
from tests.harness.session import SessionHarness, ask
from tests.sample_size import sample_size

from palimpsest.model.script import calls, says
from palimpsest.store.interface import Owner
from palimpsest.store.session_state.live_window import MAX_EARLIER_MESSAGES
from palimpsest.store.session_state.state import State
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(ref=ModelRef(provider="x", name="y"), window=400_000, output_limit=4_000)
COMPACTED_EVERY = 40
TURNS = sample_size(200, 2_000)
"""Five messages each: 1,000 in all, or 10,000; the short session has 200."""
STEPS = 6


def write(harness: SessionHarness, turns: int) -> str:
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


async def step_seconds(folder: Path, turns: int) -> float:
    """Return the lowest CPU seconds of one step in a session of so many turns."""
    answers = [
        says("Done.") if number % STEPS == STEPS - 1 else calls("read", path=f"{number}.txt")
        for number in range(7 * STEPS)
    ]
    harness = SessionHarness(folder, ScriptedModel(*answers), info=INFO)
    session = await harness.workspace.open(write(harness, turns))
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


@pytest.mark.soak  # with each commit tests/loop/run_inputs/test_request_cache.py has what makes it so; this adds the time
@pytest.mark.slow
async def test_a_step_in_a_session_of_thousands_of_messages_costs_what_it_does_in_a_short_one(
    tmp_path: Path,
) -> None:
    # Both were compacted equally long ago, so their requests have the same size.
    for number in range(7 * STEPS):
        (tmp_path / f"{number}.txt").write_text("hello\n")

    short = await step_seconds(tmp_path, COMPACTED_EVERY)
    long = await step_seconds(tmp_path, TURNS)
    SessionHarness.opened.clear()  # replaying so many messages belongs to another test

    assert long < 2 * short + 0.001
