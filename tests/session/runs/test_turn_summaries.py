"""If enabled, each turn is summarised after its end, and no turn waits for this or fails with it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, requested
from tests.session.revert.test_revert import make_harness as harness_with_files
from tests.session.revert.test_revert import writes
from tests.waiting import LAST_RESORT_SECONDS, request_ended

from palimpsest.frontends.operation_text.command_output import TitledTable
from palimpsest.frontends.operation_text.session_list import session_list_lines
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, fails, says, stalls
from palimpsest.recordings.reconstruction.requests import Rebuilt, rebuild_all
from palimpsest.session.interfaces.sharing_operations import Form
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.session.records.session_search import Query
from palimpsest.session.sharing.share_page import page_path
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel, isolated_session
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.session_record.sessions import Budget, SessionInfo
from palimpsest.transcript.values import ModelInfo

PURPOSE = "turn-summary"
KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"

Answers = ModelAnswer | Callable[[ModelRequest], ModelAnswer]


def noted(title: str = "", turn: str = "", session: str = "") -> ModelAnswer:
    return says(f"<title>{title}</title>\n<turn>{turn}</turn>\n<session>{session}</session>")


class Pair:
    """Two models in one: one answers prompts, and one writes turn summaries."""

    def __init__(self, answers: ScriptedModel, notes: Any) -> None:
        self.answers = answers
        self.notes = notes
        self.asked: list[ModelRequest] = []

    def stream(self, request: ModelRequest) -> Any:
        if request.purpose != PURPOSE:
            return self.answers.stream(request)
        self.asked.append(request)
        return self.notes.stream(request)


class Held:
    """A model whose answer waits until it is released."""

    def __init__(self, *answers: Answers) -> None:
        self.model = ScriptedModel(*answers)
        self.began, self.go = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> Any:
        self.began.set()
        await self.go.wait()
        async for event in self.model.stream(request):
            yield event


def make_harness(
    tmp_path: Path, *notes: Answers, model: Any = None, **more: Any
) -> tuple[SessionHarness, Pair]:
    answers = ScriptedModel(*(says(f"Answer {n}.") for n in range(6)))
    pair = Pair(answers, model or ScriptedModel(*notes))
    return SessionHarness(tmp_path, pair, turn_summaries=True, **more), pair


def record(session: LiveSession) -> SessionInfo:
    loaded = session.snapshot().session
    assert loaded is not None
    return loaded


def of_prompts(session: LiveSession) -> list[dict[str, Any] | None]:
    infos = [message.info for message in session.snapshot().messages]
    return [info.summary for info in infos if isinstance(info, UserMessage)]


async def rebuilt(here: SessionHarness, session: LiveSession) -> list[Rebuilt]:
    records = await here.records(session)
    return list(rebuild_all(here.store, session.id, records))


async def test_a_turn_and_the_session_are_noted_after_the_answer(tmp_path: Path) -> None:
    here, pair = make_harness(
        tmp_path,
        noted("Penguins", "The penguins were counted.\nThere are 344.", "About penguins."),
        noted("Gentoo", "The gentoos were counted.", "About penguins, then gentoos."),
    )
    session = await here.session()

    answer = await ask(session, "How many penguins?")
    await request_ended(session.turn_summaries)
    await ask(session, "And gentoos?")
    await request_ended(session.turn_summaries)

    first, second = (
        message for message in session.snapshot().messages if message.info.role == "user"
    )
    assert answer.text == "Answer 0."
    assert of_prompts(session) == [
        {"title": "Penguins", "body": "The penguins were counted. There are 344."},
        {"title": "Gentoo", "body": "The gentoos were counted."},
    ]
    assert record(session).summary == {
        "body": "About penguins, then gentoos.",
        "message_id": second.id,
    }
    told = [request.messages[-1]["content"] for request in pair.asked]
    assert "[User]: How many penguins?\n\n[Assistant]: Answer 0." in told[0]
    assert "<before>" not in told[0]
    assert "<before>\nAbout penguins.\n</before>" in told[1]
    assert "Answer 0." not in told[1]
    turns = [event.request.turns for event in requested(await here.records(session))]
    assert [turn for turn in turns if turn] == [(first.id,), (second.id,)]


async def test_the_request_is_rebuilt_and_its_cost_is_the_sessions(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n" * 5_000)
    here, pair = make_harness(tmp_path, noted("A", "B.", "C."), noted("A", "B.", "C."))
    pair.answers = ScriptedModel(calls("read", path="a.txt"), says("Read."), says("Again."))
    session = await here.session()
    await ask(session, "Read a.txt")
    await request_ended(session.turn_summaries)
    await ask(session, "And now?")
    await request_ended(session.turn_summaries)

    requests = await rebuilt(here, session)

    assert [rebuilt_request.matches for rebuilt_request in requests] == [True] * 5
    notes = [
        rebuilt_request for rebuilt_request in requests if rebuilt_request.record.purpose == PURPOSE
    ]
    assert [note.request.messages for note in notes] == [request.messages for request in pair.asked]
    assert [note.request.tools for note in notes] == [(), ()]
    assert len(notes[0].request.messages[-1]["content"]) < 2_000
    steps = [
        rebuilt_request.record
        for rebuilt_request in requests
        if rebuilt_request.record.purpose == "step"
    ]
    assert steps[2].same == len(steps[1].items) + steps[1].same
    answers = [m.info.tokens for m in session.snapshot().messages if m.info.role == "assistant"]
    spent = sum((answer.input + answer.output for answer in answers), 0)
    assert record(session).tokens.input + record(session).tokens.output > spent


async def test_nobody_is_asked_unless_it_is_switched_on(tmp_path: Path) -> None:
    model = ScriptedModel(says("Answer."))
    session = await SessionHarness(tmp_path, model).session()

    await ask(session, "hello")
    await request_ended(session.turn_summaries)

    assert [request.purpose for request in model.requests] == ["step"]
    assert of_prompts(session) == [None]


@pytest.mark.parametrize(
    "answer",
    [
        says(""),
        says("I'm sorry, I can't help with that."),
        says('{"title": "A", "turn": "B"}'),
        says("<title></title><turn> \n</turn><session></session>"),
        says("<think><title>A</title>"),
        fails(400, "no"),
        fails(401, "no key"),
    ],
)
async def test_nonsense_and_errors_write_nothing_and_fail_nothing(
    tmp_path: Path, answer: ModelAnswer
) -> None:
    here, pair = make_harness(tmp_path, answer)
    session = await here.session()

    assert (await ask(session, "hello")).error is None
    await request_ended(session.turn_summaries)
    assert (await ask(session, "again")).error is None

    assert len(pair.asked) > 0
    assert of_prompts(session) == [None, None]
    assert record(session).summary is None


@pytest.mark.parametrize(
    ("said", "summary", "body"),
    [
        ("<turn>B</turn>", {"body": "B"}, None),
        ("<title>A\nmore</title>", {"title": "A"}, None),
        ("<session>\nC\n\nD\n</session>", None, "C D"),
        ("<TITLE>A</TITLE> <turn>B <session>C", {"title": "A", "body": "B"}, "C"),
        ("**Title:** A\n**Turn:** B\nSession: C", {"title": "A", "body": "B"}, "C"),
        ("```\n## Title\nA\n## Turn\nB\n## Session\nC\n```", {"title": "A", "body": "B"}, "C"),
        ("<think>Hm.</think><title>“A”</title>", {"title": "“A”"}, None),
        (f"<title>{'x' * 300}</title>", {"title": "x" * 97 + "..."}, None),
    ],
)
async def test_the_parts_that_are_there_are_taken(
    tmp_path: Path, said: str, summary: dict[str, str] | None, body: str | None
) -> None:
    here, _ = make_harness(tmp_path, says(said))
    session = await here.session()

    await ask(session, "hello")
    await request_ended(session.turn_summaries)

    assert of_prompts(session) == [summary]
    assert (record(session).summary or {}).get("body") == body


async def test_the_newest_turn_is_asked_for_where_turns_pass_faster(tmp_path: Path) -> None:
    held = Held(noted("One", "1.", "First."), noted("Three", "3.", "All three."))
    here, pair = make_harness(tmp_path, model=held)
    session = await here.session()
    await ask(session, "one?")
    await held.began.wait()

    await ask(session, "two?")
    await ask(session, "three?")
    held.go.set()
    await request_ended(session.turn_summaries)

    assert [summary and summary["title"] for summary in of_prompts(session)] == [
        "One",
        None,
        "Three",
    ]
    assert len(pair.asked) == 2
    told = pair.asked[1].messages[-1]["content"]
    assert "<not-told-yet>\n[User]: two?\n\n[Assistant]: Answer 1.\n</not-told-yet>" in told
    assert "<newest-turn>\n[User]: three?" in told
    assert all(rebuilt_request.matches for rebuilt_request in await rebuilt(here, session))


async def test_closing_gives_it_up(tmp_path: Path) -> None:
    here, pair = make_harness(tmp_path, stalls())
    session = await here.session()
    assert (await ask(session, "hello")).text == "Answer 0."

    await asyncio.wait_for(here.workspace.close(), LAST_RESORT_SECONDS)

    assert of_prompts(session) == [None]
    assert len(pair.asked) <= 1


async def test_nothing_is_written_to_a_turn_that_was_taken_back(tmp_path: Path) -> None:
    held = Held(noted("A", "B.", "C."))
    here, _ = make_harness(tmp_path, model=held)
    session = await here.session()
    await ask(session, "one?")
    await held.began.wait()
    before = record(session).tokens

    await session.reverts.revert()
    await session.reverts.cleanup()
    held.go.set()
    await request_ended(session.turn_summaries)

    assert session.snapshot().messages == ()
    assert record(session).summary is None
    assert record(session).tokens != before


async def test_what_is_taken_back_is_no_longer_told_of_the_session(tmp_path: Path) -> None:
    notes = [noted(f"T{n}", f"Did {n}.", f"All up to {n}.") for n in range(3)]
    here, _ = make_harness(tmp_path, *notes)
    session = await here.session()
    for prompt in ("one?", "two?", "three?"):
        await ask(session, prompt)
        await request_ended(session.turn_summaries)
    assert (record(session).summary or {})["body"] == "All up to 2."

    await session.reverts.revert()
    await session.reverts.cleanup()

    first, second = (m for m in session.snapshot().messages if m.info.role == "user")
    assert record(session).summary == {"body": "Did 0. Did 1.", "message_id": second.id}
    fork = await here.workspace.fork(session.id, second.id, notebook="b.ipynb")
    whole = await here.workspace.fork(session.id, None, notebook="c.ipynb")
    assert isinstance(fork, LiveSession)
    assert isinstance(whole, LiveSession)
    assert record(fork).summary == {"body": "Did 0.", "message_id": first.id}
    assert record(whole).summary == record(session).summary


async def test_words_and_changed_files_stand_side_by_side(tmp_path: Path) -> None:
    made = harness_with_files(
        tmp_path,
        *(writes("a.txt", "one\n"), says("First."), noted("A", "B.", "C.")),
        *(writes("b.txt", "two\n"), says("Second."), says("nonsense")),
        turn_summaries=True,
    )
    session = await made.session()

    await ask(session, "one?", yes=True)
    await request_ended(session.turn_summaries)
    await ask(session, "two?", yes=True)
    await request_ended(session.turn_summaries)

    first, second = of_prompts(session)
    assert first is not None
    assert second is not None
    assert (first["title"], first["body"], len(first["diffs"])) == ("A", "B.", 1)
    assert [diff["file"] for diff in second["diffs"]] == ["b.txt"]
    prompt = session.snapshot().messages[0].id
    counts = {"additions": 2, "deletions": 0, "files": 2}
    assert record(session).summary == {**counts, "body": "C.", "message_id": prompt}


async def test_a_compaction_is_no_turn_and_a_failed_turn_has_no_words(tmp_path: Path) -> None:
    here, pair = make_harness(tmp_path, noted("A", "B.", "C."), noted("D", "E.", "F."))
    pair.answers = ScriptedModel(
        says("Yes."), says("## Goal\n- to be"), fails(401, "no"), says("Better.")
    )
    session = await here.session()
    await ask(session, "one?")
    await request_ended(session.turn_summaries)

    await session.compact()
    assert (await ask(session, "two?")).error is not None
    await request_ended(session.turn_summaries)
    assert len(pair.asked) == 1
    await session.retry()
    await request_ended(session.turn_summaries)

    assert [summary["title"] for summary in of_prompts(session) if summary] == ["A", "D"]
    assert all(rebuilt_request.matches for rebuilt_request in await rebuilt(here, session))


async def test_what_was_excluded_or_is_a_secret_is_not_sent(tmp_path: Path) -> None:
    held = Held(noted("One", "1."), noted("Two", f"The key {KEY} was used.", f"Key {KEY}."))
    here, pair = make_harness(tmp_path, model=held)
    session = await here.session()
    await ask(session, f"one? {KEY}")
    await held.began.wait()
    await ask(session, "two, which nobody needs?")
    await ask(session, "three?")
    session.edit_context("exclude", session.snapshot().messages[2].id)
    session.edit_context("exclude", session.snapshot().messages[3].id)

    held.go.set()
    await request_ended(session.turn_summaries)

    told = [request.messages[-1]["content"] for request in pair.asked]
    assert "one?" in told[0]
    assert KEY not in told[0]
    assert "nobody needs" not in told[1]
    assert "Answer 1" not in told[1]
    assert KEY not in json.dumps([record(session).summary, *of_prompts(session)])


async def test_a_limit_that_is_reached_is_not_gone_beyond(tmp_path: Path) -> None:
    here, pair = make_harness(tmp_path, effective_rules=EffectiveRules(budget=Budget(tokens=5)))
    session = await here.session()

    answer = await ask(session, "hello")
    await request_ended(session.turn_summaries)

    assert answer.error is None
    assert session.spending_limit.spent.all_tokens >= 5
    assert pair.asked == []
    assert session.snapshot().asks == ()


async def test_a_session_that_another_began_is_not_noted(tmp_path: Path) -> None:
    here, pair = make_harness(tmp_path, noted("A", "B.", "C."))
    parent = await here.session()
    child = await here.workspace.new("b.ipynb", parent=parent.id)
    assert isinstance(child, LiveSession)

    await ask(child, "hello")
    await request_ended(child.turn_summaries)

    assert pair.asked == []


async def test_the_small_model_is_asked(tmp_path: Path) -> None:
    small: list[ModelInfo] = []

    def chosen(info: ModelInfo) -> ModelInfo:
        small.append(info.model_copy(update={"window": 50_000}))
        return small[-1]

    here, pair = make_harness(tmp_path, noted("A", "B.", "C."), small_model=chosen)
    session = await here.session()

    await ask(session, "hello")
    await request_ended(session.turn_summaries)

    assert [request.model for request in pair.asked] == small


async def test_a_page_that_is_made_by_itself_holds_the_words(tmp_path: Path) -> None:
    here, _ = make_harness(
        tmp_path,
        noted("A", "Counted the gentoos.", "All about gentoos."),
        store=JsonlStore(open_project_folder(tmp_path)),
        share="auto",
    )
    session = await here.session()
    await ask(session, "hello")
    await request_ended(session.turn_summaries)
    await session.auto_share.wait_until_shared()

    made = page_path(here.store, record(session))
    assert made is not None
    assert '<p class="summary">All about gentoos.</p>' in made.read_text()


async def test_an_export_says_what_the_session_is_about_and_opencodes_in_its_fields(
    tmp_path: Path,
) -> None:
    here, _ = make_harness(tmp_path, noted("A", "Did B.", "All about C."))
    session = await here.session()
    await ask(session, "hello")
    await request_ended(session.turn_summaries)

    forms: tuple[Form, ...] = ("md", "ipynb")
    for form in forms:
        written = await here.workspace.sharing.export(session.id, form)
        assert "About: All about C." in written.path.read_text()
    made = await here.workspace.sharing.export(session.id, "opencode", tmp_path / "out")

    files = [json.loads(file.read_bytes()) for file in made.path.rglob("*.json")]
    summaries = [file.get("summary") for file in files if isinstance(file, dict)]
    prompt = session.snapshot().messages[0].id
    assert {"title": "A", "body": "Did B.", "diffs": []} in summaries
    counts = {"additions": 0, "deletions": 0, "files": 0}
    assert {**counts, "body": "All about C.", "message_id": prompt} in summaries
    elsewhere = MemoryStore()
    assert import_sessions(elsewhere, made.path, here.clock).problems == ()
    state = elsewhere.load(session.id)
    assert state.session is not None
    assert state.session.about == "All about C."


async def test_the_list_says_what_a_session_is_about(tmp_path: Path) -> None:
    here, _ = make_harness(tmp_path, noted("A", "B.", "All about C. " * 20), noted("A", "B.", ""))
    session = await here.session()
    await ask(session, "hello")
    await request_ended(session.turn_summaries)
    while not (found := await here.workspace.page(Query())).sessions[0].about:
        """The list is read from the disk, which the writer has not reached yet."""

    [section] = session_list_lines(found, Query(), session.id)

    assert isinstance(section, TitledTable)
    assert section.header[-1] == "about"
    assert section.rows[0][-1].startswith("All about C. All about C.")
    assert len(section.rows[0][-1]) <= 80
    assert found.sessions[0].about == ("All about C. " * 20)[:200]


def test_the_rehearsal_model_notes_turns_too() -> None:
    with isolated_session(settings={"turn_summaries": True}) as session:
        session.prompt("Which files are there?", yes=True)
        live: Any = session._kernel_session
        session._app.engine.submit(request_ended(live.turn_summaries)).result()

        first = session.messages[0].info
        assert isinstance(first, UserMessage)
        assert first.summary is not None
        assert first.summary["title"] == "Which files are there"
        assert first.summary["body"].startswith("Asked: Which files are there. Called ")
        assert session.summary == first.summary["body"]
