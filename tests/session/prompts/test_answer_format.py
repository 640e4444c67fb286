"""A prompt may demand an answer in a JSON schema: the turn ends with a valid one, or with an error."""

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from tests.harness.session import SessionHarness, ask
from tests.waiting import LAST_RESORT_SECONDS, until

from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.interfaces.sharing_operations import Form
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.prompts.answers import format_of
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel, isolated_session
from palimpsest.transcript.errors import StructuredOutputError, UserError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import ToolCompleted, ToolFailed, ToolPart
from palimpsest.transcript.values import ModelInfo, ModelRef

TOOL = "StructuredOutput"
SCHEMA = {
    "type": "object",
    "properties": {"species": {"type": "string"}, "rows": {"type": "integer"}},
    "required": ["species", "rows"],
}
GENTOO = {"species": "Gentoo", "rows": 124}


class Island(BaseModel):
    """An island, with its birds."""

    name: str
    kind: Literal["north", "south"] = "south"
    birds: list[str]


def answers(**given: Any) -> ModelAnswer:
    return calls(TOOL, **given)


def states(messages: tuple[Message, ...]) -> list[Any]:
    return [
        part.state for message in messages for part in message.parts if isinstance(part, ToolPart)
    ]


def infos(session: LiveSession) -> list[AssistantMessage]:
    found = (message.info for message in session.snapshot().messages)
    return [info for info in found if isinstance(info, AssistantMessage)]


def form(schema: Any = SCHEMA, **more: Any) -> Any:
    return format_of({"type": "json_schema", "schema": schema, **more})


async def asked(
    tmp_path: Path, *script: Any, **options: Any
) -> tuple[SessionHarness, LiveSession, Any, Any]:
    model = ScriptedModel(*script)
    here = SessionHarness(tmp_path, model)
    session = await here.session()
    answer = await ask(session, "Count the penguins.", **{"format": form(), **options})
    return here, session, answer, model


async def test_the_answer_has_the_form(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("124")
    here, session, answer, model = await asked(
        tmp_path, calls("read", path="a.txt"), answers(**GENTOO), says("More.")
    )

    assert (answer.structured, answer.error, answer.stopped_by) == (GENTOO, None, "finished")
    assert [info.structured for info in infos(session)] == [None, GENTOO]
    assert infos(session)[-1].finish == "stop"
    first = session.snapshot().messages[0].info
    assert isinstance(first, UserMessage)
    assert first.format == {"type": "json_schema", "schema": SCHEMA, "retryCount": 1}
    assert len(model.requests) == 2
    [spec] = [tool for tool in model.requests[0].tools if tool.name == TOOL]
    assert spec.parameters == SCHEMA
    assert model.requests[0].parameters["tool_choice"] == "required"
    assert TOOL in model.requests[0].messages[0]["content"]
    rebuilt = rebuild_all(here.store, session.id, await here.records(session))
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)

    later = await ask(session, "And now in words.")
    assert later.structured is None
    assert TOOL not in {tool.name for tool in model.requests[2].tools}
    assert TOOL not in model.requests[2].messages[0]["content"]
    assert "tool_choice" not in model.requests[2].parameters
    [given] = [
        call["function"]["arguments"]
        for message in model.requests[2].messages
        for call in message.get("tool_calls") or ()
        if call["function"]["name"] == TOOL
    ]
    assert json.loads(given) == GENTOO


async def test_input_that_does_not_fit_the_form_is_told_to_the_model(tmp_path: Path) -> None:
    _, session, answer, _ = await asked(
        tmp_path,
        answers(species="Gentoo", rows="many"),
        answers(species="Gentoo"),
        answers(**GENTOO),
    )

    wrong, missing, right = states(answer.messages)
    assert isinstance(wrong, ToolFailed)
    assert "rows: 'many' is not of type 'integer'" in wrong.error
    assert isinstance(missing, ToolFailed)
    assert "'rows' is a required property" in missing.error
    assert isinstance(right, ToolCompleted)
    assert answer.structured == GENTOO
    assert infos(session)[0].structured is None


