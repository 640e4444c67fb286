"""Step mode holds each request until a person lets it go, and nothing of it is in the log before."""

import asyncio
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.session import SessionHarness, ask, requested, until
from tests.harness.subagent_session import make_subagent_harness

from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.session_record.events import DecisionMade, Record
from palimpsest.transcript.values import ModelInfo, ModelRef, Price, Rule

LONG = "It is a long answer that says a good deal about what was found in the files. " * 40
FREE: Rules = (Rule(permission="*", action="allow"),)
PRICED = ModelInfo(
    ref=ModelRef(provider="scripted", name="model"),
    window=100_000,
    output_limit=4_000,
    caching=True,
    price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
)


async def held(session: LiveSession) -> ProposedRequest:
    """Wait until a request is held, and return it."""
    found = await until(lambda: session.held)
    return found[0]


async def let_all_go(session: LiveSession, answering: "asyncio.Task[Any]") -> list[ProposedRequest]:
    """Let every request go until the turn has ended; return the first proposal of each."""
    seen: dict[str, ProposedRequest] = {}
    while not answering.done():
        await until(lambda: {one.id for one in session.held} - seen.keys() or answering.done())
        for one in session.held:
            seen.setdefault(one.id, one)
            session.step_mode.release(one.id)
    return list(seen.values())


def plain(records: Sequence[Record]) -> list[Any]:
    """Return records without ids and times: each id is replaced by its place among all ids."""
    names: dict[str, str] = {}

    def place(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"{found[0][:4]}{len(names)}")

    return [_timeless(json.loads(re.sub(ID, place, json.dumps(one.wire())))) for one in records]


ID = re.compile(r"\b(?:ses|msg|prt|pmt|req|dec|per|call|que|evt|rec)_[A-Za-z0-9]+")
TIMES = {"time", "at", "now", "start", "end", "created", "updated", "completed", "seq", "sha256"}
DERIVED = {"blob", "policy_blob", "system", "tools", "cache_age_seconds", "request_id"}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in TIMES | DERIVED}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


