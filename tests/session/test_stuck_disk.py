"""While the disk does not respond no request is sent, answers are kept, and the user sees the reason."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, until
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.turn_output.cell_output import CellOutput
from palimpsest.frontends.turn_output.turn_feed import TurnFeed
from palimpsest.model.script import says
from palimpsest.processor import session_log
from palimpsest.store import disk
from palimpsest.store.interface import Owner, Writer
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.session_record.events import Record


class StuckWriter:
    """A writer whose disk stops responding on demand."""

    def __init__(self, writer: Writer, free: threading.Event) -> None:
        self._writer = writer
        self._free = free
        self.session_id = writer.session_id
        self.epoch = writer.epoch
        self.position, self.locate, self.close = (
            writer.position,
            writer.place_of_record,
            writer.close,
        )
        self.missing_reason = writer.missing_reason

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:
        self._free.wait()
        self._writer.append(records, sync=sync)


class StuckStore(MemoryStore):
    """A store on one disk, which responds while ``free`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()
        self.free.set()

    def acquire(  # type: ignore[override]
        self, session_id: str, owner: Owner, *, create: bool = False, steal: bool = False
    ) -> StuckWriter:
        writer = super().acquire(session_id, owner, create=create, steal=steal)
        return StuckWriter(writer, self.free)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[StuckStore]:
    monkeypatch.setattr(disk.WRITES, "_seconds", 0.02)
    made = StuckStore()
    yield made
    made.free.set()


async def test_nothing_is_sent_until_its_prompt_is_written(
    tmp_path: Path, store: StuckStore
) -> None:
    model = ScriptedModel(says("Here."))
    session = await SessionHarness(tmp_path, model, store=store).session()
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()
    forget = session.on_problem(lambda: loop.call_soon_threadsafe(changed.set))
    store.free.clear()
    turn = asyncio.create_task(ask(session, "Hello?"))

    await asyncio.wait_for(changed.wait(), LAST_RESORT_SECONDS)
    assert "The disk does not answer" in session.snapshot().problem
    assert head_of(session).problem == session.snapshot().problem
    assert model.requests == []
    store.free.set()
    answer = await turn

    assert (answer.text, answer.stopped_by) == ("Here.", "finished")
    await until(lambda: not session.snapshot().problem)
    assert head_of(session).problem is None
    assert "Hello?" in str(list(store.read(session.id)))
    forget()


async def test_a_disk_that_stays_stuck_ends_the_turn_with_a_sentence(
    tmp_path: Path, store: StuckStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_log, "MAX_STALL_SECONDS", 0.05)
    model = ScriptedModel(says("Never."))
    session = await SessionHarness(tmp_path, model, store=store).session()
    store.free.clear()

    answer = await ask(session, "Hello?")

    assert (answer.text, answer.stopped_by) == ("", "error")
    assert answer.error is not None
    assert "Nothing was sent to the model" in answer.error.message
    assert model.requests == []
    store.free.set()


async def test_an_answer_that_cannot_be_written_says_so(
    tmp_path: Path, store: StuckStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_log, "MAX_STALL_SECONDS", 0.05)
    model = ScriptedModel(says("Here.").pauses(0.2))
    session = await SessionHarness(tmp_path, model, store=store).session()
    turn = asyncio.create_task(ask(session, "Hello?"))
    await until(lambda: model.requests)
    store.free.clear()

    answer = await turn

    assert (answer.text, answer.stopped_by) == ("Here.", "error")
    assert answer.error is not None
    assert "could not be written" in answer.error.message
    store.free.set()


async def test_a_stop_ends_the_wait_for_a_stuck_disk(tmp_path: Path, store: StuckStore) -> None:
    model = ScriptedModel(says("Never."))
    session = await SessionHarness(tmp_path, model, store=store).session()
    store.free.clear()
    turn = asyncio.create_task(ask(session, "Hello?"))
    await until(lambda: session.snapshot().problem)

    session.cancel("Stopped.")
    store.free.set()
    answer = await turn

    assert (answer.stopped_by, model.requests) == ("cancelled", [])


async def test_the_cell_says_what_it_waits_for(tmp_path: Path, store: StuckStore) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(says("Here.")), store=store).session()
    origin = Origin(kind="cell", cell_id="one")
    feed = TurnFeed("pmt_1", origin)
    feed.subscribe_to(session)
    shown: list[str] = []
    story = CellOutput(
        feed,
        lambda data, *_, **__: shown.append(data["text/plain"]),
        scrub=str,
        is_watched=lambda: False,
    )
    store.free.clear()
    turn = asyncio.create_task(ask(session, "Hello?", origin=origin, prompt_id="pmt_1"))
    await until(lambda: feed.problem_count)

    await until(lambda: (story.refresh(), "The disk does not answer" in "".join(shown))[1])
    store.free.set()
    await turn
    feed.unsubscribe()