async def test_an_answer_in_words_is_asked_for_again(tmp_path: Path) -> None:
    _, session, answer, model = await asked(tmp_path, says("There are 124."), answers(**GENTOO))

    assert (answer.structured, answer.error) == (GENTOO, None)
    engine = [
        message
        for message in session.snapshot().messages
        if isinstance(message.info, UserMessage)
        and message.info.origin is not None
        and message.info.origin.kind == "engine"
    ]
    assert len(engine) == 1
    assert "Call StructuredOutput now" in model.requests[1].messages[-1]["content"]


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_a_turn_that_ends_without_the_form_is_an_error(tmp_path: Path, retries: int) -> None:
    script = [says(f"Words {n}.") for n in range(4)]

    _, session, answer, model = await asked(tmp_path, *script, format=form(retryCount=retries))

    assert answer.error == StructuredOutputError(message=answer.error.message, retries=retries)
    assert "form that was asked for" in answer.error.message
    assert (answer.structured, answer.stopped_by) == (None, "error")
    assert len(model.requests) == retries + 1
    assert infos(session)[-1].error == answer.error
    later = await ask(session, "Never mind.")
    assert later.error is None
    assert f"Words {retries}." in json.dumps(model.requests[-1].messages)


async def test_a_failed_one_can_be_tried_again(tmp_path: Path) -> None:
    _, session, answer, _ = await asked(
        tmp_path, says("Words."), answers(**GENTOO), format=form(retryCount=0)
    )
    assert isinstance(answer.error, StructuredOutputError)

    again = await session.retry()

    assert (again.structured, again.error) == (GENTOO, None)


async def test_the_last_step_leaves_only_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("124")
    look = calls("read", path="a.txt")
    _, session, answer, model = await asked(tmp_path, look, answers(**GENTOO), max_steps=2)

    assert (answer.structured, answer.error, answer.stopped_by) == (GENTOO, None, "finished")
    assert model.requests[1].parameters["tool_choice"]["function"] == {"name": TOOL}
    assert "last step" in model.requests[1].messages[-1]["content"]

    model.script(look, look)
    stuck = await ask(session, "Again.", format=form(), max_steps=2)
    assert isinstance(stuck.error, StructuredOutputError)
    assert stuck.structured is None


async def test_a_turn_that_was_stopped_says_that_and_no_more(tmp_path: Path) -> None:
    def stop(_request: ModelRequest) -> ModelAnswer:
        loop.call_soon_threadsafe(session_of[0].cancel, "Stopped.")
        return says("Words.")

    loop = asyncio.get_running_loop()

    session_of: list[LiveSession] = []
    here = SessionHarness(tmp_path, ScriptedModel(stop))
    session_of.append(await here.session())

    answer = await ask(session_of[0], "Count.", format=form())

    assert (answer.stopped_by, answer.error.type) == ("cancelled", "aborted")


