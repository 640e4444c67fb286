"""A stopped turn and the prompts withdrawn with it have a reason in the transcript."""

import asyncio
from pathlib import Path

from tests.harness.session import SessionHarness, ask, until

from palimpsest.model.script import calls, says
from palimpsest.render.content.outline import outline_message
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.session_record.events import PromptDelivered
from palimpsest.transcript.user_notices import user_notice_text


def ends(session: LiveSession) -> list[tuple[str, str | None, str]]:
    """Return of each message the role, what stopped the turn, and the error's message."""
    states = []
    for message in session.snapshot().messages:
        info = message.info
        error = info.error if isinstance(info, AssistantMessage) else None
        stop = info.stopped_by if isinstance(info, AssistantMessage) else None
        states.append((info.role, stop, error.message if error is not None else ""))
    return states


def notices(message: Message) -> list[str]:
    return [words for part in message.parts if (words := user_notice_text(part)) is not None]


def scripted(tmp_path: Path, *answers: object) -> SessionHarness:
    model = ScriptedModel(says("One.").reports(input=3_000), *answers)  # type: ignore[arg-type]
    return SessionHarness(tmp_path, model)


async def at_its_limit(harness: SessionHarness) -> LiveSession:
    """Return a session whose next request exceeds the spending limit and asks."""
    session = await harness.session()
    await asyncio.to_thread(session.control.set_budget, tokens=2_500)
    await ask(session, "first")
    return session


async def test_a_prompt_stopped_at_the_spending_limit_has_an_answer_and_a_reason(
    tmp_path: Path,
) -> None:
    session = await at_its_limit(scripted(tmp_path, says("Two.")))
    second = asyncio.create_task(ask(session, "second"))
    await until(lambda: session.snapshot().asks)

    session.cancel("Stopped.")
    answer = await second

    assert (answer.stopped_by, answer.error and answer.error.message) == ("cancelled", "Stopped.")
    assert ends(session)[-2:] == [("user", None, ""), ("assistant", "cancelled", "Stopped.")]
    assert answer.messages == session.snapshot().messages[-1:]


async def test_the_queue_that_goes_with_a_stop_is_named(tmp_path: Path) -> None:
    harness = scripted(tmp_path, says("Two."))
    session = await at_its_limit(harness)
    turns = [asyncio.create_task(ask(session, "second"))]
    await until(lambda: session.snapshot().asks)
    long = "word " * 20
    turns += [asyncio.create_task(ask(session, words)) for words in ("third", long)]
    await until(lambda: len(session.snapshot().inbox) == 2)

    session.cancel("Stopped.")
    answers = await asyncio.gather(*turns)

    assert [answer.stopped_by for answer in answers] == ["cancelled", "withdrawn", "withdrawn"]
    records = await harness.records(session)
    delivered = [record.event for record in records if isinstance(record.event, PromptDelivered)]
    assert [delivery.stopped for delivery in delivered] == [None, None, True, True]
    (words,) = notices(session.snapshot().messages[-1])
    assert words == (
        "2 prompts that waited were withdrawn with this stop, and were not sent: "
        "“third”, “word word word word word word word word …”."
    )
    assert words in [
        getattr(item, "sentence", "") for item in outline_message(session.snapshot().messages[-1])
    ]


async def test_a_stop_between_two_requests_is_said(tmp_path: Path) -> None:
    model = ScriptedModel(calls("list").reports(input=3_000), says("Two."))
    session = await SessionHarness(tmp_path, model).session()
    await asyncio.to_thread(session.control.set_budget, tokens=2_500)
    turn = asyncio.create_task(ask(session, "first"))
    await until(lambda: session.snapshot().asks)

    session.cancel("Stopped.")
    answer = await turn

    assert answer.stopped_by == "cancelled"
    assert [end[1:] for end in ends(session) if end[0] == "assistant"] == [
        (None, ""),
        ("cancelled", "Stopped."),
    ]
    assert len(model.requests) == 1


async def test_what_was_stopped_goes_on_with_the_next_prompt(tmp_path: Path) -> None:
    session = await at_its_limit(scripted(tmp_path, says("Three.")))
    turn = asyncio.create_task(ask(session, "second"))
    await until(lambda: session.snapshot().asks)
    session.cancel("Stopped.")
    await turn
    await asyncio.to_thread(session.control.set_budget, tokens=100_000)

    assert (await ask(session, "third")).text == "Three."
    assert session.control.budget.tokens == 100_000
