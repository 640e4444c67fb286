"""Pages and forks that are read by the index beside a log are what the whole log says."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.sample_size import sample_size, thinned
from tests.store.record_builders import assistant, session, text, user, whole_state
from tests.store.session_state.test_message_index import NAMES, later, scripts

from palimpsest.store.interface import Owner
from palimpsest.store.log import kept_index
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import header_line
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.interrupted_work import close_interrupted, code_at_the_end
from palimpsest.store.session_state.live_window import live_window
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    Record,
    SessionCreated,
    TodoUpdated,
)

SESSION = "ses_1"
SCRIPT = [event for name in NAMES for event in (user(name), text(f"prt_{name}", name, "Why?"))]


@pytest.fixture(autouse=True)
def _short_sessions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_index, "MIN_INDEXED_MESSAGES", 1)


def written(store: JsonlStore, script: Sequence[Event], first: int = 1) -> int:
    """Append events in a segment of their own; returns the number of the next record."""
    with_owner = Owner(host="test", pid=0, kernel_id="test")
    writer = store.acquire(SESSION, with_owner, create=first == 1)
    records = [Record(seq=at, ts=at, event=event) for at, event in enumerate(script, first)]
    writer.append(records)
    writer.close()
    return first + len(records)


def begun(folder: Path, script: Sequence[Event]) -> tuple[JsonlStore, int]:
    store = JsonlStore(open_project_folder(folder))
    return store, written(store, [SessionCreated(session=session(SESSION)), *script])


def whole_pages(store: JsonlStore) -> Iterator[tuple[str, int, object]]:
    whole = store.load(SESSION)
    for name in ("", *NAMES, "msg_none"):
        for count in (1, 2, 9):
            yield name, count, (whole.page(count, name), whole.message(name))


def told(state: State) -> object:
    left = close_interrupted(state, 9), code_at_the_end(state), live_window(state).seq
    return left, whole_state(state), state.last_compacted_id, state.messages_with_part("subtask")


@pytest.mark.soak  # with each commit a fork anywhere is what its whole log says, beside it; this adds pages
@settings(deadline=None, max_examples=sample_size(10, 400))
@given(script=scripts(), more=later, last=later, is_import=st.booleans())
@example(
    script=[user("msg_1"), user("msg_2")],
    more=[],
    last=[MessageRemoved(message_id="msg_1"), user("msg_1")],
    is_import=False,
)
def test_pages_of_a_session_are_those_of_its_whole_log(
    script: list[Event], more: list[Event], *, last: list[Event], is_import: bool
) -> None:
    with TemporaryDirectory() as folder:
        store, seq = begun(Path(folder), [*script, *more])
        if is_import:
            store.keep_index(SESSION, MessageFacts.in_records(store.read(SESSION)))
        else:
            store.open_messages(SESSION)
        written(store, last, seq)

        for name, count, expected in whole_pages(store):
            state = store.open_messages(SESSION, name, count)
            assert (state.page(count, name), state.message(name)) == expected
        assert store.open_messages(SESSION).messages() == store.load(SESSION).messages()


@settings(deadline=None, max_examples=sample_size(10, 400))
@given(scripts(), later, st.data())
def test_a_fork_anywhere_is_what_its_whole_log_says(
    script: list[Event], more: list[Event], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        store, seq = begun(Path(folder), [*script, *more])
        store.keep_index(SESSION, MessageFacts.in_records(store.read(SESSION)))
        at = data.draw(st.integers(1, seq - 1), label="the last record that the fork has")
        fork = store.fork(SESSION, session("ses_2"), seq=at)
        again = store.fork(fork.id, session("ses_3"))

        for name in (fork.id, again.id):
            opened = store.open_live(name)
            assert told(opened) == told(store.load(name))
            assert opened.seq == store.load(name).seq
        writer = store.acquire(fork.id, Owner(host="test", pid=0, kernel_id="fork"))
        journal = Journal(writer, store.open_live(fork.id), clock=lambda: 0)
        journal.append(TodoUpdated(todos=()))
        journal.close()
        assert told(store.open_live(fork.id)) == told(store.load(fork.id))


def test_a_page_reads_only_its_own_lines(tmp_path: Path) -> None:
    store, _ = begun(tmp_path, SCRIPT)
    store.keep_index(SESSION, MessageFacts.in_records(store.read(SESSION)))
    fork = store.fork(SESSION, session("ses_2"), seq=7)

    page = store.open_messages(SESSION, NAMES[3], 1)
    assert [message.id for message in page.page(1, NAMES[3]) or ()] == [NAMES[2]]
    assert len(page.message_slots()) == len(NAMES[1:4])
    opened = store.open_live(fork.id)
    assert [slot.block is None for slot in opened.message_slots()] == [False] * 3
    assert opened.unsettled_messages() == opened.messages()[:0]


@pytest.mark.parametrize("damage", thinned(["byte", "shortened", "index", "torn", "no index"], 2))
def test_without_the_bytes_of_the_index_everything_is_read(tmp_path: Path, damage: str) -> None:
    store, _ = begun(tmp_path, SCRIPT)
    store.keep_index(SESSION, MessageFacts.in_records(store.read(SESSION)))
    fork = store.fork(SESSION, session("ses_2"), seq=9)
    folder = store.layout.session(SESSION)
    log, index = folder / "log-1.jsonl", folder / kept_index.INDEX_FILE
    match damage:
        case "byte":
            log.write_bytes(log.read_bytes().replace(b"Why?", b"How?"))
        case "shortened":
            log.write_bytes(b"\n".join(log.read_bytes().split(b"\n")[:-4]) + b"\n")
        case "index":
            index.write_bytes(index.read_bytes()[:-9])
        case "torn":
            log.write_bytes(log.read_bytes() + b'{"v":1,"seq":99,"ts":9,"type":"mess')
        case _:
            index.unlink()
    store = JsonlStore(open_project_folder(tmp_path))

    for name, count, expected in whole_pages(store):
        state = store.open_messages(SESSION, name, count)
        assert (state.page(count, name), state.message(name)) == expected
    assert told(store.open_live(fork.id)) == told(store.load(fork.id))


def test_a_fork_of_what_another_kernel_cut_off_keeps_it(tmp_path: Path) -> None:
    store, seq = begun(tmp_path, SCRIPT)
    fork = store.fork(SESSION, session("ses_2"))
    first = store.layout.session(SESSION) / "log-1.jsonl"
    cut = len(b"\n".join(first.read_bytes().split(b"\n")[:-5])) + 1
    written(store, [user("msg_8"), text("prt_8", "msg_8", "Else?" * 99)], seq)
    second = first.with_name("log-2.jsonl")
    head, _, rest = second.read_bytes().partition(b"\n")
    writer = Owner(**json.loads(head)["writer"])
    second.write_bytes(header_line(SESSION, 2, first.name, cut, writer))
    for at in range(2):
        rest = rest.replace(b'"seq":%d,' % (seq + at), b'"seq":%d,' % (seq + at - 4))
    second.write_bytes(second.read_bytes() + rest)
    store = JsonlStore(open_project_folder(tmp_path))
    store.keep_index(SESSION, MessageFacts.in_records(store.read(SESSION)))

    assert [message.id for message in store.load(fork.id).messages()] == NAMES
    assert [message.id for message in store.load(SESSION).messages()] == [*NAMES[:-2], "msg_8"]
    assert (first.parent / kept_index.INDEX_FILE).exists()
    assert told(store.open_live(fork.id)) == told(store.load(fork.id))


def test_an_index_that_cannot_be_written_is_no_hindrance(tmp_path: Path) -> None:
    store, _ = begun(tmp_path, [*SCRIPT, assistant("msg_9")])
    (store.layout.session(SESSION) / kept_index.INDEX_FILE).mkdir()

    assert len(store.open_messages(SESSION).messages()) == len(NAMES) + 1
