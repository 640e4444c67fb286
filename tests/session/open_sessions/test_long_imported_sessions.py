"""An imported session of many messages is opened, forked and paged without reading them."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness
from tests.sample_size import thinned
from tests.store.record_builders import assistant, user

from palimpsest.model.script import says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.revert.fork import forked_session
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.interface import Owner
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.message_index import MIN_INDEXED_MESSAGES
from palimpsest.store.session_state.state import State
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import CompactionPart, ToolFailed, ToolPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    PartUpdated,
    SessionCompacted,
)

MESSAGES = MIN_INDEXED_MESSAGES + 100
ALL_BUT_THE_NEWEST = MESSAGES - 1
SESSION = f"ses_{'1' * 26}"
BEGAN = 1_790_000_000_000


def name(number: int) -> str:
    return f"msg_{number:026d}"


def exported(*, running: int | None = None) -> dict[str, Any]:
    """Return OpenCode's export of a session; the call of the answer ``running`` never ended."""
    return {
        "info": {
            "id": SESSION,
            "version": "1",
            "projectID": "x",
            "directory": "/x",
            "title": "Long",
            "time": {"created": BEGAN, "updated": BEGAN},
        },
        "messages": [message(number, ended=number != running) for number in range(MESSAGES)],
    }


def message(number: int, *, ended: bool) -> dict[str, Any]:
    base = {"sessionID": SESSION, "messageID": name(number)}
    time = {"created": BEGAN + number}
    words = {**base, "id": f"prt_{number:026d}", "type": "text", "text": f"Words {number}."}
    info = {"id": name(number), "sessionID": SESSION, "time": time, "agent": "build"}
    model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
    if number % 2 == 0:
        return {"info": {**info, "role": "user", "model": model}, "parts": [words]}
    call = {
        **base,
        "id": f"prt_{number:026d}x",
        "type": "tool",
        "callID": f"call_{number}",
        "tool": "read",
        "state": {
            "status": "completed" if ended else "running",
            "input": {"path": "a.py"},
            "output": "a line\n",
            "title": "read",
            "metadata": {},
            "time": {"start": 1, "end": 2},
        },
    }
    return {
        "info": {
            **info,
            **model,
            "role": "assistant",
            "parentID": name(number - 1),
            "mode": "build",
            "path": {"cwd": "/x", "root": "/x"},
            "cost": 0.01,
            "tokens": {
                "input": 9,
                "output": 1,
                "reasoning": 0,
                "cache": {"read": 0, "write": 0},
            },
            "finish": "stop",
            "time": {**time, "completed": BEGAN + number},
        },
        "parts": [words, call],
    }