async def test_what_is_said_into_the_turn_does_not_lift_the_form(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("124")
    steered: list[Any] = []

    async def send() -> None:
        steered.append(asyncio.create_task(ask(session, "Only Gentoo.", delivery="steer")))
        await until(lambda: bool(session.snapshot().inbox))

    def steer(_request: ModelRequest) -> ModelAnswer:
        asyncio.run_coroutine_threadsafe(send(), loop).result(LAST_RESORT_SECONDS)
        return calls("read", path="a.txt")

    loop = asyncio.get_running_loop()
    model = ScriptedModel(steer, answers(**GENTOO))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Count.", format=form())

    assert answer.structured == GENTOO
    assert (await steered[0]).structured == GENTOO
    assert TOOL in {tool.name for tool in model.requests[1].tools}


@pytest.mark.parametrize(
    "info",
    [{"reasoning": True}, {"api_base": "http://127.0.0.1:1/v1"}],
)
async def test_a_model_that_may_refuse_it_is_not_made_to_call(
    tmp_path: Path, info: dict[str, Any]
) -> None:
    known = ModelInfo(
        ref=ModelRef(provider="x", name="y"), window=100_000, output_limit=4_000, **info
    )
    model = ScriptedModel(answers(**GENTOO))
    session = await SessionHarness(tmp_path, model, info=known).session()

    assert (await ask(session, "Count.", format=form())).structured == GENTOO
    assert "tool_choice" not in model.requests[0].parameters


async def test_a_model_without_tools_is_refused_with_a_sentence(tmp_path: Path) -> None:
    known = ModelInfo(
        ref=ModelRef(provider="x", name="y"), window=100_000, output_limit=4_000, tools=False
    )
    session = await SessionHarness(tmp_path, ScriptedModel(), info=known).session()

    answer = await ask(session, "Count.", format=form())

    assert "calls no tools" in answer.error.message


async def test_no_other_tool_needs_to_be_offered_and_none_may_deny_it(tmp_path: Path) -> None:
    _, _, answer, model = await asked(tmp_path, answers(**GENTOO), tools=())

    assert answer.structured == GENTOO
    assert [tool.name for tool in model.requests[0].tools] == [TOOL]


async def test_it_survives_reopening_and_the_export_for_opencode(tmp_path: Path) -> None:
    here, session, _, _ = await asked(tmp_path, answers(**GENTOO))
    kind: Form = "opencode"
    made = await here.workspace.sharing.export(session.id, kind, tmp_path / "out")
    elsewhere = MemoryStore()

    assert import_sessions(elsewhere, made.path, here.clock).problems == ()

    for messages in (here.store.load(session.id).messages(), elsewhere.load(session.id).messages()):
        prompt, answer = (message.info for message in messages)
        assert isinstance(prompt, UserMessage)
        assert isinstance(answer, AssistantMessage)
        assert (prompt.format or {})["schema"] == SCHEMA
        assert answer.structured == GENTOO


def test_a_pydantic_model_is_a_form() -> None:
    given = {"name": "Biscoe", "birds": ["Gentoo"]}
    model = ScriptedModel(answers(name="Biscoe", kind="west", birds=[]), answers(**given))
    with isolated_session(model) as session:
        answer = session.prompt("Which island?", format=Island)

    assert Island.model_validate(answer.structured) == Island(name="Biscoe", birds=["Gentoo"])
    assert "'west' is not one of ['north', 'south']" in states(answer.messages)[0].error


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("rows", "format is the JSON schema of an object"),
        (7, "not 7."),
        ({}, "has no properties"),
        ({"type": "array", "items": {}}, "has no properties"),
        ({"type": "json_schema"}, "not {'type': 'json_schema'}"),
        ({"type": "object", "properties": {"a": {"type": "word"}}}, "is no JSON schema"),
        ({"properties": {"a": {"$ref": "#/$defs/B"}}}, "refers to 'B', which is not in it"),
        (
            {"type": "json_schema", "schema": SCHEMA, "retryCount": -1},
            "retryCount is a whole number",
        ),
        (
            {"type": "json_schema", "schema": SCHEMA, "retryCount": True},
            "retryCount is a whole number",
        ),
    ],
)
def test_what_is_no_form_is_refused_before_anything_is_kept(given: Any, words: str) -> None:
    model = ScriptedModel()
    with isolated_session(model) as session:
        with pytest.raises(UserError) as refused:
            session.prompt("Count.", format=given)

        assert words in str(refused.value)
        assert session.messages == ()
        assert model.requests == []


def test_a_schema_that_leads_elsewhere_fetches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    given = {"properties": {"a": {"$ref": "https://example.org/schema.json"}}}
    with isolated_session(ScriptedModel()) as session, pytest.raises(UserError):
        session.prompt("Count.", format=given)


def test_the_rehearsal_model_counts_and_lists_what_it_listed(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x\n1\n")
    names = {"type": "array", "items": {"type": "string"}}
    form = {
        "type": "object",
        "properties": {"names": names, "count": {"type": "integer"}},
        "required": ["names", "count"],
    }
    with isolated_session(folder=tmp_path) as session:
        answer = session.prompt("Which files are there?", yes=True, format=form)

    assert answer.structured == {"names": ["a.csv", "b.csv"], "count": 2}


@pytest.mark.parametrize("value", [{"rows": 1}, {}, [1, "two"], "words", 2, 0.5, True, None])
def test_any_answer_that_another_program_kept_is_read_as_it_is(value: Any) -> None:
    info = AssistantMessage(
        id="msg_1",
        session_id="ses_1",
        parent_id="msg_0",
        time=MessageTime(created=1),
        agent="build",
        model=ModelRef(provider="rehearsal", name="rehearsal"),
        path=MessagePath(cwd="/", root="/"),
        structured=value,
    )

    read_back = AssistantMessage.model_validate_json(info.model_dump_json())

    assert read_back.structured == value
    assert type(read_back.structured) is type(value)
