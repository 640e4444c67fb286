"""Sessions are searched, renamed, archived, forked and deleted; data that other sessions need is kept."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.model.script import says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.records.session_search import Page, Query, search_page
from palimpsest.store.interface import SessionSummary
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import NotFound, SessionHeld, UserError

Kernel = Callable[..., SessionHarness]


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[Kernel]:
    """A function that starts a kernel of the project; all are closed at the end."""
    started: list[SessionHarness] = []

    def start(kernel_id: str = "kernel-a") -> SessionHarness:
        store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
        model = ScriptedModel(*(says(f"Answer {n}.") for n in range(20)))
        harness = SessionHarness(tmp_path, model, store=store, kernel_id=kernel_id)
        started.append(harness)
        return harness

    yield start
    for harness in reversed(started):
        await harness.workspace.close()


async def said(
    harness: SessionHarness, *prompts: str, notebook: str | None = "a.ipynb"
) -> LiveSession:
    """Begin a session and send the prompts."""
    harness.clock.now += 1_000
    session = await harness.workspace.new(notebook)
    assert isinstance(session, LiveSession)
    for prompt in prompts:
        await ask(session, prompt)
    await session.journal.flush()
    return session


async def child(harness: SessionHarness, parent: LiveSession) -> LiveSession:
    """Begin a child session, as a task call would."""
    made = await said(harness, "look into it", notebook=None)
    made.log.change_session(parent_id=parent.id)
    await made.journal.flush()
    return made


async def titles(harness: SessionHarness, words: str = "", **more: object) -> list[str]:
    found = await harness.workspace.page(Query(words, **more))  # type: ignore[arg-type]
    return [session.title for session in found.sessions]


async def test_sessions_are_found_by_title_notebook_and_what_was_asked(kernel: Kernel) -> None:
    harness = kernel()
    await said(harness, "Count the penguins", "and by ISLAND please")
    await said(harness, "Plot the weather", notebook="weather/b.ipynb")
    harness.clock.now += 1_000

    assert await titles(harness) == ["Plot the weather", "Count the penguins"]
    assert await titles(harness, "island penguins") == ["Count the penguins"]
    assert await titles(harness, "B.IPYNB") == ["Plot the weather"]
    assert await titles(harness, "penguins weather") == []


async def test_children_are_listed_with_their_session_only(kernel: Kernel) -> None:
    harness = kernel()
    parent = await said(harness, "Work")
    made = await child(harness, parent)

    assert await titles(harness) == ["Work"]
    assert len(await titles(harness, children=True)) == 2
    assert [summary.id for summary in await harness.workspace.children(parent.id)] == [made.id]


async def test_what_was_put_away_is_kept_and_not_gone_on_with(kernel: Kernel) -> None:
    harness = kernel()
    session = await said(harness, "Old work")
    await said(harness, "Other", notebook="b.ipynb")

    await harness.workspace.archive(session.id)

    assert await titles(harness) == ["Other"]
    assert await titles(harness, archived=True) == ["Old work"]
    assert (await harness.session("a.ipynb")).id != session.id
    await harness.workspace.archive(session.id, archived=False)
    assert "Old work" in await titles(harness)


async def test_a_session_is_called_otherwise_also_while_it_is_closed(kernel: Kernel) -> None:
    harness = kernel()
    session = await said(harness, "Old work")
    assert await harness.workspace.retitle(session.id[-8:], " New words \n more") == "New words"
    await harness.workspace.close()

    again = kernel()
    await again.workspace.retitle(session.id, "Newer words")

    assert await titles(again) == ["Newer words"]
    with pytest.raises(UserError, match="at least one letter"):
        await again.workspace.retitle(session.id, " ")


async def test_deleting_takes_the_children_along_and_the_notebook_begins_anew(
    kernel: Kernel,
) -> None:
    harness = kernel()
    parent = await said(harness, "Work")
    made = await child(harness, parent)
    below = await child(harness, made)

    gone = await harness.workspace.delete(parent.id)

    assert gone == (below.id, made.id, parent.id)
    assert list(harness.workspace.sessions()) == []
    assert (await harness.session("a.ipynb")).id not in gone
    with pytest.raises(NotFound, match="There is no session"):
        await harness.workspace.delete(parent.id)


async def test_a_session_that_a_fork_needs_is_hidden_until_the_fork_is_gone(
    kernel: Kernel, tmp_path: Path
) -> None:
    harness = kernel()
    parent = await said(harness, "First", "Second")
    second = parent.snapshot().messages[2].id
    fork = await harness.workspace.fork(parent.id, second[-8:])
    assert isinstance(fork, LiveSession)

    await harness.workspace.delete(parent.id)

    assert await titles(harness) == ["First (fork #1)"]
    assert [message.info.role for message in fork.snapshot().messages] == ["user", "assistant"]
    await ask(fork, "On from here")
    await harness.workspace.delete(fork.id)
    assert [folder.name for folder in (tmp_path / ".palimpsest" / "sessions").iterdir()] == []


async def test_forks_are_numbered_and_belong_to_the_notebook_that_asks(kernel: Kernel) -> None:
    harness = kernel()
    parent = await said(harness, "First")
    first = await harness.workspace.fork(parent.id, notebook="b.ipynb")
    two = await harness.workspace.fork(first.id)

    found = {row.id: (row.title, row.notebook) for row in harness.workspace.sessions()}
    assert found[first.id] == ("First (fork #1)", "b.ipynb")
    assert found[two.id] == ("First (fork #2)", "b.ipynb")
    assert (await harness.session("b.ipynb")).id == two.id
    assert (await harness.session("a.ipynb")).id == parent.id
    with pytest.raises(NotFound, match="no part or message"):
        await harness.workspace.fork(parent.id, "nowhere")


async def test_another_kernel_is_respected_and_nothing_of_it_is_deleted(kernel: Kernel) -> None:
    writer = kernel()
    parent = await said(writer, "Work")
    made = await child(writer, parent)
    other = kernel("kernel-b")

    for work in (
        other.workspace.delete(parent.id),
        other.workspace.archive(parent.id),
        other.workspace.retitle(parent.id, "Mine"),
    ):
        with pytest.raises(SessionHeld, match="Another kernel"):
            await work

    assert {session.id for session in other.workspace.sessions()} == {parent.id, made.id}


def rows(count: int) -> list[SessionSummary]:
    return [
        SessionSummary(id=f"ses_{n:04}", title=f"Session {n}", notebook=None, created=n, updated=n)
        for n in range(count)
    ]


def test_pages_follow_each_other_whatever_comes_or_goes_between() -> None:
    summaries = rows(70)

    def paged(query: Query) -> Page:
        return search_page(summaries, query, lambda _: ())

    first = paged(Query(limit=30))
    summaries.insert(0, SessionSummary("ses_new", "New", None, 99, 99))
    summaries[:] = [summary for summary in summaries if summary.id != "ses_0020"]
    second = paged(Query(limit=30, cursor=first.cursor))
    third = paged(Query(limit=30, cursor=second.cursor))

    seen = [summary.id for summary in (*first.sessions, *second.sessions, *third.sessions)]
    assert seen == [f"ses_{n:04}" for n in range(69, -1, -1) if n != 20]
    assert (first.total, third.cursor) == (70, None)
    assert paged(Query(limit=10, number=3)).sessions[0].id == "ses_0050"
    with pytest.raises(UserError, match="not the end of a page"):
        paged(Query(cursor="what"))


async def test_a_session_from_elsewhere_is_searched_in_its_messages(kernel: Kernel) -> None:
    harness = kernel()
    session = await said(harness, "Plain words")
    await harness.workspace.retitle(session.id, "Other")
    assert await titles(harness, "plain") == ["Other"]
    assert await titles(harness, "answer") == []
