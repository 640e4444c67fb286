"""Whoever waits for a compaction continues at its end, and one that takes too long is given up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import (
    DEFAULT,
    INFO,
    SUMMARY,
    assert_rebuilt,
    by_purpose,
    make_harness,
    markers,
    sent,
    summaries,
    talked,
    with_recovery,
)
from tests.harness.session import SessionHarness, ask, until
from tests.harness.time_limits import HeldTimeLimits
from tests.waiting import LAST_RESORT_SECONDS, settled

from palimpsest.model.script import says, stalls
from palimpsest.review.context_report.report_builder import build_context_report
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.session_state.state import State
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import AbortedError, ApiError, SessionBusy, WaitAborted
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import DecisionMade
from palimpsest.transcript.session_record.sessions import Idle

QUESTION = "What was the mean? " + "word " * 1_600
WIDE = INFO.model_copy(update={"window": 60_000})
SLOW = says(SUMMARY).drips(0.002)
"""A summary that takes about a fifth of a second."""


async def compacting(session: LiveSession, model: ScriptedModel) -> "asyncio.Task[Any]":
    """Send a prompt that overflows, and return while the summary is streaming."""
    asking = asyncio.create_task(ask(session, QUESTION))
    await until(lambda: model.requests[-1].purpose == "compaction")
    return asking


def take(harness: SessionHarness, session: LiveSession, policy: Policy) -> None:
    """Change the policy of a session, so that its time limits hold from now on."""
    object.__setattr__(harness.services.rules, "policy", policy)
    session._configured_policy = session._prompt_resolver._configured_policy = type(
        session._configured_policy
    )(policy, {})


@pytest.mark.slow
async def test_asking_for_a_compaction_that_runs_joins_it(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, SLOW, says("It is ").pauses(0.1).says("43.92."))
    asking = await compacting(session, model)

    joined = await session.compact()

    assert not asking.done()
    assert (joined.text, joined.error) == (SUMMARY, None)
    assert joined.usage.input > 0
    assert (await asking).text == "It is 43.92."
    assert len(markers(session.snapshot().messages)) == 1


async def test_those_who_ask_for_a_compaction_at_once_get_one_summary(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, says(SUMMARY), says("No second one."))

    one, other, late = await asyncio.gather(
        session.compact(),
        session.compact("the numbers"),
        asyncio.to_thread(
            lambda loop: asyncio.run_coroutine_threadsafe(session.compact(), loop).result(
                LAST_RESORT_SECONDS
            ),
            asyncio.get_running_loop(),
        ),
    )

    assert one == other == late
    assert (one.text, one.error) == (SUMMARY, None)
    assert len(markers(session.snapshot().messages)) == 1
    assert len([request for request in model.requests if request.purpose == "compaction"]) == 1


async def test_a_turn_that_does_not_compact_is_not_joined(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, stalls())
    asking = asyncio.create_task(ask(session, "Short."))
    await until(lambda: len(model.requests) == 3)

    with pytest.raises(SessionBusy):
        await session.compact()

    session.cancel()
    await asking


@pytest.mark.slow
async def test_waiting_ends_when_what_was_interrupted_was_answered(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, SLOW, says("It is ").pauses(0.1).says("43.92."))
    asking = await compacting(session, model)
    waiting = asyncio.create_task(session.wait_compaction())

    assert (await asking).text == "It is 43.92."
    assert await asyncio.wait_for(waiting, LAST_RESORT_SECONDS)
    assert session.runner.compactions.count == 1


async def test_waiting_is_over_at_once_where_nothing_runs(tmp_path: Path) -> None:
    _, _, session = await talked(tmp_path)

    assert await asyncio.wait_for(session.wait_compaction(), LAST_RESORT_SECONDS)


@pytest.mark.slow
async def test_an_answer_that_takes_longer_than_the_policy_waits_is_not_waited_for(
    tmp_path: Path, limits: HeldTimeLimits
) -> None:
    _, model, session = await talked(
        tmp_path, SLOW, stalls(), policy=with_recovery(wait_seconds=0.05)
    )
    asking = await compacting(session, model)
    waiting = asyncio.create_task(session.wait_compaction())
    for _ in range(3):
        # The summary lasts several wait limits; only the answer after it is given up.
        await until(lambda: limits.runs(0.05))
        if session.runner.compactions.in_flight:
            limits.run_out(0.05)
        await settled()
    await until(lambda: model.requests[-1].purpose == "step")
    assert not waiting.done()

    limits.run_out(0.05)

    assert await asyncio.wait_for(waiting, LAST_RESORT_SECONDS) is False
    session.cancel()
    await asking


async def test_a_stop_wakes_whoever_waits(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, stalls())
    asking = await compacting(session, model)
    joined = asyncio.create_task(session.compact())
    waiting = asyncio.create_task(session.wait_compaction())
    await settled()

    session.cancel()

    assert isinstance((await asyncio.wait_for(joined, LAST_RESORT_SECONDS)).error, AbortedError)
    assert await asyncio.wait_for(waiting, LAST_RESORT_SECONDS)
    assert isinstance((await asking).error, AbortedError)


async def test_closing_the_session_wakes_whoever_waits(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, stalls())
    asking = await compacting(session, model)
    joined = asyncio.create_task(session.compact())
    waiting = asyncio.create_task(session.wait_compaction())
    await settled()

    await session.close()

    with pytest.raises(WaitAborted, match="was closed during a compaction"):
        await waiting
    with pytest.raises(WaitAborted, match="is closed, so there is no compaction to wait for"):
        await session.wait_compaction()
    assert isinstance((await joined).error, AbortedError)
    assert isinstance((await asking).error, AbortedError)


async def test_a_summary_that_takes_too_long_is_given_up_and_history_stays(
    tmp_path: Path, limits: HeldTimeLimits
) -> None:
    policy = with_recovery(compaction_seconds=0.1)
    harness, model, session = await talked(
        tmp_path, says("## Goal\n- know").stalls(), says("Still here."), policy=policy
    )

    compaction = asyncio.create_task(session.compact())
    await until(lambda: "- know" in str(session.snapshot().messages[-1].parts))
    limits.run_out(0.1)
    given_up = await asyncio.wait_for(compaction, LAST_RESORT_SECONDS)

    assert isinstance(given_up.error, ApiError)
    assert given_up.error.retryable
    assert "did not come within 0.1 seconds" in given_up.error.message
    assert model.close_count == 1
    picture = session.snapshot()
    assert isinstance(picture.status, Idle)
    assert picture.session is not None
    assert picture.session.time.compacting is None
    harness.narrow(WIDE)
    await ask(session, "Well?")
    after = sent(model, 3)
    assert "First question" in after
    assert "Second question" in after
    assert "What did we do so far?" not in after
    assert "## Goal" not in after
    # The transcript keeps the unfinished summary.
    assert "## Goal" in str(picture.messages)
    await assert_rebuilt(harness, session, model)


@pytest.mark.slow
async def test_a_summary_is_tried_again_after_it_was_given_up(
    tmp_path: Path, limits: HeldTimeLimits
) -> None:
    policy = with_recovery(compaction_seconds=0.5)
    harness, model, session = await talked(tmp_path, stalls(), *[by_purpose] * 3, policy=policy)
    asking = await compacting(session, model)
    limits.run_out(0.5)
    failed = await asking
    assert isinstance(failed.error, ApiError)

    answer = await asyncio.wait_for(session.retry(), LAST_RESORT_SECONDS)

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    good, bad = (summaries(session.snapshot().messages)[at] for at in (1, 0))
    assert (good.error, bad.error is None) == (None, False)
    assert "First question" not in sent(model, -1)
    await assert_rebuilt(harness, session, model)


async def test_who_joins_is_told_that_it_took_too_long(
    tmp_path: Path, limits: HeldTimeLimits
) -> None:
    policy = with_recovery(compaction_seconds=0.1)
    _, model, session = await talked(tmp_path, stalls(), policy=policy)
    asking = await compacting(session, model)

    joining = asyncio.create_task(session.compact())
    await settled()
    limits.run_out(0.1)
    joined = await asyncio.wait_for(joining, LAST_RESORT_SECONDS)

    assert isinstance(joined.error, ApiError)
    assert (await asking).error == joined.error
    assert session.runner.compactions.count == 0


async def cut_answer(
    tmp_path: Path, policy: Policy
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session whose last answer was cut off, and whose next compaction times out."""
    half = says("Half of it. " * 40).finishes("length").reports(input=7_500, output=100)
    harness, model = make_harness(
        tmp_path, says("One."), half, stalls(), says("Here."), policy=policy
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    return harness, model, session


def reported(snapshot: str) -> Policy:
    """Return a policy that compacts by reported tokens, and continues from the given snapshot."""
    policy = with_recovery(compaction_seconds=0.1, snapshot=snapshot)
    overflow = policy.overflow.model_copy(update={"rule": "opencode-1.18"})
    return policy.model_copy(update={"overflow": overflow})


@pytest.mark.parametrize(("snapshot", "stays"), [("whole", True), ("continuable", False)])
async def test_after_a_timeout_the_messages_of_before_go_on_as_the_policy_says(
    tmp_path: Path, snapshot: str, *, stays: bool
) -> None:
    harness, model, session = await cut_answer(tmp_path, reported(snapshot))

    await ask(session, "Well?")

    after = sent(model, 3)
    assert "Second question" in after
    assert ("Half of it." in after) is stays
    assert "What did we do so far?" not in after
    records = await harness.records(session)
    aside = [
        record.event.decision.numbers
        for record in records
        if isinstance(record.event, DecisionMade) and record.event.decision.rule == "compact/aside"
    ]
    assert aside
    assert all(numbers == {"source": "pre-compaction", "timed_out": True} for numbers in aside)
    await assert_rebuilt(harness, session, model)
    # The messages that the model does not see are in the transcript.
    texts = [
        p.text for m in session.snapshot().messages for p in m.parts if isinstance(p, TextPart)
    ]
    assert any("Half of it." in text for text in texts)


async def test_an_answer_that_is_whole_stays_though_a_compaction_after_it_took_too_long(
    tmp_path: Path,
) -> None:
    policy = reported("continuable")
    done = says("The whole of it.").reports(input=7_500, output=100)
    harness, model = make_harness(
        tmp_path, says("One."), done, stalls(), says("Here."), policy=policy
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")

    await ask(session, "Well?")

    assert "The whole of it." in sent(model, 3)


async def test_the_session_reopens_with_the_messages_of_before(tmp_path: Path) -> None:
    harness, _, session = await cut_answer(tmp_path, reported("whole"))
    records = await harness.records(session)

    state = State()
    for record in records:
        state.apply(record)

    assert state.messages() == session.snapshot().messages
    assert state.decisions == session.decisions()


# The turn's own time limit


async def test_a_turn_is_stopped_at_its_time_limit(tmp_path: Path) -> None:
    harness, _ = make_harness(tmp_path, stalls(), policy=with_recovery(turn_seconds=0.1))
    session = await harness.session()

    answer = await ask(session, "Are you there?")

    assert isinstance(answer.error, AbortedError)
    assert "longer than 0.1 seconds" in answer.error.message


@pytest.mark.slow
async def test_the_limit_waits_once_for_a_compaction_that_runs(
    tmp_path: Path, limits: HeldTimeLimits
) -> None:
    harness, model, session = await talked(tmp_path, SLOW, stalls())
    take(
        harness, session, with_recovery(turn_seconds=0.1, compaction_seconds=1.0, wait_seconds=9.0)
    )
    asking = await compacting(session, model)
    assert limits.counted(1.0) == 1, "the summary's own"
    limits.run_out(0.1)
    await until(lambda: limits.counted(1.0) == 2)
    await until(lambda: model.requests[-1].purpose == "step")
    assert not asking.done()

    limits.run_out(1.0)
    answer = await asking

    assert isinstance(answer.error, AbortedError)
    assert "time limit" in answer.error.message
    assert [request.purpose for request in model.requests][2:] == ["compaction", "step"]
    [summary] = summaries(session.snapshot().messages)
    assert summary.error is None


@pytest.mark.slow
async def test_the_limit_waits_no_second_time(tmp_path: Path, limits: HeldTimeLimits) -> None:
    policy = with_recovery(turn_seconds=0.05, compaction_seconds=0.9)
    parts = [says(SUMMARY), says(SUMMARY).stalls()]
    said = [
        says(f"The mean of column {number} is 43.92. " * 100).in_pieces(4_000)
        for number in range(10)
    ]
    model = ScriptedModel(*said, *parts, says("Here."))
    harness = SessionHarness(tmp_path, model, info=WIDE)
    object.__setattr__(harness.services.rules, "policy", DEFAULT)
    session = await harness.session()
    for number in range(10):
        await ask(session, f"Question {number} " + "word " * 700)
    take(harness, session, policy)
    harness.narrow(INFO)

    asking = asyncio.create_task(ask(session, "And now?"))
    await until(lambda: model.requests[-1].purpose == "compaction")
    limits.run_out(0.05)
    # The summary comes in parts, each with the limit of a compaction; the turn's limit was put off once by as much.
    await until(
        lambda: len([request for request in model.requests if request.purpose == "compaction"]) == 2
    )
    await until(lambda: limits.counted(0.9) == 2)
    limits.run_out(0.9, of_turn=True)
    answer = await asking

    assert isinstance(answer.error, AbortedError)
    assert "time limit" in answer.error.message
    [summary] = summaries(session.snapshot().messages)
    assert isinstance(summary.error, AbortedError)
    decisions = [
        decision.numbers for decision in session.decisions() if decision.rule == "compact/aside"
    ]
    assert decisions
    assert all(
        numbers["timed_out"] and numbers["source"] == "pre-compaction" for numbers in decisions
    )


async def test_what_was_taken_out_is_explained(tmp_path: Path, limits: HeldTimeLimits) -> None:
    policy = with_recovery(compaction_seconds=0.1)
    _, _, session = await talked(tmp_path, says("## Goal").stalls(), policy=policy)
    compaction = asyncio.create_task(session.compact())
    await until(lambda: "## Goal" in str(session.snapshot().messages[-1].parts))
    limits.run_out(0.1)
    await asyncio.wait_for(compaction, LAST_RESORT_SECONDS)

    seen = str(build_context_report(session.basis(), lambda only: session.records_after(0, only)))

    assert "It belongs to a compaction that took too long, so the history goes on" in seen
