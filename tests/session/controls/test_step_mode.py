"""Step mode holds each request until a person lets it go, and nothing of it is in the log before."""

import asyncio
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import SUMMARY, assert_rebuilt
from tests.harness.session import SessionHarness, ask, requested, until
from tests.harness.subagent_session import make_subagent_harness
from tests.waiting import LAST_RESORT_SECONDS, request_ended

from palimpsest.model.script import calls, says
from palimpsest.render.reports.held_request import headline, held_request_text
from palimpsest.review.context_report.report_builder import build_context_report
from palimpsest.review.recorded_sessions.stored_review import stored_review
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import short_id
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
        await until(lambda: {held.id for held in session.held} - seen.keys() or answering.done())
        for held in session.held:
            seen.setdefault(held.id, held)
            session.step_mode.release(held.id)
    return list(seen.values())


def plain(records: Sequence[Record]) -> list[Any]:
    """Return records without ids and times: each id is replaced by its place among all ids."""
    names: dict[str, str] = {}

    def place(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"{found[0][:4]}{len(names)}")

    return [
        _timeless(json.loads(re.sub(ID, place, json.dumps(record.wire())))) for record in records
    ]


ID = re.compile(r"\b(?:ses|msg|prt|pmt|req|dec|per|call|que|evt|rec)_[A-Za-z0-9]+")
TIMES = {"time", "at", "now", "start", "end", "created", "updated", "completed", "seq", "sha256"}
DERIVED = {"blob", "policy_blob", "system", "tools", "cache_age_seconds", "request_id"}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in TIMES | DERIVED}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


async def test_a_held_turn_leaves_the_same_log_as_one_that_was_not_held(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    logs: list[list[Any]] = []
    for on in (False, True):
        model = ScriptedModel(calls("read", path="a.txt"), says("Two lines."))
        harness = SessionHarness(tmp_path, model, rules=FREE)
        session = await harness.session(f"{on}.ipynb")
        session.step_mode.switch(is_on=on)
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
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))

    proposal = await held(session)

    assert model.requests == []
    records = await harness.records(session)
    assert requested(records) == []
    assert not any(isinstance(record.event, DecisionMade) for record in records)
    assert (proposal.number, proposal.purpose, proposal.fits) == (1, "step", True)
    assert proposal.tokens == sum(proposal.kinds.values())
    assert [item.words for item in proposal.items if item.kind == "user"] == ["Hello."]
    session.step_mode.release(proposal.id)
    assert (await answering).text == "Here."
    assert requested(await harness.records(session))[0].request.tokens == proposal.tokens
    assert session.held == ()


