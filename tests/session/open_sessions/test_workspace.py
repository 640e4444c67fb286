"""A workspace reopens a notebook's session, handles concurrent kernels, and forks sessions."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, until
from tests.store.record_builders import OTHER

from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.model.script import says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions import followed_session
from palimpsest.session.open_sessions.followed_session import FollowedSession
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import AbortedError, NotFound, SessionHeld
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import TextPart, ToolFailed, ToolPart

Kernel = Callable[..., SessionHarness]


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[Kernel]:
    """A function that starts a kernel of the project; all are closed at the end."""
    started: list[SessionHarness] = []

    def start(model: ScriptedModel | None = None, kernel_id: str = "kernel-a") -> SessionHarness:
        # Renews its lease often enough that a busy machine is not taken for a dead kernel.
        store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
        harness = SessionHarness(
            tmp_path, model or ScriptedModel(), store=store, kernel_id=kernel_id
        )
        started.append(harness)
        return harness

    yield start
    for harness in reversed(started):
        await harness.workspace.close()


def texts(session: LiveSession | FollowedSession) -> list[str]:
    return [
        part.text
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, TextPart)
    ]


async def test_a_notebook_goes_on_with_its_session_after_a_restart(kernel: Kernel) -> None:
    first = kernel(ScriptedModel(says("One.")))
    session = await first.session("a.ipynb")
    await ask(session, "first")
    await first.workspace.close()

    second = kernel(ScriptedModel(says("Two.")))
    again = await second.session("a.ipynb")

    assert again.id == session.id
    assert (await ask(again, "second")).text == "Two."
    assert texts(again) == ["first", "One.", "second", "Two."]


async def test_each_notebook_and_each_console_has_its_own(kernel: Kernel) -> None:
    harness = kernel()
    first = await harness.session("a.ipynb")
    two = await harness.session("b.ipynb")
    console = await harness.session(None)

    assert len({first.id, two.id, console.id}) == 3
    assert (await harness.session("a.ipynb")).id == first.id
    new = await harness.workspace.new("a.ipynb")
    assert new.id != first.id
    assert (await harness.session("a.ipynb")).id == new.id
    assert (await harness.workspace.open(first.id[:20], "a.ipynb")).id == first.id


async def test_a_renamed_notebook_keeps_its_sessions(kernel: Kernel) -> None:
    before = kernel(ScriptedModel(says("One.")))
    older = await before.session("a.ipynb")
    await ask(older, "first")
    await before.workspace.close()
    harness = kernel(ScriptedModel(says("Two."), says("Three.")))
    harness.clock.now += 1
    newer = await harness.workspace.new("a.ipynb")
    await ask(newer, "second")

    await harness.workspace.rename("a.ipynb", "b.ipynb")

    assert (await harness.session("b.ipynb")).id == newer.id
    await ask(newer, "third")
    another = await harness.session("a.ipynb")
    assert another.id not in {older.id, newer.id}
    await harness.workspace.close()
    after = kernel()
    assert (await after.session("b.ipynb")).id == newer.id
    named = {session.id: session.notebook for session in after.workspace.sessions()}
    assert named == {older.id: "b.ipynb", newer.id: "b.ipynb", another.id: "a.ipynb"}


async def test_a_session_that_another_kernel_writes_keeps_its_name(kernel: Kernel) -> None:
    writer = kernel(ScriptedModel(says("One.")))
    session = await writer.session("a.ipynb")
    await ask(session, "first")
    other = kernel(kernel_id="kernel-b")

    await other.workspace.rename("a.ipynb", "b.ipynb")

    assert (await writer.session("a.ipynb")).id == session.id
    assert [other_session.notebook for other_session in other.workspace.sessions()] == ["a.ipynb"]


async def test_notebooks_of_one_name_in_two_folders_have_sessions_of_their_own(
    tmp_path: Path,
) -> None:
    studios = []
    for folder in ("a", "b", "."):
        (tmp_path / folder).mkdir(exist_ok=True)
        store = JsonlStore(open_project_folder(tmp_path))
        harness = SessionHarness(
            tmp_path, ScriptedModel(says("Yes.")), store=store, kernel_id=f"kernel-{folder}"
        )
        object.__setattr__(harness.services, "cwd", tmp_path / folder)
        studios.append(harness)

    opened = [await harness.session("analysis.ipynb") for harness in studios]

    assert len({session.id for session in opened}) == 3
    await until(lambda: len(studios[0].workspace.sessions()) == 3)
    names = {session.id: session.notebook for session in studios[0].workspace.sessions()}
    assert [names[session.id] for session in opened] == [
        "a/analysis.ipynb",
        "b/analysis.ipynb",
        "analysis.ipynb",
    ]
    await studios[1].workspace.rename("analysis.ipynb", "report.ipynb")
    assert (await studios[1].session("report.ipynb")).id == opened[1].id
    for harness in studios:
        await harness.workspace.close()


async def test_an_unknown_session_is_named(kernel: Kernel) -> None:
    with pytest.raises(NotFound, match="ses_nothing"):
        await kernel().workspace.open("ses_nothing")


async def test_a_second_kernel_reads_follows_and_forks(kernel: Kernel) -> None:
    writer = await kernel(ScriptedModel(says("One."), says("Two."))).session("a.ipynb")
    await ask(writer, "first")
    other = kernel(ScriptedModel(says("Fork.")), kernel_id="kernel-b")

    reader = await other.workspace.current("a.ipynb")

    assert isinstance(reader, FollowedSession)
    assert reader.id == writer.id
    with pytest.raises(SessionHeld, match="kernel"):
        await reader.prompt("no", PromptOptions())
    heard: list[str] = []
    reader.subscribe(lambda records: heard.extend(r.event.type for r in records))
    await ask(writer, "second")
    await until(lambda: texts(reader) == ["first", "One.", "second", "Two."])
    assert "message.part.updated" in heard
    fork = await other.workspace.fork(reader.id)
    assert isinstance(fork, LiveSession)
    assert (await ask(fork, "third")).text == "Fork."
    assert texts(fork) == ["first", "One.", "second", "Two.", "third", "Fork."]
    assert texts(reader) == ["first", "One.", "second", "Two."]


async def test_a_reader_becomes_the_writer_when_the_other_kernel_leaves(kernel: Kernel) -> None:
    first = kernel(ScriptedModel(says("One.")))
    await ask(await first.session("a.ipynb"), "first")
    other = kernel(ScriptedModel(says("Two.")), kernel_id="kernel-b")
    assert (await other.workspace.current("a.ipynb")).read_only

    await first.workspace.close()
    session = await other.workspace.current("a.ipynb")

    assert (await session.prompt("second", PromptOptions())).text == "Two."


async def test_what_a_reader_holds_comes_alive_once_the_writer_has_gone(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_session, "POLL_SECONDS", 0.005)
    first = kernel(ScriptedModel(says("One.")))
    await ask(await first.session("a.ipynb"), "first")
    other = kernel(ScriptedModel(says("Two.")), kernel_id="kernel-b")
    session = await other.workspace.current("a.ipynb")
    heard: list[int] = []
    changes: list[bool] = []
    end = session.subscribe(lambda records: heard.extend(r.seq for r in records))
    session.on_problem(lambda: changes.append(session.read_only))
    with pytest.raises(SessionHeld):
        await session.prompt("too early", PromptOptions())
    with pytest.raises(SessionHeld):
        _ = session.control
    assert session.read_only

    await first.workspace.close()
    await until(lambda: changes)
    assert head_of(session).read_only is False
    answers = await asyncio.gather(
        session.prompt("second", PromptOptions()), session.prompt("third", PromptOptions())
    )

    assert (answers[0].text, changes[0], session.read_only) == ("Two.", False, False)
    assert texts(session)[:4] == ["first", "One.", "second", "Two."]
    assert await session.journal.flush()  # type: ignore[attr-defined]
    assert heard == list(range(heard[0], session.snapshot().seq + 1))
    assert await other.workspace.current("a.ipynb") is not session
    assert (session.control.mode, session.cancel(), session.id) == (
        "ask",
        False,
        (await other.workspace.current("a.ipynb")).id,
    )
    end()
    told = len(heard)
    session.edit_context("pin", session.snapshot().messages[-1].id)
    assert await session.journal.flush()  # type: ignore[attr-defined]
    assert len(heard) == told


async def test_a_session_that_cannot_be_read_now_is_given_back(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kernel(ScriptedModel(says("One.")))
    session = await first.session("a.ipynb")
    await ask(session, "first")
    await first.workspace.close()
    broken = kernel(kernel_id="kernel-b")

    def refuse(_session_id: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(broken.store, "open_live", refuse)
    with pytest.raises(OSError, match="Input/output"):
        await broken.workspace.open(session.id)
    other = kernel(ScriptedModel(says("Two.")), kernel_id="kernel-c")
    again = await other.session("a.ipynb")

    assert again.id == session.id
    assert (await ask(again, "second")).text == "Two."


async def test_what_is_said_of_a_robbed_session_does_not_hit_its_fork(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(says("One."), says("Two.")))
    session = await harness.session("a.ipynb")
    await ask(session, "first")
    robbed = session.id
    assert isinstance(harness.store, JsonlStore)
    assert await session.journal.flush()  # what is written after a robbery would be its first write
    thief = JsonlStore(harness.store.layout, heartbeat_seconds=0.1, watch_seconds=2.5)
    writer = thief.acquire(robbed, OTHER, steal=True)
    # Its prompt could not be written into the log that another kernel holds, so nothing was sent.
    assert (await ask(session, "second")).stopped_by == "interrupted"
    await session.journal.flush()

    with pytest.raises(SessionHeld):
        await harness.workspace.retitle(robbed, "Theirs")
    with pytest.raises(SessionHeld):
        await harness.workspace.delete(robbed)

    assert session.id != robbed
    assert await harness.workspace.current("a.ipynb") is session
    assert (await ask(session, "third")).text == "Two."
    titles = {summary.id: summary.title for summary in harness.store.list()}
    assert "Theirs" not in titles.values()
    assert titles.keys() == {robbed, session.id}
    writer.close()


async def test_a_fork_begins_before_the_message_that_was_named(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(says("One."), says("Two."), says("Other.")))
    session = await harness.session()
    await ask(session, "first")
    second = await ask(session, "second")
    await session.journal.flush()

    fork = await harness.workspace.fork(session.id, second.turn_id)

    assert isinstance(fork, LiveSession)
    await ask(fork, "instead")
    assert texts(fork) == ["first", "One.", "instead", "Other."]
    assert texts(session) == ["first", "One.", "second", "Two."]


async def test_what_a_dead_kernel_left_is_interrupted_and_runs_no_more(
    kernel: Kernel, tmp_path: Path
) -> None:
    dead = kernel(
        ScriptedModel(
            says("Let me ").calls("bash", command="while sleep 0.1; do echo x; done; touch ran")
        )
    )
    session = await dead.session("a.ipynb")
    running = asyncio.create_task(ask(session, "first", yes=True))
    waiting = asyncio.create_task(ask(session, "waits"))
    await until(
        lambda: any(
            isinstance(part, ToolPart) and part.state.status == "running"
            for message in session.snapshot().messages
            for part in message.parts
        )
    )
    await until(lambda: len(session.snapshot().inbox) == 1)
    await session.journal.flush(sync=True)

    # The same kernel id returns, as after a restart, while the old writer is only "stopped".
    alive = kernel(ScriptedModel(says("Here.")))
    again = await alive.session("a.ipynb")

    (part,) = [p for m in again.snapshot().messages for p in m.parts if isinstance(p, ToolPart)]
    assert isinstance(part.state, ToolFailed)
    assert part.state.metadata["interrupted"] is True
    answer = again.snapshot().messages[-1].info
    assert isinstance(answer, AssistantMessage)
    assert isinstance(answer.error, AbortedError)
    assert again.snapshot().inbox == ()
    assert (await ask(again, "Are you there?")).text == "Here."
    stopped = await running
    assert isinstance(stopped.error, AbortedError)
    assert "kernel" in stopped.error.message
    session.cancel()
    await waiting
    assert not (tmp_path / "ran").exists()
    assert session.id != again.id
    assert texts(again) == ["first", "Let me ", "Are you there?", "Here."]


async def test_closing_writes_a_checkpoint(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(says("One.")))
    session = await harness.session()
    await ask(session, "first")
    await harness.workspace.close()

    newest = next(iter(harness.store.stream(session.id)))

    assert newest.event.type == "session.checkpoint"


async def test_an_unwritable_project_is_kept_in_memory_and_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "project"
    blocked.mkdir()
    (blocked / ".palimpsest").write_text("a file where the folder should be")

    store, warning = open_store(blocked)
    session = await SessionHarness(blocked, ScriptedModel(says("Hi.")), store=store).session()

    assert warning is not None
    assert "memory" in warning
    assert (await ask(session, "Hello")).text == "Hi."


async def test_the_title_is_the_first_line_of_the_first_prompt(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(says("a"), says("b")))
    session = await harness.session()
    await ask(session, "\n  Which species has long bills?\nPlot it.")
    await ask(session, "And now?")

    assert [s.title for s in harness.workspace.sessions()] == ["Which species has long bills?"]
