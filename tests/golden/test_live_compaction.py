"""A live compaction under OpenClaw's presets calls the functions that are compared with recordings."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.golden.test_live import Trace
from tests.harness.compacted_sessions import SUMMARY, assert_rebuilt, summaries
from tests.harness.session import SessionHarness, ask, until
from tests.harness.time_limits import HeldTimeLimits
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.loop.run_inputs.compaction_state import (
    CompactionState,
    action_at_time_limit,
    choose_snapshot,
    compaction_timed_out,
    is_answerable,
)
from palimpsest.model.script import overflows, says, stalls
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedAnswer, ScriptedModel
from palimpsest.transcript.errors import AbortedError, ApiError
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-test"), window=40_000, output_limit=4_000
)
LONG = says("The mean of bill_length_mm is 43.92. " * 1_050).in_pieces(4_000)
PRESETS = {"openclaw-2026.2": ("whole", 1), "openclaw-2026.9": ("continuable", 0)}
"""The snapshot that each continues from, and its count after a compaction without a summary."""


async def nearly_full(
    root: Path, preset: str, *answers: ScriptedAnswer, **recovery: Any
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session whose next long prompt needs a compaction."""
    # The older generation learns from the provider that a request is too long.
    refused = [overflows("anthropic")] if preset == "openclaw-2026.2" else []
    model = ScriptedModel(LONG, LONG, *refused, *answers)
    harness = SessionHarness(root, model, info=INFO)
    chosen = preset_policy(preset)
    update = {"recovery": chosen.recovery.model_copy(update=recovery)}
    object.__setattr__(harness.services.rules, "policy", chosen.model_copy(update=update))
    session = await harness.session()
    await ask(session, "First question", model="anthropic/claude-test")
    await ask(session, "Second question", model="anthropic/claude-test")
    return harness, model, session


async def full(session: LiveSession, preset: str) -> Any:
    """Send a prompt that needs a compaction; the newer preset uses reported usage, so it overflows later."""
    words = {"openclaw-2026.2": 9_000, "openclaw-2026.9": 12_000}[preset]
    return await ask(session, "And now? " + "word " * words, model="anthropic/claude-test")


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
async def test_one_that_takes_too_long_goes_back_to_the_snapshot_of_before(
    tmp_path: Path, preset: str, limits: HeldTimeLimits
) -> None:
    harness, model, session = await nearly_full(tmp_path, preset, stalls(), compaction_seconds=0.1)
    state = session.runner.compactions
    traced = (compaction_timed_out, choose_snapshot)
    told = (CompactionState.copy_when_idle, CompactionState.note_start, CompactionState.note_end)

    with Trace(*traced, *told, CompactionState.note_answer, is_answerable) as trace:
        asking = asyncio.create_task(full(session, preset))
        await until(lambda: model.requests[-1].purpose == "compaction")
        limits.run_out(0.1)
        answer = await asking

    assert isinstance(answer.error, ApiError)
    snapshot, counted = PRESETS[preset]
    looked = {"is_answerable"} if snapshot == "continuable" else set()
    assert set(trace.seen) == {one.__name__ for one in (*traced, *told)} | {"note_answer"} | looked
    assert [one.snapshot for one in trace.seen["choose_snapshot"]] == [snapshot]
    assert state.count == counted
    assert not state.active
    aside = [
        decision.numbers for decision in session.decisions() if decision.rule == "compact/aside"
    ]
    assert {one["source"] for one in aside} == {"pre-compaction"}
    await assert_rebuilt(harness, session, model)


@pytest.mark.slow
@pytest.mark.parametrize("preset", thinned(PRESETS, 3))
async def test_a_turn_at_its_limit_lets_one_come_to_its_end_and_who_waits_is_told(
    tmp_path: Path, preset: str, limits: HeldTimeLimits
) -> None:
    slow = says(SUMMARY).drips(0.003)
    harness, model, session = await nearly_full(
        tmp_path, preset, slow, stalls(), turn_seconds=600.0, compaction_seconds=300.0
    )

    with Trace(
        action_at_time_limit, CompactionState.wait_for_compaction, CompactionState.wait_until_idle
    ) as trace:
        asking = asyncio.create_task(full(session, preset))
        await until(lambda: session.runner.compactions.in_flight)
        limits.run_out(600.0)
        await until(lambda: not session.runner.compactions.in_flight)
        waiting = asyncio.ensure_future(session.wait_compaction())
        limits.run_out(300.0)
        waited = await asyncio.wait_for(waiting, LAST_RESORT_SECONDS)
        answer = await asking

    assert waited
    assert isinstance(answer.error, AbortedError)
    assert "time limit" in answer.error.message
    assert len(trace.seen["action_at_time_limit"]) == 2
    assert {"wait_for_compaction", "wait_until_idle"} <= set(trace.seen)
    [summary] = summaries(session.snapshot().messages)
    assert summary.error is None
    await assert_rebuilt(harness, session, model)


@pytest.mark.parametrize(
    ("preset", "seconds"), [("openclaw-2026.2", 600), ("openclaw-2026.9", 172_800)]
)
def test_each_generation_has_its_limit(preset: str, seconds: float) -> None:
    assert preset_policy(preset).recovery.turn_seconds == seconds