async def test_a_proposal_the_report_and_the_inspector_list_one_request_alike(
    tmp_path: Path,
) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in metres.")
    (tmp_path / "a.csv").write_text(LONG)
    model = ScriptedModel(calls("read", path="a.csv"), says("Read."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Look."))
    session.step_mode.release((await held(session)).id)
    await until(lambda: bool(session.held) and session.held[0].number == 2)
    proposal = session.held[0]

    report = build_context_report(session.basis(), lambda only: session.records_after(0, only))

    assert [_told(item) for item in proposal.items] == [_told(item) for item in report.items]
    assert {item.kind for item in proposal.items if not item.new} >= {
        "system",
        "tools",
        "instructions",
    }
    assert [item.name for item in proposal.items if item.new] == ["read call", "read"]
    session.step_mode.release(proposal.id)
    await answering
    await harness.records(session)
    review = stored_review(harness.store, session.id, lambda _model: None)
    shown = [
        block for block in review.request(2).blocks if block.kind in ("call", "output", "user")
    ]
    assert [(block.name, block.words) for block in shown] == [
        ("", "Look."),
        *[("read", "a.csv")] * 2,
    ]
    assert {type(item) for item in (*shown, *report.items, *proposal.items)} == {RequestItem}


def _told(item: RequestItem) -> tuple[object, ...]:
    return item.kind, item.name, item.words, item.message_id, item.part_id, item.state, item.pinned


async def test_a_number_and_an_exclusion_make_a_new_proposal(tmp_path: Path) -> None:
    model = ScriptedModel(says(LONG), says("Over."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    first = await ask(session, "Tell me.")
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Go on."))
    before = await held(session)

    await session.use_policy("prune.protect_tokens=12345")
    await until(
        lambda: (
            {number.name: number.value for number in session.held[0].numbers}.get(
                "prune.protect_tokens"
            )
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


@pytest.mark.parametrize(
    ("model_id", "lifetime"),
    [
        ("anthropic/claude-sonnet-4-5", (300, 300)),
        ("openai/gpt-5.1", (300, 600)),
        ("scripted/model", None),
    ],
)
async def test_the_cost_says_what_the_cache_holds_and_when_the_provider_drops_it(
    tmp_path: Path, model_id: str, lifetime: tuple[int, int] | None
) -> None:
    model = ScriptedModel(says(LONG), says("Over."))
    harness = SessionHarness(tmp_path, model, info=PRICED)
    session = await harness.session()
    await ask(session, LONG * 3, model=model_id)
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Go on.", model=model_id))

    proposal = await held(session)

    sent = requested(await harness.records(session))[0].request
    known = (proposal.cache.cools_at, proposal.cache.cold_at)
    if lifetime is None:
        assert known == (None, None)
        assert "read from cache, whose lifetime is not known" in headline(proposal)
    else:
        assert known == tuple(sent.facts.now + seconds * 1000 for seconds in lifetime)
        assert "read from cache, which cools in 5:00" in headline(proposal)
        assert ("5:00 to 10:00" in headline(proposal)) == (lifetime == (300, 600))
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
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    await held(session)

    began = time.thread_time()
    session.cancel("Stopped.")
    answer = await answering

    assert time.thread_time() - began < 0.5
    assert answer.error is not None
    assert answer.error.type == "aborted"
    assert model.requests == []
    assert session.held == ()


async def test_the_spending_limit_is_checked_when_the_request_is_let_go(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    harness = SessionHarness(tmp_path, model, info=PRICED)
    session = await harness.session()
    await ask(session, "Hello.")
    session.step_mode.switch(is_on=True)
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
    session.step_mode.switch(is_on=True)
    compacting = asyncio.ensure_future(session.compact())

    proposal = await held(session)

    assert proposal.purpose == "compaction"
    assert [decision.action for decision in proposal.decisions] == ["summarise"]
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
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hand it on."))

    proposals = await let_all_go(session, answering)

    assert [(proposal.subagent, proposal.number) for proposal in proposals] == [
        (False, 1),
        (True, 1),
        (False, 2),
    ]
    assert proposals[1].agent == "explore"
    assert (await answering).text == "It looked."


async def test_a_title_waits_for_the_request_beside_it(tmp_path: Path) -> None:
    model = ScriptedModel(says("A title"), says("A title"))
    harness = SessionHarness(tmp_path, model, titles=True)
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))

    await until(lambda: session.held and session.held[0].beside)

    assert model.requests == []
    session.step_mode.release(session.held[0].id)
    await answering
    await request_ended(session.title_writer)
    assert len(model.requests) == 2


async def test_switching_off_lets_go_what_is_held(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Here.")))
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    await held(session)

    session.step_mode.switch(is_on=False)

    assert (await answering).text == "Here."


async def test_switched_off_and_on_at_once_it_still_lets_go_what_was_held(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Here."), says("There.")))
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    await held(session)

    session.step_mode.switch(is_on=False)
    session.step_mode.switch(is_on=True)

    assert (await answering).text == "Here."
    again = asyncio.ensure_future(ask(session, "And now?"))
    session.step_mode.release((await held(session)).id)
    assert (await again).text == "There."


async def test_a_prompt_that_joins_the_turn_is_shown_before_it_is_sent(tmp_path: Path) -> None:
    model = ScriptedModel(says("Both."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    first = await held(session)
    joining = asyncio.ensure_future(ask(session, "In French.", delivery="steer"))

    later = await until(lambda: [held for held in session.held if held.version > first.version])

    assert later[0].id == first.id
    assert any(
        item.message_id not in {item.message_id for item in first.items} for item in later[0].items
    )
    session.step_mode.release(first.id)
    assert (await answering).text == (await joining).text == "Both."
    assert len(model.requests) == 1
    assert "In French." in str(model.requests[0].messages)
    sent = requested(await harness.records(session))[0].request
    assert sent.sha256 == later[0].sha256


async def test_the_newest_prompt_is_not_said_to_be_left_out_while_it_is_answered(
    tmp_path: Path,
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Here.")))
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    asked = await held(session)
    [part] = [item.part_id for item in asked.items if item.kind == "user"]

    edited = session.edit_context("exclude", part or "")

    assert "until then it is what is answered" in edited.sentence
    session.step_mode.release(asked.id)
    assert (await answering).text == "Here."


async def test_two_subagents_requests_are_held_and_let_go_one_by_one(tmp_path: Path) -> None:
    tasks = calls("task", description="Look", prompt="Look here.", agent="explore").calls(
        "task", description="Look again", prompt="Look there.", agent="explore"
    )
    model = ScriptedModel(tasks, says("I looked."), says("I looked."), says("Both looked."))
    harness = make_subagent_harness(tmp_path, model, rules=FREE)
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hand it on."))
    session.step_mode.release((await held(session)).id)
    first, second = await until(lambda: session.held if len(session.held) == 2 else None)
    assert first.session_id != second.session_id

    session.step_mode.release(second.id)
    await until(lambda: len(model.requests) == 2)

    assert [held.id for held in session.held] == [first.id]
    session.step_mode.release(first.id)
    await until(lambda: session.held and session.held[0].id != first.id)
    assert len(await let_all_go(session, answering)) == 1
    assert (await answering).text == "Both looked."


async def test_a_revert_or_a_compaction_during_a_hold_is_refused_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("One."), says("Two.")))
    session = await harness.session()
    await ask(session, "Hello.")
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "And now?"))
    asked = await held(session)

    with pytest.raises(UserError, match="wait for its answer, or stop it"):
        await session.reverts.revert(session.snapshot().messages[0].id)
    with pytest.raises(UserError, match="wait for its answer, or stop it"):
        await session.compact()

    assert session.held == (asked,)
    session.step_mode.release(asked.id)
    assert (await answering).text == "Two."


async def test_the_kernels_end_during_a_hold_keeps_the_prompt_and_step_mode(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Never.")))
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    one = await held(session)
    await session.close()

    assert (await answering).error is not None
    assert not session.step_mode.release(one.id)
    later = SessionHarness(
        tmp_path,
        ScriptedModel(says("Here.")),
        store=harness.store,
        effective_rules=harness.services.rules.effective_rules,
    )
    again = await later.workspace.open(session.id)
    assert isinstance(again, LiveSession)
    assert again.stepping
    assert again.held == ()
    answering = asyncio.ensure_future(ask(again, "Go on."))
    proposal = await held(again)
    assert [item.words for item in proposal.items if item.kind == "user"] == ["Hello.", "Go on."]
    again.step_mode.release(proposal.id)
    assert (await answering).text == "Here."


async def test_the_first_answer_counts_and_nobody_is_told_once(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("One."), says("Two.")))
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    told: list[str] = []
    for words in ("Hello.", "Again."):
        answering = asyncio.ensure_future(ask(session, words))
        proposal = await held(session)
        told.append(session.step_mode.release_unattended(proposal.id))
        assert not session.step_mode.release(proposal.id)
        await answering

    assert "nobody is here" in told[0]
    assert told[1] == ""


async def test_step_mode_is_a_sessions_own_and_goes_on_when_it_is_opened_again(
    tmp_path: Path,
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel())
    first, other = await harness.session("a.ipynb"), await harness.session("b.ipynb")
    first.step_mode.switch(is_on=True)

    assert first.stepping
    assert not other.stepping
    await first.close()
    later = SessionHarness(
        tmp_path,
        ScriptedModel(),
        store=harness.store,
        effective_rules=harness.services.rules.effective_rules,
    )
    again = await later.workspace.open(first.id)
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


async def test_a_new_summary_is_graded_on_the_card_and_can_be_refused_there(tmp_path: Path) -> None:
    model = ScriptedModel(
        says(f"It is in rows.csv. {LONG}"), says(LONG), says(SUMMARY), says("Yes.")
    )
    harness = SessionHarness(tmp_path, model, info=PRICED)
    session = await harness.session()
    await ask(session, "Where is it?")
    await ask(session, "Say more.")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Sure?"))
    proposal = await held(session)

    report = proposal.new_summary
    assert report is not None
    assert report.numbers["retention"]["paths"] == {
        "found": 1, "lost": 1, "names": ["rows.csv"], "likely": 1,
    }  # fmt: skip
    words = held_request_text(proposal)
    assert "It would be the first to use a new summary:" in words
    assert "not kept: rows.csv" in words
    assert f"restore {short_id(report.message_id or '')} keeps the older context" in words

    session.edit_context("restore", report.message_id or "")
    older = await until(lambda: [held for held in session.held if held.version > proposal.version])
    assert older[0].new_summary is None
    assert older[0].tokens > proposal.tokens + 500
    session.step_mode.release(older[0].id)
    await answering

    sent = json.dumps([*model.requests[-1].messages])
    assert "rows.csv" in sent
    assert "## Goal" not in sent
    await assert_rebuilt(harness, session, model)
