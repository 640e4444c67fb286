"""The runner answers every prompt once, in the run that took it."""

import asyncio
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, until

from palimpsest.model.script import calls, says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import AbortedError, SessionBusy, UnknownError, UserError
from palimpsest.transcript.messages import MessageTime, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    PartUpdated,
    PromptAdmitted,
    SessionStatus,
)
from palimpsest.transcript.values import ModelRef


async def test_who_joins_gets_the_final_answer_of_the_run(tmp_path: Path) -> None:
    model = ScriptedModel(says("One.").pauses(0.1), says("Two."))
    session = await SessionHarness(tmp_path, model).session()
    first = asyncio.create_task(ask(session, "first"))
    await until(lambda: model.requests)
    second = asyncio.create_task(ask(session, "second"))
    joined = await asyncio.gather(session.loop(), session.loop())

    assert [answer.text for answer in joined] == ["Two.", "Two."]
    assert joined[0].turn_id == (await second).turn_id
    assert (await first).text == "One."
    assert len(model.requests) == 2


async def test_joining_where_nothing_is_left_asks_no_model(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."))
    session = await SessionHarness(tmp_path, model).session()
    answer = await ask(session, "first")

    again = await session.loop()

    assert (again.text, again.turn_id, again.error) == ("One.", answer.turn_id, None)
    assert len(model.requests) == 1


async def test_joining_a_session_without_a_word_is_refused(tmp_path: Path) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel()).session()

    with pytest.raises(UserError, match="Nothing was said"):
        await session.loop()


async def test_a_message_that_a_killed_kernel_left_is_answered(tmp_path: Path) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(says("Here."))).session()
    info = UserMessage(
        id="msg_left",
        session_id=session.id,
        time=MessageTime(created=1),
        agent="build",
        model=ModelRef(provider="scripted", name="model"),
    )
    part = TextPart(id="prt_left", session_id=session.id, message_id="msg_left", text="Hello?")
    session.log.append(MessageUpdated(info=info), PartUpdated(part=part))

    answer = await session.loop()

    assert (answer.text, answer.turn_id) == ("Here.", "msg_left")


async def test_a_stop_answers_who_waits_and_who_joined(tmp_path: Path) -> None:
    model = ScriptedModel(says("Wait ").stalls())
    session = await SessionHarness(tmp_path, model).session()
    running = asyncio.create_task(ask(session, "first"))
    await until(lambda: model.requests)
    waiting = asyncio.create_task(ask(session, "second"))
    steering = asyncio.create_task(ask(session, "third", delivery="steer"))
    joined = asyncio.create_task(session.loop())
    await until(lambda: len(session.snapshot().inbox) == 2)

    assert session.cancel()
    answers = await asyncio.gather(running, waiting, steering, joined)

    assert [type(answer.error) for answer in answers] == [AbortedError] * 4
    assert [answer.text for answer in answers] == ["Wait ", "", "", "Wait "]
    assert session.snapshot().inbox == ()
    assert session.snapshot().status.type == "idle"


async def test_a_repeated_prompt_is_answered_once_also_after_its_turn(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Another."))
    session = await SessionHarness(tmp_path, model).session()

    first = await ask(session, "first", prompt_id="pmt_same")
    again = await ask(session, "first", prompt_id="pmt_same")

    assert again == first
    assert len(model.requests) == 1


async def test_what_needs_an_idle_session_says_that_it_is_busy(tmp_path: Path) -> None:
    model = ScriptedModel(says("Wait ").stalls())
    session = await SessionHarness(tmp_path, model).session()
    running = asyncio.create_task(ask(session, "first"))
    await until(lambda: model.requests)

    with pytest.raises(SessionBusy, match="works already"):
        session.runner.check_idle()
    session.cancel()
    await running
    await session.runner.wait_idle()
    session.runner.check_idle()


async def test_the_status_tells_busy_and_idle_once_for_a_run(tmp_path: Path) -> None:
    model = ScriptedModel(calls("list"), says("One."), says("Two."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await asyncio.gather(ask(session, "first"), ask(session, "second"))

    told = [
        record.event.status.type
        for record in await harness.records(session)
        if isinstance(record.event, SessionStatus)
    ]
    assert told == ["busy", "idle"]


async def test_a_prompt_whose_agent_is_gone_ends_and_the_next_one_runs(tmp_path: Path) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(says("Here."))).session()
    left = PromptAdmitted(
        prompt_id="pmt_left",
        text="Hello?",
        delivery="queue",
        origin=PromptOptions().origin,
        options={"agent": "gone"},
    )
    session.log.append(left)

    answer = await ask(session, "And now?")

    assert answer.text == "Here."
    assert session.snapshot().inbox == ()


async def test_a_defect_of_ours_answers_the_prompt_and_does_not_run_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(says("Here."))).session()

    def broken(_run: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(session.runner, "_run_context", broken)
    answer = await ask(session, "Hello?")

    assert isinstance(answer.error, UnknownError)
    assert "a defect" in answer.error.message
    assert session.snapshot().inbox == ()
