"""The journal writes records before it publishes them."""

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest
from tests.store.conformance import begin
from tests.store.record_builders import (
    OTHER,
    OWNER,
    SESSION,
    assistant,
    restored_state,
    session,
    text,
)
from tests.waiting import LAST_RESORT_SECONDS, until

from palimpsest.store.interface import TakenOver, WriteFailed, Writer
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    PartDelta,
    Record,
    SessionCreated,
    SessionError,
    SessionUpdated,
)


class Disk:
    """A writer whose disk can be full; otherwise a memory store's."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.session_id = writer.session_id
        self.epoch = writer.epoch
        self.room: int | None = None
        self.synced = 0

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:
        """Append the records if there is space."""
        kept = records if self.room is None else records[: self.room]
        if kept:
            self.writer.append(kept)
        if len(kept) < len(records):
            self.room = 0
            raise WriteFailed("The disk is full.", written_count=len(kept))
        self.synced += sync

    def missing_reason(self) -> str:
        return ""

    def position(self) -> tuple[str, int]:
        """Delegate."""
        return self.writer.position()

    def place_of_record(self, seq: int) -> tuple[str, int]:
        """Delegate."""
        return self.writer.place_of_record(seq)

    def written_lines(self, segment: str, offset: int) -> Iterator[bytes]:
        """Delegate."""
        return self.writer.written_lines(segment, offset)

    def close(self) -> None:
        """Delegate."""
        self.writer.close()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def disk(store: MemoryStore) -> Disk:
    return Disk(store.acquire(SESSION, OWNER, create=True))


@pytest.fixture
def journal(disk: Disk) -> Iterator[Journal]:
    journal = Journal(disk, State(), clock=lambda: 7, tick_seconds=0.01)
    yield journal
    journal.close()


def test_numbers_events_and_applies_them_at_once(journal: Journal) -> None:
    last = journal.append(SessionCreated(session=session()), assistant("msg_1"))

    assert last == 2
    assert journal.state.seq == 2
    assert [message.id for message in journal.state.messages()] == ["msg_1"]


async def test_an_acknowledged_record_is_in_the_store(journal: Journal, store: MemoryStore) -> None:
    journal.append(SessionCreated(session=session()))

    assert await journal.flush(sync=True)
    assert [record.seq for record in store.read(SESSION)] == [1]


async def test_tells_only_what_was_written(journal: Journal, store: MemoryStore) -> None:
    stored_when_told: list[int] = []
    told: list[Record] = []

    def listen(batch: Sequence[Record]) -> None:
        stored_when_told.append(len(list(store.read(SESSION))))
        told.extend(batch)

    unsubscribe = journal.subscribe(listen)
    journal.append(SessionCreated(session=session()))
    await journal.flush()
    unsubscribe()
    journal.append(SessionUpdated(session=session(title="later")))
    await journal.flush()

    assert [record.seq for record in told] == [1]
    assert stored_when_told == [1]


async def test_deltas_of_a_tick_become_one_record_per_part_and_field(
    journal: Journal, store: MemoryStore
) -> None:
    journal.append(assistant("msg_1"), text("prt_1", "msg_1"), text("prt_2", "msg_1"))
    for word in ("a", "b", "c"):
        journal.delta("msg_1", "prt_1", "text", word)
        journal.delta("msg_1", "prt_2", "text", word.upper())
    await journal.flush()

    deltas = [r.event for r in store.read(SESSION) if isinstance(r.event, PartDelta)]
    assert [(delta.part_id, delta.delta) for delta in deltas] == [
        ("prt_1", "abc"),
        ("prt_2", "ABC"),
    ]


async def test_deltas_come_before_what_is_appended_after_them(
    journal: Journal, store: MemoryStore
) -> None:
    journal.append(assistant("msg_1"), text("prt_1", "msg_1"))
    journal.delta("msg_1", "prt_1", "text", "half")
    journal.append(text("prt_1", "msg_1", "the whole"))
    journal.delta("msg_1", "prt_1", "text", " and more")
    await journal.flush()

    part = apply_records(store.read(SESSION)).part("msg_1", "prt_1")
    assert part is not None
    assert part == journal.state.part("msg_1", "prt_1")
    assert part.text == "the whole and more"  # type: ignore[union-attr]


def test_a_delta_alone_is_written_within_the_tick(journal: Journal, store: MemoryStore) -> None:
    journal.append(assistant("msg_1"), text("prt_1", "msg_1"))
    journal.flush_sync()
    heard = threading.Event()
    journal.subscribe(lambda _batch: heard.set())
    journal.delta("msg_1", "prt_1", "text", "x")

    assert heard.wait(LAST_RESORT_SECONDS)
    assert isinstance(list(store.read(SESSION))[-1].event, PartDelta)


def test_reading_the_state_sees_the_newest_words(journal: Journal) -> None:
    journal.append(assistant("msg_1"), text("prt_1", "msg_1"))
    journal.delta("msg_1", "prt_1", "text", "x")

    part = journal.read_state(lambda state: state.part("msg_1", "prt_1"))
    assert part is not None
    assert part.text == "x"  # type: ignore[union-attr]


async def test_words_that_are_no_text_do_not_end_the_journal(
    journal: Journal, store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    journal.append(assistant("msg_1"), text("prt_1", "msg_1"))
    await journal.flush()
    journal.delta("msg_1", "prt_1", "text", 7)  # type: ignore[arg-type]
    await until(lambda: "is no record" in caplog.text)
    journal.append(assistant("msg_2"))

    assert await journal.flush()
    assert [record.seq for record in store.read(SESSION)] == [1, 2, 3]


async def test_a_failing_listener_hurts_nobody_else(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []

    def fails(_batch: Sequence[Record]) -> None:
        raise ValueError("no")

    journal.subscribe(fails)
    journal.subscribe(lambda batch: told.extend(record.seq for record in batch))
    journal.append(assistant("msg_1"))
    await journal.flush()
    journal.append(assistant("msg_2"))
    await journal.flush()

    assert told == [1, 2]
    assert "A listener of the journal failed" in caplog.text


async def test_syncs_when_asked(journal: Journal, disk: Disk) -> None:
    journal.append(assistant("msg_1"))
    await journal.flush()
    before = disk.synced
    journal.append(assistant("msg_2"), sync=True)
    await journal.flush()

    assert (before, disk.synced) == (0, 1)
    assert await journal.flush(sync=True)


async def test_a_full_disk_loses_nothing_and_says_so_once(
    journal: Journal, disk: Disk, store: MemoryStore
) -> None:
    told: list[Record] = []
    journal.subscribe(told.extend)
    disk.room = 1
    journal.append(SessionCreated(session=session()), assistant("msg_1"), assistant("msg_2"))

    assert not await journal.flush(sync=True)
    assert journal.failure == "The disk is full."
    assert not await journal.flush()
    assert [record.seq for record in store.read(SESSION)] == [1]
    assert [type(record.event) for record in told].count(SessionError) == 1
    assert [record.seq for record in told] == [1, 2, 3, 4]

    disk.room = None
    assert await journal.flush(sync=True)
    assert journal.failure is None
    assert [record.seq for record in store.read(SESSION)] == [1, 2, 3, 4]


async def test_a_full_disk_is_tried_again_without_new_records(
    journal: Journal, disk: Disk, store: MemoryStore
) -> None:
    disk.room = 0
    journal.append(SessionCreated(session=session()))
    await journal.flush()
    disk.room = None
    await until(lambda: journal.failure is None)

    assert [type(record.event) for record in store.read(SESSION)] == [SessionCreated, SessionError]


async def test_what_is_written_after_a_take_over_goes_on_in_a_fork(
    journal: Journal, store: MemoryStore
) -> None:
    told: list[Record] = []
    journal.subscribe(told.extend)
    journal.append(SessionCreated(session=session()), assistant("msg_1"), text("prt_1", "msg_1"))
    await journal.flush()
    other = store.acquire(SESSION, OTHER, steal=True)
    other.append([Record(seq=4, ts=0, event=assistant("msg_other"))])
    journal.delta("msg_1", "prt_1", "text", "late")
    assert await journal.flush()
    journal.append(text("prt_2", "msg_1", "later still"))
    assert await journal.flush()

    assert journal.failure is not None
    assert journal.session_id != SESSION
    fork = apply_records(store.read(journal.session_id))
    assert fork.session is not None
    assert fork.session.forked_from is not None
    assert fork.session.forked_from.session_id == SESSION
    assert fork.messages() == journal.state.messages()
    assert fork.seq == journal.state.seq
    assert [message.id for message in fork.messages()] == ["msg_1"]
    assert [m.id for m in apply_records(store.read(SESSION)).messages()] == ["msg_1", "msg_other"]
    assert [record.seq for record in told] == sorted({record.seq for record in told})


def test_closing_writes_a_checkpoint_and_gives_the_session_back(
    journal: Journal, store: MemoryStore
) -> None:
    journal.append(SessionCreated(session=session()), assistant("msg_1"))
    journal.close()

    last = list(store.read(SESSION))[-1].event
    assert isinstance(last, Checkpoint)
    assert restored_state(last.state).session == session()
    store.acquire(SESSION, OTHER)
    with pytest.raises(StorageFailed, match="closed"):
        journal.append(assistant("msg_2"))


def test_opening_and_closing_writes_nothing(store: MemoryStore) -> None:
    begin(store)
    writer = store.acquire(SESSION, OWNER)
    Journal(writer, store.load(SESSION), clock=lambda: 7).close()

    assert store.load(SESSION).seq == 5


def test_many_threads_append_in_one_order(journal: Journal, store: MemoryStore) -> None:
    journal.append(assistant("msg_1"), text("prt_1", "msg_1"))

    def work(name: str) -> None:
        for number in range(200):
            journal.delta("msg_1", "prt_1", "text", name)
            if number % 20 == 0:
                journal.append(text(f"prt_{name}{number}", "msg_1"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journal.flush_sync()

    stored = apply_records(store.read(SESSION))
    assert stored.messages() == journal.state.messages()
    part = stored.part("msg_1", "prt_1")
    assert sorted(part.text) == sorted("abcd" * 200)  # type: ignore[union-attr]


def test_a_take_over_names_the_fork() -> None:
    store = MemoryStore()
    writer = store.acquire(SESSION, OWNER, create=True)
    writer.append([Record(seq=1, ts=1, event=SessionCreated(session=session()))])
    store.acquire(SESSION, OTHER, steal=True)

    with pytest.raises(TakenOver, match="Another kernel writes") as caught:
        writer.append([Record(seq=2, ts=2, event=assistant("msg_1"))])
    assert caught.value.fork.id in str(caught.value)


def test_a_waiter_whose_event_loop_is_gone_does_not_end_the_writing() -> None:
    store = MemoryStore()
    book = Journal(
        store.acquire(SESSION, OWNER, create=True), State(), clock=lambda: 1, tick_seconds=0
    )
    loop = asyncio.new_event_loop()

    async def wait_in_vain() -> None:
        asyncio.ensure_future(book.flush())  # noqa: RUF006
        await asyncio.sleep(0)

    with book.lock:  # until the loop is closed, the writer cannot report back
        book.append(SessionCreated(session=session()), assistant("msg_1"))
        loop.run_until_complete(wait_in_vain())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    book.append(assistant("msg_2"))

    assert book.flush_sync(5)
    book.close()
    assert [message.id for message in store.load(SESSION).messages()] == ["msg_1", "msg_2"]
