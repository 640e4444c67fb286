"""A failed turn is retried: the same prompt, sent once, and no tool call repeated."""

import asyncio
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, requested, until

from palimpsest.model.script import ModelAnswer, calls, fails, says, thinks
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import ApiError, UserError
from palimpsest.transcript.messages import AssistantMessage, UserMessage


def broken() -> ModelAnswer:
    return fails(400, "The request makes no sense.")


async def test_the_prompt_is_answered_without_being_said_again(tmp_path: Path) -> None:
    model = ScriptedModel(broken(), says("Here."))
    session = await SessionHarness(tmp_path, model).session()
    failed = await ask(session, "Hello?")
    assert isinstance(failed.error, ApiError)

    answer = await session.retry()

    assert (answer.text, answer.error, answer.turn_id) == ("Here.", None, failed.turn_id)
    assert model.requests[0].messages == model.requests[1].messages
    infos = [message.info for message in session.snapshot().messages]
    assert [info.role for info in infos] == ["user", "assistant", "assistant"]
    errors = [info.error for info in infos if isinstance(info, AssistantMessage)]
    assert errors == [failed.error, None]


async def test_what_its_tools_did_before_is_kept_and_not_done_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    model = ScriptedModel(calls("read", path="a.txt"), broken(), says("One line."))
    session = await SessionHarness(tmp_path, model).session()
    await ask(session, "How many lines?")

    answer = await session.retry()

    assert answer.text == "One line."
    roles = [message["role"] for message in model.requests[2].messages]
    assert roles == ["system", "user", "assistant", "tool"]


async def test_it_may_fail_again_and_be_tried_again(tmp_path: Path) -> None:
    model = ScriptedModel(broken(), broken(), says("At last."))
    session = await SessionHarness(tmp_path, model).session()
    await ask(session, "Hello?")

    assert (await session.retry()).error is not None
    assert (await session.retry()).text == "At last."


async def test_an_empty_answer_is_an_error_the_second_time_too(tmp_path: Path) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(says(""), says(""))).session()
    await ask(session, "Hello?")

    again = await session.retry()

    assert again.error is not None
    assert "without a word" in again.error.message


@pytest.mark.parametrize("prompts", [0, 1])
async def test_a_turn_that_did_not_fail_is_not_tried_again(tmp_path: Path, prompts: int) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(says("Fine."))).session()
    for _ in range(prompts):
        await ask(session, "Hello?")
    before = session.snapshot().seq

    with pytest.raises(UserError, match="nothing to try again"):
        await session.retry()
    assert session.snapshot().seq == before


async def test_a_turn_that_runs_or_was_stopped_is_not_tried_again(tmp_path: Path) -> None:
    model = ScriptedModel(says("Wait ").stalls())
    session = await SessionHarness(tmp_path, model).session()
    turn = asyncio.create_task(ask(session, "Hello?"))
    await until(lambda: bool(model.requests))
    with pytest.raises(UserError, match="works already"):
        await session.retry()
    session.cancel()
    await turn
    await session.runner.wait_idle()

    with pytest.raises(UserError, match="was stopped"):
        await session.retry()


async def test_words_said_into_a_turn_are_told_from_words_that_begin_one(tmp_path: Path) -> None:
    model = ScriptedModel(calls("bash", command="sleep 0.3"), says("Both."), says("Third."))
    session = await SessionHarness(tmp_path, model).session()
    first = asyncio.create_task(ask(session, "first", yes=True))
    await until(lambda: len(session.snapshot().messages) == 2)
    await asyncio.gather(first, ask(session, "and this", delivery="steer"))
    await ask(session, "third")

    infos = [m.info for m in session.snapshot().messages]
    assert [info.joins for info in infos if isinstance(info, UserMessage)] == [None, True, None]


async def test_what_was_answered_is_remembered_by_the_call(tmp_path: Path) -> None:
    model = ScriptedModel(calls("bash", command="true"), says("Done."))
    session = await SessionHarness(tmp_path, model).session()
    await ask(session, "Do it.", yes=True)

    (reply,) = session.snapshot().replies.values()
    assert (reply.answer, reply.by) == ("once", "--yes")


async def test_a_request_says_what_it_is_full_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n" * 500)
    model = ScriptedModel(thinks("Hm, hm. ").calls("read", path="a.txt"), says("Done."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "How many lines?")

    first, second = (event.request for event in requested(await harness.records(session)))
    assert set(first.kinds) == {"system", "tools", "user"}
    assert set(second.kinds) - set(first.kinds) >= {"assistant", "output"}
    assert second.kinds["output"] > 1_000
    for request in (first, second):
        assert sum(request.kinds.values()) == request.tokens
