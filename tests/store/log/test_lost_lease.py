"""A writer whose lease was taken loses no record, whatever fails at the same moment."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.store.conformance import begin
from tests.store.log.test_faults import mounted, names, open_here
from tests.store.record_builders import OTHER, OWNER, SESSION, assistant, records, session, text
from tests.waiting import eventually

from palimpsest.store.interface import Owner, TakenOver
from palimpsest.store.log import jsonl_store
from palimpsest.store.log import segment_writer as writing
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import SegmentRange
from palimpsest.store.project_folder.lease import LeaseFile
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.session_record.events import Event, SessionCreated
from palimpsest.transcript.session_record.sessions import ForkedFrom


def book_of(store: JsonlStore, events: Sequence[Event] = ()) -> Journal:
    book = Journal(
        store.acquire(SESSION, OWNER, create=True), State(), clock=lambda: 1, tick_seconds=0
    )
    book.append(SessionCreated(session=session()), *events)
    assert book.flush_sync(sync=True)
    return book


def test_a_line_that_the_cut_goes_through_is_kept_in_the_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, thief = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    writer = store.acquire(SESSION, OWNER)
    write = writing.write_fully

    def robbed_halfway(fd: int, content: bytes) -> None:
        monkeypatch.setattr(writing, "write_fully", write)
        write(fd, content[: len(content) // 2])
        thief.acquire(SESSION, OTHER, steal=True).close()
        write(fd, content[len(content) // 2 :])

    monkeypatch.setattr(writing, "write_fully", robbed_halfway)
    with pytest.raises(TakenOver) as taken:
        writer.append(records([assistant("msg_3"), assistant("msg_4")], first=6))

    assert names(store) == ["msg_1", "msg_2"]
    assert names(store, taken.value.fork.id) == ["msg_1", "msg_2", "msg_3", "msg_4"]
    taken.value.writer.close()


def test_a_writer_that_is_robbed_on_a_full_disk_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        store, thief = open_here(tmp_path), open_here(tmp_path)
        book = book_of(store, [assistant("msg_1")])
        thief.acquire(SESSION, OTHER, steal=True).close()
        filler = tmp_path / "filler"
        with contextlib.suppress(OSError):
            filler.write_bytes(b"x" * (1 << 20))
        book.append(assistant("msg_2"), text("prt_2", "msg_2", "y" * 50_000))
        assert not book.flush_sync(sync=True)
        assert book.failure is not None
        assert book.failure.startswith("The disk is full")
        book.append(assistant("msg_3"))
        assert not book.flush_sync()
        assert [line.id for line in store.list()] == [SESSION]
        filler.unlink()
        assert book.flush_sync(sync=True)
        book.close()

        assert book.session_id != SESSION
        assert names(store) == ["msg_1"]
        assert names(store, book.session_id) == ["msg_1", "msg_2", "msg_3"]
        assert len(store.list()) == 2


def test_a_kernel_robbed_before_it_said_what_the_session_is_goes_on_too(tmp_path: Path) -> None:
    store, thief = open_here(tmp_path), open_here(tmp_path)
    book = Journal(
        store.acquire(SESSION, OWNER, create=True), State(), clock=lambda: 1, tick_seconds=0
    )
    thief.acquire(SESSION, OTHER, steal=True).close()
    book.append(SessionCreated(session=session()), assistant("msg_1"))
    assert book.flush_sync()
    book.close()

    forked = store.load(book.session_id)
    assert [message.id for message in forked.messages()] == ["msg_1"]
    assert forked.session is not None
    assert forked.session.id == book.session_id != SESSION


def refuse(_fd: int) -> None:
    raise OSError(28, "No space left on device")


def test_what_the_disk_did_not_take_for_good_is_not_said_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_here(tmp_path)
    book = book_of(store)
    put = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", refuse)
    book.append(assistant("msg_1"), sync=True)
    assert not book.flush_sync(sync=True)
    assert book.failure is not None
    monkeypatch.setattr(os, "fdatasync", put)
    assert book.flush_sync(sync=True)
    book.close()
    assert names(store) == ["msg_1"]


def test_a_checkpoint_after_a_refused_sync_begins_where_its_window_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_here(tmp_path)
    book = book_of(store)
    put = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", refuse)
    book.append(assistant("msg_1"), assistant("msg_2"), sync=True)
    book.flush_sync(sync=True)
    book.flush_sync(sync=True)  # the record that reports the disk error is refused as well
    monkeypatch.setattr(os, "fdatasync", put)
    book.checkpoint("msg_1")
    assert book.flush_sync()

    live = [message.id for message in store.open_live(SESSION).messages()]
    assert live == names(store) == ["msg_1", "msg_2"]
    book.close()


def test_a_late_beat_of_the_old_holder_does_not_drive_out_the_new_one(tmp_path: Path) -> None:
    store, thief = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    store.acquire(SESSION, OWNER)
    file = LeaseFile(store.layout.session(SESSION))
    old = file.current_lease()
    assert old is not None
    held = thief.acquire(SESSION, OTHER, steal=True)
    file.write(old)  # it had checked before the new lease was there, and wrote after it
    eventually(lambda: (seen := file.current_lease()) and seen.kernel_id == OTHER.kernel_id)
    held.append(records([assistant("msg_3")], first=6))
    held.close()

    assert names(store) == ["msg_1", "msg_2", "msg_3"]


def test_a_session_that_is_robbed_while_it_is_read_whole_stays_this_kernels_own(
    tmp_path: Path,
) -> None:
    store, thief = open_here(tmp_path), open_here(tmp_path)
    book = book_of(store, [assistant("msg_1")])
    reads = 0

    def load() -> State:
        nonlocal reads
        reads += 1
        if reads == 1:
            other = thief.acquire(SESSION, OTHER, steal=True)
            other.append(records([assistant("msg_theirs")], first=book.state.seq + 1))
            other.close()
        return store.load(book.session_id)

    book.load_whole(load)
    book.append(assistant("msg_2"))
    assert book.flush_sync()
    book.close()

    assert [message.id for message in book.state.messages()] == ["msg_1", "msg_2"]
    assert names(store, book.session_id) == ["msg_1", "msg_2"]
    assert names(store) == ["msg_1", "msg_theirs"]


def test_a_fork_that_is_begun_while_its_parent_is_deleted_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    needed = store._is_needed_by_fork

    def forked_behind(session_id: str) -> bool:
        found = needed(session_id)
        monkeypatch.setattr(store, "_is_needed_by_fork", needed)
        other.fork(SESSION, session("ses_f"))
        return found

    monkeypatch.setattr(store, "_is_needed_by_fork", forked_behind)
    store.delete(SESSION)

    assert names(other, "ses_f") == ["msg_1", "msg_2"]
    assert [line.id for line in other.list()] == ["ses_f"]


def test_nothing_is_left_of_a_fork_whose_parent_was_faster_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    place = other._new_fork_point

    def deleted_behind(parent_id: str, seq: int | None) -> ForkedFrom:
        found = place(parent_id, seq)
        store.delete(SESSION)
        return found

    monkeypatch.setattr(other, "_new_fork_point", deleted_behind)
    monkeypatch.setattr(jsonl_store, "MAX_RESTORE_SECONDS", 0.05)
    with pytest.raises(NotFound, match="was deleted a moment ago"):
        other.fork(SESSION, session("ses_f"))

    assert list(store.list()) == []
    assert not store.layout.session("ses_f").exists()


def test_a_list_that_is_made_while_a_session_is_deleted_is_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    begin(store, (SessionCreated(session=session("ses_b")),), "ses_b")
    own = other.segments.own_ranges

    def deleted_before(session_id: str, **more: int) -> list[SegmentRange]:
        if session_id == "ses_b":
            store.delete(session_id)
        return own(session_id, **more)

    monkeypatch.setattr(other.segments, "own_ranges", deleted_before)
    assert [line.id for line in other.list()] == [SESSION]


def test_a_session_that_comes_again_under_its_id_is_read_as_it_is_now(tmp_path: Path) -> None:
    store, other = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    assert names(other) == ["msg_1", "msg_2"]
    store.delete(SESSION)
    long = Owner(host="a-host-with-a-long-name", pid=123_456, kernel_id="import-of-it")
    again = store.acquire(SESSION, long, create=True)
    again.append(records([SessionCreated(session=session()), assistant("msg_9")]))
    again.close()

    assert names(other) == ["msg_9"]
    assert other.problems(SESSION) == []
    loaded = other.load(SESSION).session
    assert loaded is not None


@pytest.mark.parametrize("after", [0, 3])
def test_a_session_that_is_taken_over_while_it_is_read_is_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    store, thief = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    pieces = store.segments.segment_ranges

    def robbed_behind(session_id: str) -> list[SegmentRange]:
        found = pieces(session_id)
        thief.acquire(SESSION, OTHER, steal=True).close()
        return found

    monkeypatch.setattr(store.segments, "segment_ranges", robbed_behind)

    assert [record.seq for record in store.read(SESSION, after=after)] == list(range(after + 1, 6))
    assert store.fork(SESSION, session("ses_f"), seq=4).forked_from is not None
    assert names(store, "ses_f") == ["msg_1", "msg_2"]
