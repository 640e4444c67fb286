"""A subagent's held request is changed on its card as any other: its own session's numbers and parts, and the limit."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, until
from tests.harness.subagent_session import make_subagent_harness, open_children, write
from tests.session.controls.test_step_mode import FREE, let_all_go
from tests.session.runs.test_subagents import Cast, task
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import NotFound, UserError

TASK = calls("task", description="Look", prompt="Look around.", agent="explore")
READ = calls("read", path="a.txt")


async def at_the_subagent(
    tmp_path: Path, *answers: Any, number: int = 1
) -> tuple[SessionHarness, ScriptedModel, LiveSession, "asyncio.Task[Any]", ProposedRequest]:
    """Return a session that holds a subagent's request of this number."""
    (tmp_path / "a.txt").write_text("the words of the file\n" * 50)
    model = ScriptedModel(TASK, *answers)
    harness = make_subagent_harness(tmp_path, model, rules=FREE)
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hand it on."))
    while True:
        await until(lambda: session.held)
        proposal = session.held[0]
        if proposal.subagent and proposal.number == number:
            return harness, model, session, answering, proposal
        session.step_mode.release(proposal.id)
        await until(lambda before=proposal.id: session.held and session.held[0].id != before)


async def test_a_number_is_changed_in_its_own_session_alone(tmp_path: Path) -> None:
    _, _, session, answering, proposal = await at_the_subagent(
        tmp_path, says("Looked."), says("So.")
    )
    assert {number.name for number in proposal.numbers} >= {"prune.protect_tokens"}
    before = session.policy()

    await session.step_mode.session_of(proposal.id).use_policy("prune.protect_tokens=4321")
    changed = await until(
        lambda: [
            held
            for held in session.held
            if {n.name: n.value for n in held.numbers}["prune.protect_tokens"] == 4321
        ]
    )

    assert changed[0].id == proposal.id
    assert session.policy() == before
    assert (await finish(session, answering))[-1].numbers == tuple(
        number.model_copy(update={"value": before.prune.protect_tokens})
        if number.name == "prune.protect_tokens"
        else number
        for number in changed[0].numbers
    )


async def test_a_part_of_it_is_left_out_and_pinned(tmp_path: Path) -> None:
    _, model, session, answering, proposal = await at_the_subagent(
        tmp_path, READ, says("Looked."), says("So."), number=2
    )
    part = next(item.part_id for item in proposal.items if item.kind == "output")
    assert part is not None
    with pytest.raises(NotFound):
        session.edit_context("exclude", part)
    own = session.step_mode.session_of(proposal.id)

    own.edit_context("pin", part)
    await until(lambda: any(item.pinned for item in session.held[0].items))
    own.edit_context("unpin", part)
    own.edit_context("exclude", part)
    await until(lambda: part not in {item.part_id for item in session.held[0].items})

    await finish(session, answering)
    assert "the words of the file" not in str(model.requests[2].messages)


async def test_the_limit_is_that_of_the_session_above_and_stops_it(tmp_path: Path) -> None:
    _, model, session, answering, proposal = await at_the_subagent(
        tmp_path, READ, says("Looked."), number=2
    )
    assert proposal.limit_tokens is None
    session.control.set_budget(tokens=1)
    await until(lambda: session.held[0].limit_tokens == 1)
    sent = len(model.requests)

    session.step_mode.release(proposal.id)
    asked = (await until(lambda: session.snapshot().asks))[0]

    assert asked.permission == "budget"
    assert len(model.requests) == sent
    session.cancel("Stopped.")
    await answering
    assert session.held == ()
    assert len(model.requests) == sent


async def test_what_is_no_longer_held_is_not_changed(tmp_path: Path) -> None:
    _, _, session, answering, proposal = await at_the_subagent(
        tmp_path, says("Looked."), says("So.")
    )
    session.step_mode.release(proposal.id)

    with pytest.raises(UserError, match="held no longer, so nothing was changed"):
        session.step_mode.session_of(proposal.id)
    await finish(session, answering)


async def finish(session: LiveSession, answering: "asyncio.Task[Any]") -> list[ProposedRequest]:
    """Let everything go and return the proposals."""
    seen = await let_all_go(session, answering)
    assert (await answering).error is None
    return seen


async def test_a_request_two_levels_down_is_held_where_a_person_looks(tmp_path: Path) -> None:
    head = "---\nmode: subagent\ndescription: leads\npermission:\n  task: allow\n---\n"
    write(tmp_path / ".palimpsest/agents/lead.md", f"{head}Lead.")
    model = Cast(
        calls("task", **task("alpha", "lead")),
        says("So."),
        alpha=(calls("task", **task("beta")), says("Alpha.")),
        beta=(says("Beta."),),
    )
    harness = make_subagent_harness(tmp_path, model, rules=FREE)
    harness.services.sessions.child_sessions.depth = 2
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hand it on."))
    seen: list[str] = []
    while len(seen) < 3:
        proposal = (await until(lambda: [held for held in session.held if held.id not in seen]))[0]
        seen.append(proposal.id)
        if len(seen) < 3:
            session.step_mode.release(proposal.id)

    inner = session.step_mode.session_of(proposal.id)
    (middle,) = open_children(harness, session)
    assert proposal.subagent
    assert inner.id not in {session.id, middle.id}
    assert middle.held == ()
    session.control.set_budget(tokens=1)
    await until(lambda: session.held[0].limit_tokens == 1)
    await inner.use_policy("prune.protect_tokens=4321")
    await until(
        lambda: {n.name: n.value for n in session.held[0].numbers}["prune.protect_tokens"] == 4321
    )

    session.cancel("Stopped.")
    await asyncio.wait_for(answering, LAST_RESORT_SECONDS)
    assert session.held == ()
    assert model.helping["beta"].requests == []
