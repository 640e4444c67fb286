"""What a timeline says a request of ours held is what the request rebuilt to the byte holds."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.recordings.decision_sessions import NO_PRUNE, SCENES, SOME_SCENES
from tests.recordings.reconstruction.test_replay_laws import OPERATIONS, folder, improvise
from tests.recordings.timeline.held_parts import differences, held_by_requests
from tests.sample_size import slow_cases, thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.model.script import says
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.timeline import Timeline

Edit = Callable[[LiveSession, list[str]], None]


@pytest.mark.parametrize("scene", thinned(SOME_SCENES, 2))
async def test_every_request_holds_the_items_that_the_timeline_says(
    tmp_path: Path, scene: str
) -> None:
    harness, session = await SCENES[scene](tmp_path)
    await session.journal.flush()

    assert differences(harness.store, session.id) == []


async def summarised(
    tmp_path: Path, before: Edit, *behind: Callable[[LiveSession, list[str]], Awaitable[None]]
) -> tuple[SessionHarness, LiveSession, list[str]]:
    """Read four files, edit the context, compact, and go on; each of ``behind`` comes before one more prompt."""
    answers = [*reads(0, 1, 2, 3), says("Well."), says("More."), says(SUMMARY)]
    harness, _ = make_fit_harness(tmp_path, *answers, *[says("Yes.")] * 5, window=90_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Say more.")
    parts = [p.id for m in session.snapshot().messages for p in m.parts if isinstance(p, ToolPart)]
    before(session, parts)
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    for act in behind:
        await act(session, parts)
        await ask(session, "And now?")
    await session.journal.flush()
    return harness, session, parts


def states_of_results(timeline: Timeline, parts: list[str]) -> list[str | None]:
    """Return what the last request showed of the results of calls."""
    last = len(timeline.requests) - 1
    places = {item.id.split("/")[1]: item.index for item in timeline.items if item.kind == "output"}
    return [timeline.state(places[part], last) for part in parts]


async def test_what_was_restored_before_a_compaction_is_summarised_with_the_rest(
    tmp_path: Path,
) -> None:
    def edit(session: LiveSession, parts: list[str]) -> None:
        session.edit_context("exclude", parts[0])
        session.edit_context("restore", parts[0])
        session.edit_context("exclude", parts[1])

    harness, session, parts = await summarised(tmp_path, edit)

    timeline = timeline_of(harness.store, session.id)
    # The newest is in the tail that the compaction kept.
    assert states_of_results(timeline, parts) == ["summarised", "summarised", "summarised", "whole"]
    assert differences(harness.store, session.id) == []


async def test_what_is_pinned_is_in_the_request_behind_the_summary_until_the_pin_is_taken_off(
    tmp_path: Path,
) -> None:
    async def unpin(session: LiveSession, parts: list[str]) -> None:
        session.edit_context("unpin", parts[1])

    async def pin_another(session: LiveSession, parts: list[str]) -> None:
        session.edit_context("pin", parts[2])

    def edit(session: LiveSession, parts: list[str]) -> None:
        session.edit_context("pin", parts[1])

    harness, session, parts = await summarised(tmp_path, edit, unpin, pin_another)

    timeline = timeline_of(harness.store, session.id)
    result = next(item.index for item in timeline.items if parts[1] in item.id and item.chars > 99)
    states = [timeline.state(result, request.index) for request in timeline.requests[-3:]]
    assert states == ["whole", "summarised", "summarised"]
    assert states_of_results(timeline, parts[:3]) == ["summarised", "summarised", "whole"]
    assert differences(harness.store, session.id) == []
    assert parts[2] in held_by_requests(harness.store, session.id)[-1][1]


async def test_an_undone_compaction_brings_everything_back_and_takes_its_own_messages_out(
    tmp_path: Path,
) -> None:
    answers = [*reads(0, 1, 2, 3, 4, 5), says(SUMMARY), *[says("Well.")] * 3]
    harness, _ = make_fit_harness(tmp_path, *answers, policy=NO_PRUNE)
    session = await harness.session()
    await ask(session, "Read the logs.")
    summary = next(m.id for m in session.snapshot().messages if getattr(m.info, "summary", False))
    session.edit_context("undo", summary)
    await session.use_policy("overflow.auto=false")
    await ask(session, "Sure?")
    await session.journal.flush()

    timeline = timeline_of(harness.store, session.id)
    last = len(timeline.requests) - 1
    gone = [item.kind for item in timeline.items if timeline.state(item.index, last) == "out"]
    assert gone == ["summary", "user"]
    assert differences(harness.store, session.id) == []


ANY_PART = st.tuples(
    st.sampled_from(["pin", "unpin", "exclude", "restore"]), st.integers(min_value=0, max_value=60)
)


@pytest.mark.slow
@slow_cases(4, 300)
@given(
    st.lists(st.one_of(OPERATIONS, ANY_PART), max_size=9),
    st.lists(st.integers(0, 200), min_size=10, max_size=60),
    st.sampled_from(list(PRESETS.values())),
    st.sampled_from([20_000, 34_000, 90_000]),
)
def test_every_request_of_any_session_holds_the_items_that_its_timeline_says(
    operations: list[tuple[str, Any]], draws: list[int], policy: Policy, window: int
) -> None:
    small = policy_with_changes(policy, {"guard.hard_minimum": 1_000, "guard.hard_share": 0.0})
    with tempfile.TemporaryDirectory() as root:
        folder(Path(root))

        store, session_id = asyncio.run(improvise(Path(root), operations, draws, small, window))

        assert differences(store, session_id) == []
