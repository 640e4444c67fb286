"""A question of the model waits for the user, is answered once, and the todo list is kept."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, until

from palimpsest.model.script import calls, says
from palimpsest.render.content.phrases import step_text
from palimpsest.session.controls.user_questions import DECLINED_SENTENCE, HEADLESS_SENTENCE
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.session_state.state import apply_records
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import StepFinishPart, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import (
    QuestionRejected,
    QuestionReplied,
    TodoUpdated,
)
from palimpsest.transcript.values import Reply, Todo

ASKED: list[dict[str, Any]] = [
    {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]},
    {"question": "How many?"},
]


def result(model: ScriptedModel) -> str:
    """Return the newest message that the model received."""
    return json.dumps(model.requests[-1].messages[-1])


async def waiting(session: LiveSession) -> str:
    await until(lambda: session.snapshot().questions)
    [asked] = session.snapshot().questions
    return asked.question_id


async def test_the_answer_goes_back_to_the_model(tmp_path: Path) -> None:
    model = ScriptedModel(calls("question", questions=ASKED), says("Two red ones."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    turn = asyncio.create_task(ask(session, "Paint."))

    asked = await waiting(session)
    assert session.answer(asked, [["red"], [" 2 "]])

    assert (await turn).text == "Two red ones."
    assert "Which colour?\\n-> red\\n\\nHow many?\\n-> 2" in result(model)
    records = await harness.records(session)
    replied = [record.event for record in records if isinstance(record.event, QuestionReplied)]
    assert [reply.answers for reply in replied] == [(("red",), ("2",))]
    assert not apply_records(records).questions


async def test_the_time_of_an_answer_is_told_apart_from_tool_and_step(tmp_path: Path) -> None:
    model = ScriptedModel(
        calls("question", questions=ASKED), calls("write", path="a.txt", content="a"), says("Done.")
    )
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    turn = asyncio.create_task(ask(session, "Paint."))

    asked = await waiting(session)
    harness.clock.now += 72_000
    session.answer(asked, [["red"], ["2"]])
    await until(lambda: session.snapshot().asks)
    harness.clock.now += 30_000
    session.reply(session.snapshot().asks[0].id, Reply(answer="once"))

    parts = [part for message in (await turn).messages for part in message.parts]
    states = [part.state for part in parts if isinstance(part, ToolPart)]
    told = [state.metadata["waited_ms"] for state in states if isinstance(state, ToolCompleted)]
    steps = [part for part in parts if isinstance(part, StepFinishPart)]
    assert [ms // 1_000 for ms in told] == [72, 30]
    assert [step.waited_seconds and round(step.waited_seconds) for step in steps] == [72, 30, None]
    assert all(step.seconds is not None and step.seconds < 5 for step in steps)
    assert "1 min 12 s for your answers" in step_text(steps[0], 1)


async def test_the_first_answer_wins(tmp_path: Path) -> None:
    model = ScriptedModel(calls("question", questions=ASKED), says("Fine."))
    session = await SessionHarness(tmp_path, model).session()
    turn = asyncio.create_task(ask(session, "Paint."))
    asked = await waiting(session)

    firsts = await asyncio.gather(
        *(asyncio.to_thread(session.answer, asked, [["red"]]) for _ in range(20)),
        *(asyncio.to_thread(session.answer, asked, None) for _ in range(20)),
    )

    await turn
    assert firsts.count(True) == 1
    assert not session.answer(asked, [["blue"]])


@pytest.mark.parametrize("given", [[["a"], ["b"], ["c"]], ["red"], "red", [[1]]])
async def test_an_answer_that_does_not_fit_is_refused_and_may_come_again(
    tmp_path: Path, given: Any
) -> None:
    model = ScriptedModel(calls("question", questions=ASKED), says("Fine."))
    session = await SessionHarness(tmp_path, model).session()
    turn = asyncio.create_task(ask(session, "Paint."))
    asked = await waiting(session)

    with pytest.raises(UserError):
        session.answer(asked, given)

    assert session.answer(asked, [["red"]])
    await turn
    assert "How many?\\n-> (no answer)" in result(model)


@pytest.mark.parametrize(
    ("by", "words"), [("person", DECLINED_SENTENCE), ("headless", HEADLESS_SENTENCE)]
)
async def test_the_model_goes_on_without_an_answer(tmp_path: Path, by: str, words: str) -> None:
    model = ScriptedModel(calls("question", questions=ASKED), says("Then red."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    turn = asyncio.create_task(ask(session, "Paint.", yes=True))

    asked = await waiting(session)
    declined = session.answer(asked, None) if by == "person" else session.nobody_answers(asked)

    assert declined
    assert (await turn).text == "Then red."
    assert words in result(model)
    rejected = [
        record.event
        for record in await harness.records(session)
        if isinstance(record.event, QuestionRejected)
    ]
    assert [rejection.by for rejection in rejected] == [by]


async def test_a_stop_ends_the_question(tmp_path: Path) -> None:
    model = ScriptedModel(calls("question", questions=ASKED))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    turn = asyncio.create_task(ask(session, "Paint."))
    asked = await waiting(session)

    session.cancel("Stopped.")

    answer = await turn
    assert answer.error is not None
    assert answer.error.type == "aborted"
    assert not session.snapshot().questions
    assert not session.answer(asked, [["red"]])
    [part] = [p for m in answer.messages for p in m.parts if isinstance(p, ToolPart)]
    assert part.state.status == "error"


async def test_the_list_is_journaled_when_it_changed_and_folded(tmp_path: Path) -> None:
    first = [{"content": "Load", "status": "in_progress"}, {"content": "Plot"}]
    then = [{"content": "Load", "status": "completed"}, {"content": "Plot"}]
    model = ScriptedModel(
        calls("todowrite", todos=first),
        calls("todowrite", todos=then),
        calls("todowrite", todos=then),
        says("Loaded."),
    )
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()

    await ask(session, "Load and plot.")

    records = await harness.records(session)
    lists = [record.event.todos for record in records if isinstance(record.event, TodoUpdated)]
    assert len(lists) == 2
    now = (Todo(content="Load", status="completed"), Todo(content="Plot"))
    assert lists[-1] == session.snapshot().todos == apply_records(records).todos == now
    assert "[x] Load\\n[ ] Plot" in result(model)