def imported(folder: Path, **more: Any) -> JsonlStore:
    (folder / "session.json").write_text(json.dumps(exported(**more)))
    store = JsonlStore(open_project_folder(folder))
    import_sessions(store, folder / "session.json", lambda: BEGAN)
    return store


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project into which the session was imported; each test works on a copy."""
    folder = tmp_path_factory.mktemp("once") / "project"
    folder.mkdir()
    imported(folder)
    return folder


@pytest.fixture
def store(once: Path, tmp_path: Path) -> Iterator[JsonlStore]:
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    yield JsonlStore(open_project_folder(tmp_path))
    SessionHarness.opened.clear()  # nothing was asked, so there is nothing to replay


async def opened(store: JsonlStore, session_id: str = SESSION) -> tuple[SessionHarness, Any]:
    harness = SessionHarness(store.layout.root.parent, ScriptedModel(says("Yes.")), store=store)
    return harness, await harness.workspace.open(session_id)


def unread(session: Any) -> int:
    """Return how many messages wait in the bytes of the log."""
    assert isinstance(session, LiveSession)
    return session.journal.read_state(
        lambda state: sum(slot.block is not None for slot in state.message_slots())
    )


async def test_opening_reads_none_of_its_messages_and_a_page_only_its_own(
    store: JsonlStore,
) -> None:
    harness, session = await opened(store)
    whole = store.load(SESSION).messages()

    assert unread(session) == ALL_BUT_THE_NEWEST
    assert session.message_page(100) == whole[-100:]
    assert unread(session) == MESSAGES - 100
    assert session.message_page(7, before_id=name(300)) == whole[293:300]
    assert session.message_page(7, before_id=name(3)) == whole[:3]
    assert session.message_page(7, before_id=name(0)) == ()
    assert unread(session) == MESSAGES - 100 - 8 - 4
    assert session.snapshot(messages=False).session.cost == pytest.approx(0.01 * MESSAGES / 2)
    assert session.snapshot().messages == whole
    with pytest.raises(NotFound):
        session.message_page(7, before_id="msg_none")
    for count in (0, -1, True, "9"):
        with pytest.raises(UserError):
            session.message_page(count)
    await harness.workspace.close()


@pytest.mark.soak  # with each commit a fork at one of its messages reads that one, below; this adds a fork of all, and later changes
async def test_a_fork_of_it_reads_none_and_what_changes_later_is_no_hindrance(
    store: JsonlStore,
) -> None:
    harness, session = await opened(store)
    fork = await harness.workspace.fork(SESSION)
    assert (unread(fork), unread(session)) == (ALL_BUT_THE_NEWEST, ALL_BUT_THE_NEWEST)
    session.log.change_session(title="Another")
    await harness.workspace.close()

    for _ in range(2):
        harness, session = await opened(store)
        assert unread(session) == ALL_BUT_THE_NEWEST
        assert session.snapshot(messages=False).session.title == "Another"
        session.log.change_session(title="Another")
        await harness.workspace.close()
    assert store.load(fork.id).messages() == store.load(SESSION).messages()


class Watched(JsonlStore):
    """A store that folds no whole session, and keeps the states that were opened."""

    def __init__(self, folder: Path) -> None:
        super().__init__(open_project_folder(folder))
        self.states: list[State] = []

    def open_live(self, session_id: str) -> State:
        self.states.append(super().open_live(session_id))
        return self.states[-1]

    def load(self, session_id: str) -> State:
        raise AssertionError(f"All of {session_id} is folded.")


@pytest.mark.parametrize("meant", thinned(["{}", " {} "], 2))
def test_a_fork_at_one_of_its_messages_reads_that_one(
    store: JsonlStore, tmp_path: Path, meant: str
) -> None:
    watched = Watched(tmp_path)
    fork = forked_session(
        watched, SESSION, lambda: f"ses_{'2' * 26}", BEGAN, message=meant.format(name(300))
    )

    (state,) = watched.states
    assert sum(slot.block is None for slot in state.message_slots()) <= 3
    assert store.load(fork.id).messages() == store.load(SESSION).messages()[:300]


def compact(store: JsonlStore) -> None:
    """Go on with the session in another segment: a compaction, whose summary replaces all before."""
    writer = store.acquire(SESSION, Owner(host="test", pid=0, kernel_id="test"))
    journal = Journal(writer, store.open_live(SESSION), clock=lambda: BEGAN + MESSAGES)
    marker = CompactionPart(id="prt_m", session_id=SESSION, message_id="msg_m", auto=True)
    summary = assistant("msg_s", completed=3).info.model_copy(
        update={"parent_id": "msg_m", "summary": True, "finish": "stop"}
    )
    journal.append(user("msg_m"), PartUpdated(part=marker), MessageUpdated(info=summary))
    journal.append(SessionCompacted(message_id="msg_m"))
    journal.close()
    assert store.open_live(SESSION).is_partial


@pytest.mark.soak  # with each commit opening reads none of its messages, above; this adds a session that was compacted
async def test_what_is_before_a_compaction_is_paged_and_forked_without_reading_all(
    store: JsonlStore, tmp_path: Path
) -> None:
    compact(store)
    whole = store.load(SESSION).messages()
    watched = Watched(tmp_path)
    harness, session = await opened(watched)

    assert session.message_page(100) == whole[-100:]
    assert session.message_page(7, before_id=name(300)) == whole[293:300]
    assert session.message_page(MESSAGES, before_id=name(3)) == whole[:3]
    with pytest.raises(NotFound):
        session.message_page(7, before_id="msg_none")
    fork = await harness.workspace.fork(SESSION, name(300))
    assert unread(fork) == ALL_BUT_THE_NEWEST - (MESSAGES - 300)
    assert fork.snapshot().messages == whole[:300]
    await harness.workspace.close()


def test_a_fork_at_a_part_or_at_the_end_of_an_id_is_the_same(store: JsonlStore) -> None:
    made = iter(["a", "b", "c"])
    forks = [
        forked_session(store, SESSION, lambda: f"ses_{next(made)}", BEGAN, message=meant)
        for meant in (name(301), f"prt_{301:026d}", f"{301:026d}x"[-9:])
    ]

    assert {len(store.load(fork.id).messages()) for fork in forks} == {301}


@pytest.mark.soak  # with each commit tests/store/log/test_kept_index.py damages the index; this adds a session that is opened
@pytest.mark.parametrize("damage", thinned(["checkpoint", "index", "line"], 3))
async def test_without_the_index_as_it_was_written_everything_is_read_as_before(
    store: JsonlStore, damage: str
) -> None:
    log = store.layout.session(SESSION) / "log-1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if b'"session.checkpoint"' in line)
    match damage:
        case "checkpoint":
            del lines[at]
        case "index":
            lines[at] = lines[at].replace(b'"index":{"size":', b'"index":{"size":1', 1)
        case _:
            at = next(at for at, line in enumerate(lines) if b'"Words 5."' in line)
            lines[at] = lines[at].replace(b"Words", b"Worts")
    log.write_bytes(b"".join(lines))
    harness, session = await opened(store)

    assert unread(session) == 0
    assert session.snapshot().messages == store.load(SESSION).messages()
    assert len(session.snapshot().messages) == MESSAGES
    await harness.workspace.close()


@pytest.mark.soak  # with each commit tests/recordings/import_journal/test_session_builder.py closes calls; this adds one far from the end
async def test_a_call_that_never_ended_is_closed_wherever_it_stands(tmp_path: Path) -> None:
    store = imported(tmp_path, running=201)
    harness, session = await opened(store)
    SessionHarness.opened.clear()
    found = session.journal.read_state(lambda state: state.message(name(201)))

    assert unread(session) == ALL_BUT_THE_NEWEST - 1
    assert [type(part.state) for part in found.parts if isinstance(part, ToolPart)] == [ToolFailed]
    await harness.workspace.close()