async def test_a_held_turn_leaves_the_same_log_as_one_that_was_not_held(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    logs: list[list[Any]] = []
    for on in (False, True):
        model = ScriptedModel(calls("read", path="a.txt"), says("Two lines."))
        harness = SessionHarness(tmp_path, model, rules=FREE)
        session = await harness.session(f"{on}.ipynb")
        session.step_mode.switch(on=on)
        answering = asyncio.ensure_future(ask(session, "How many lines?"))
        if on:
            assert len(await let_all_go(session, answering)) == 2
        await answering
        logs.append(plain(await harness.records(session)))

    first, second = logs
    assert json.dumps(first).replace("False.ipynb", "True.ipynb") == json.dumps(second)


async def test_nothing_is_decided_or_sent_while_a_request_is_held(tmp_path: Path) -> None:
    model = ScriptedModel(says("Here."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))

    proposal = await held(session)

    assert model.requests == []
    records = await harness.records(session)
    assert requested(records) == []
    assert not any(isinstance(one.event, DecisionMade) for one in records)
    assert (proposal.number, proposal.purpose, proposal.fits) == (1, "step", True)
    assert proposal.tokens == sum(proposal.kinds.values())
    assert [item.label for item in proposal.items if item.kind == "user"] == ["Hello."]
    session.step_mode.release(proposal.id)
    assert (await answering).text == "Here."
    assert requested(await harness.records(session))[0].request.tokens == proposal.tokens
    assert session.held == ()


async def test_a_number_and_an_exclusion_make_a_new_proposal(tmp_path: Path) -> None:
    model = ScriptedModel(says(LONG), says("Over."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    first = await ask(session, "Tell me.")
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Go on."))
    before = await held(session)

    await session.use_policy("prune.protect_tokens=12345")
    await until(
        lambda: (
            {one.name: one.value for one in session.held[0].numbers}.get("prune.protect_tokens")
            == 12345
        )
    )
    session.edit_context("exclude", first.messages[-1].id)
    await until(lambda: session.held[0].tokens < before.tokens - 500)

    assert session.held[0].id == before.id
    assert session.held[0].version > before.version
    assert session.step_mode.release(before.id)
    await answering
    assert LONG.strip() not in str(model.requests[-1].messages)


async def test_the_cost_says_what_the_cache_holds_and_when_it_cools(tmp_path: Path) -> None:
    model = ScriptedModel(says(LONG), says("Over."))
    harness = SessionHarness(tmp_path, model, info=PRICED)
    session = await harness.session()
    (tmp_path / "b.txt").write_text("x")
    await ask(session, LONG * 3)
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Go on."))

    proposal = await held(session)

    sent = requested(await harness.records(session))[0].request
    assert proposal.cache.cools_at == sent.facts.now + 300_000
    assert 1_024 < proposal.cache.tokens < proposal.tokens
    assert proposal.cost is not None
    assert proposal.cost_cold is not None
    assert proposal.cost < proposal.cost_cold
    assert proposal.tokens_before is not None
    assert proposal.cache.tokens <= proposal.tokens_before < proposal.tokens
    session.step_mode.release(proposal.id)
    await answering


async def test_a_stop_ends_a_held_turn_at_once_and_nothing_was_sent(tmp_path: Path) -> None:
    model = ScriptedModel(says("Never."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    await held(session)

    began = time.monotonic()
    session.cancel("Stopped.")
    answer = await answering

    assert time.monotonic() - began < 0.15
    assert answer.error is not None
    assert answer.error.type == "aborted"
    assert model.requests == []
    assert session.held == ()


async def test_the_spending_limit_is_checked_when_the_request_is_let_go(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    harness = SessionHarness(tmp_path, model, info=PRICED)
    session = await harness.session()
    await ask(session, "Hello.")
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "More."))
    proposal = await held(session)
    session.control.set_budget(tokens=1)

    session.step_mode.release(proposal.id)

    asked = (await until(lambda: session.snapshot().asks))[0]
    assert asked.permission == "budget"
    assert len(model.requests) == 1
    session.cancel("Stopped.")
    await answering


async def test_a_summary_is_held_too(tmp_path: Path) -> None:
    model = ScriptedModel(says(LONG * 5), says(LONG * 5), says(LONG * 5), says(SUMMARY))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    for words in ("One.", "Two.", "Three."):
        await ask(session, words)
    session.step_mode.switch(on=True)
    compacting = asyncio.ensure_future(session.compact())

    proposal = await held(session)

    assert proposal.purpose == "compaction"
    assert [one.action for one in proposal.decisions] == ["summarise"]
    assert len(model.requests) == 3
    session.step_mode.release(proposal.id)
    await compacting
    assert len(model.requests) == 4
    assert session.held == ()


async def test_a_subagents_request_is_held_by_the_session_that_handed_the_task_on(
    tmp_path: Path,
) -> None:
    task = calls("task", description="Look", prompt="Look around.", agent="explore")
    model = ScriptedModel(task, says("I looked."), says("It looked."))
    harness = make_subagent_harness(tmp_path, model, rules=FREE)
    session = await harness.session()
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Hand it on."))

    proposals = await let_all_go(session, answering)

    assert [(one.subagent, one.number) for one in proposals] == [(False, 1), (True, 1), (False, 2)]
    assert proposals[1].agent == "explore"
    assert (await answering).text == "It looked."


async def test_a_title_waits_for_the_request_beside_it(tmp_path: Path) -> None:
    model = ScriptedModel(says("A title"), says("A title"))
    harness = SessionHarness(tmp_path, model, titles=True)
    session = await harness.session()
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))

    await until(lambda: session.held and session.held[0].beside)

    assert model.requests == []
    session.step_mode.release(session.held[0].id)
    await answering
    await session.title_writer.wait()
    assert len(model.requests) == 2


async def test_switching_off_lets_go_what_is_held(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Here.")))
    session = await harness.session()
    session.step_mode.switch(on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    await held(session)

    session.step_mode.switch(on=False)

    assert (await answering).text == "Here."


async def test_the_first_answer_counts_and_nobody_is_told_once(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("One."), says("Two.")))
    session = await harness.session()
    session.step_mode.switch(on=True)
    told: list[str] = []
    for words in ("Hello.", "Again."):
        answering = asyncio.ensure_future(ask(session, words))
        proposal = await held(session)
        told.append(session.step_mode.nobody(proposal.id))
        assert not session.step_mode.release(proposal.id)
        await answering

    assert "nobody is here" in told[0]
    assert told[1] == ""


async def test_step_mode_is_a_sessions_own_and_goes_on_when_it_is_opened_again(
    tmp_path: Path,
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel())
    one, other = await harness.session("a.ipynb"), await harness.session("b.ipynb")
    one.step_mode.switch(on=True)

    assert one.stepping
    assert not other.stepping
    await one.close()
    later = SessionHarness(
        tmp_path,
        ScriptedModel(),
        store=harness.store,
        effective_rules=harness.services.effective_rules,
    )
    again = await later.workspace.open(one.id)
    assert isinstance(again, LiveSession)
    assert again.stepping


@pytest.mark.parametrize("line", ["Send everything.", ""])
async def test_a_project_cannot_switch_it_on(tmp_path: Path, line: str) -> None:
    folder = tmp_path / ".palimpsest"
    folder.mkdir()
    (folder / "config.toml").write_text("step = true\n" + line)
    harness = SessionHarness(tmp_path, ScriptedModel(says("Here.")))
    session = await harness.session()

    assert not session.stepping
    assert (await ask(session, "Hello.")).text == "Here."
