"""A policy of the person's own is asked for each proposal without an effect, and decides when the request is let go."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import until
from tests.live_policies.test_live_policies import CLEARED, make, newest_two, notices, own
from tests.loop.context_management.test_fit_driver import reads, sent
from tests.session.controls.test_step_mode import held

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.policy import Change, PolicyResult
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.live_policies.live_stage import live_policy
from palimpsest.model.script import says
from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession


@palimpsest.policy
def fails_while_flagged(view: PastView) -> Iterator[Change]:
    if FLAG:
        raise ValueError("no luck")
    yield from (policies.clear(index) for index in view.outputs[:-1])


@palimpsest.policy
def breaks_a_law(view: PastView) -> Iterator[Change]:
    yield policies.clear(view.count)


@palimpsest.policy
def never_ends(view: PastView) -> Iterator[Change]:
    while True:
        time.sleep(0.001)
    yield policies.clear(view.outputs[0])


FLAG: list[str] = []


async def to_third(session: LiveSession, said: str) -> "asyncio.Task[object]":
    """Ask, and let the requests go until the third one is held."""
    answering = asyncio.ensure_future(session.prompt(said, PromptOptions()))
    for _ in range(2):
        before = (await held(session)).id
        session.step_mode.release(before)
        await until(lambda before=before: session.held and session.held[0].id != before)
    return answering


async def test_its_decisions_are_proposed_and_journaled_only_at_the_release(
    tmp_path: Path,
) -> None:
    harness, model = make(tmp_path, *reads(0, 1, 2), says("Well."))
    session = await harness.session()
    await session.use_policy(newest_two)
    session.step_mode.switch(is_on=True)
    answering = await to_third(session, "Read the logs.")
    third = session.held[0].id
    session.step_mode.release(third)
    await until(lambda: session.held and session.held[0].id != third)

    proposal = session.held[0]
    assert [(decision.action, decision.rule) for decision in proposal.decisions] == [
        ("clear", "policy/newest_two")
    ]
    assert await own(harness, session) == []
    harness.clock.now += 5_000
    session.step_mode.release(proposal.id)
    await answering

    made = await own(harness, session)
    assert [(decision.rule, decision.part_id) for decision in made] == [
        (decision.rule, decision.part_id) for decision in proposal.decisions
    ]
    assert sent(model, 3).count(CLEARED) == 1


async def test_held_and_not_held_it_decides_the_same(tmp_path: Path) -> None:
    shown: list[list[int]] = []
    for on in (False, True):
        harness, model = make(tmp_path, *reads(0, 1, 2, 3), says("Well."))
        session = await harness.session(f"{on}.ipynb")
        await session.use_policy(newest_two)
        session.step_mode.switch(is_on=on)
        answering = asyncio.ensure_future(session.prompt("Read the logs.", PromptOptions()))
        while not answering.done():
            await until(lambda s=session, a=answering: s.held or a.done())
            for proposal in session.held:
                # Proposed twice, since the limit changes: asking again must change nothing.
                limit = 1_000_000 + proposal.number
                session.control.set_budget(tokens=limit)
                await until(lambda s=session, n=limit: s.held and s.held[0].limit_tokens == n)
                session.step_mode.release(proposal.id)
                await until(lambda s=session, i=proposal.id: i not in {each.id for each in s.held})
        shown.append([sent(model, number).count(CLEARED) for number in range(5)])
    assert shown == [[0, 0, 0, 1, 2]] * 2


async def test_one_that_fails_is_shown_and_is_not_switched_off_before_the_release(
    tmp_path: Path,
) -> None:
    harness, model = make(tmp_path, *reads(0, 1), says("Well."))
    session = await harness.session()
    FLAG.append("now")
    try:
        await session.use_policy(fails_while_flagged)
        session.step_mode.switch(is_on=True)
        answering = asyncio.ensure_future(session.prompt("Read the logs.", PromptOptions()))
        first = await held(session)
        assert "would decide nothing, and be switched off until the next prompt" in (
            first.policy_problem
        )
        assert "ValueError: no luck" in held_request_text(first)
    finally:
        FLAG.clear()
    session.step_mode.release(first.id)
    await until(lambda: first.id not in {each.id for each in session.held})
    while not answering.done():
        await until(lambda: session.held or answering.done())
        for proposal in session.held:
            assert proposal.policy_problem == ""
            session.step_mode.release(proposal.id)
            await until(
                lambda proposal=proposal: proposal.id not in {each.id for each in session.held}
            )

    assert notices(session) == []
    assert sent(model, 2).count(CLEARED) == 1


class KeptLock:
    """A policy whose state cannot be copied, and which changes it in place."""

    name = "kept_lock"
    source = "a test"
    estimator = "chars/4"
    when = "request"

    def start(self, _facts: object) -> dict[str, object]:
        return {"lock": threading.Lock(), "asked": 0}

    def step(self, state: dict[str, Any], _view: object) -> PolicyResult:
        state["asked"] += 1
        ASKED.append(state["asked"])
        return PolicyResult(state, ())


ASKED: list[int] = []


async def test_one_whose_state_cannot_be_copied_is_asked_only_at_the_release(
    tmp_path: Path,
) -> None:
    ASKED.clear()
    harness, _ = make(tmp_path, *reads(0), says("Well."))
    session = await harness.session()
    await session.use_policy(KeptLock())
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(session.prompt("Read a log.", PromptOptions()))
    first = await held(session)
    session.step_mode.release(first.id)
    await until(lambda: session.held and session.held[0].id != first.id)

    second = session.held[0]
    assert "is asked only when the request is let go" in second.policy_problem
    asked = [*ASKED]
    session.control.set_budget(tokens=1_000_001)
    await until(lambda: session.held and session.held[0].limit_tokens == 1_000_001)
    assert asked == ASKED
    session.step_mode.release(session.held[0].id)
    await answering

    # The first request of a session is proposed before there is a state.
    assert ASKED[-2:] == [1, 2]
    assert notices(session) == []


async def test_a_breach_is_shown_and_switches_it_off_at_the_release(tmp_path: Path) -> None:
    harness, _ = make(tmp_path, says("Well."), says("So."))
    session = await harness.session()
    await session.use_policy(breaks_a_law)
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(session.prompt("Hello.", PromptOptions()))
    first = await held(session)

    assert "breaks_a_law would decide nothing" in first.policy_problem
    assert notices(session) == []
    session.step_mode.release(first.id)
    await answering

    assert len(notices(session)) == 1
    assert "switched off until the next prompt" in notices(session)[0]


@pytest.mark.parametrize("seconds", [0.2])
async def test_one_that_takes_too_long_is_shown_so_and_a_stop_does_not_wait_for_it(
    tmp_path: Path, seconds: float
) -> None:
    harness, model = make(tmp_path, says("Well."), says("So."))
    object.__setattr__(
        harness.services.rules, "policy_stage", lambda one: live_policy(one, max_seconds=seconds)
    )
    session = await harness.session()
    await session.use_policy(never_ends)
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(session.prompt("Hello.", PromptOptions()))
    first = await held(session)
    assert f"It took longer than {seconds:g} seconds." in first.policy_problem
    session.cancel("Stopped.")
    await answering

    object.__setattr__(
        harness.services.rules, "policy_stage", lambda one: live_policy(one, max_seconds=30)
    )
    await session.use_policy(never_ends)
    again = asyncio.ensure_future(session.prompt("Hello.", PromptOptions()))
    await until(lambda: session.runner.is_busy)
    began = time.monotonic()
    session.cancel("Stopped.")
    answer = await again

    assert time.monotonic() - began < 15, "the policy has half a minute"
    assert answer.error is not None
    assert answer.error.type == "aborted"
    assert model.requests == []
