"""The checkpoint of a long recording is the one that its whole state has, and is written without that state."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

import pytest
from tests.recordings.import_journal.recordings import BEGIN, answer, load, read_call, result, user

from palimpsest.recordings.reading.recorded import CompactionRead, Recorded, UsageRead
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.kept_index import INDEX_FILE
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.store.session_state import message_facts
from palimpsest.store.session_state.live_window import (
    MAX_EARLIER_MESSAGES,
    live_window,
    window_checkpoint,
)
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.session_record.events import Checkpoint
from palimpsest.transcript.session_record.sessions import recorded_spending
from palimpsest.transcript.values import Usage

INFO, MESSAGE_ID = attrgetter("info"), attrgetter("id")
TURNS = 300
"""Two messages each."""
FEW_ANSWERS = 50
"""Number of answers whose usage may come late, in these tests."""
LATE, EARLY = 240, 30
"""Turns before a compaction: more messages than a running session keeps lie before it, or enough for an index after it."""


@pytest.fixture(autouse=True)
def _few_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_facts, "MAX_ANSWERS", FEW_ANSWERS)


def turns(*, compacted: bool, at: Sequence[int] = (EARLY, LATE)) -> Iterator[Recorded]:
    """Yield prompts, answers with a call, and results; an early call has none, and some usage comes late."""
    for number in range(TURNS):
        if compacted and number in at:
            yield CompactionRead(
                f"c{number}", summary="Bills were counted.", keeps_from=f"u{number}"
            )
        yield user(f"u{number}", f"How deep is bill {number}?", 1_000 + number)
        yield answer(f"a{number}", "I look.", read_call(f"call{number}"), created=1_000 + number)
        if number != TURNS - 9:
            yield result(f"call{number}", f"{number} mm")
        yield UsageRead(f"a{max(number - 3, 0)}", Usage(input=number, output=2), cost=0.1 * number)


def imported(folder: Path, *values: Recorded) -> tuple[JsonlStore, str]:
    (folder / "project").mkdir(exist_ok=True)
    store = JsonlStore(open_project_folder(folder / "project"))
    [session] = load(store, folder, BEGIN, *values).sessions
    return store, session.id


def written_checkpoint(store: JsonlStore, session_id: str) -> Checkpoint:
    """Return the checkpoint at the end of a log."""
    newest = next(store.stream(session_id)).event
    assert isinstance(newest, Checkpoint)
    return newest


def whole_checkpoint(store: JsonlStore, session_id: str) -> tuple[State, Checkpoint]:
    """Return the state before the last record, and its checkpoint."""
    *records, _ = store.read(session_id)
    state = apply_records(records)
    writer = store.acquire(session_id, this_owner("test"))
    window = live_window(state)
    segment, offset = writer.place_of_record(window.seq)
    *lines, _ = writer.written_lines(segment, offset)
    written = window_checkpoint(state, window, (segment, offset), lambda *_: lines)
    writer.close()
    return state, written


@pytest.mark.slow
@pytest.mark.parametrize("compacted", [False, True])
def test_checkpoint_is_that_of_the_whole_state(tmp_path: Path, *, compacted: bool) -> None:
    store, session_id = imported(tmp_path, *turns(compacted=compacted))
    index = store.layout.session(session_id) / INDEX_FILE
    kept = index.read_bytes()

    written = written_checkpoint(store, session_id)
    state, expected = whole_checkpoint(store, session_id)

    assert written.model_dump(exclude={"check"}) == expected.model_dump()
    assert ("window" in written.state) is compacted
    assert written.state.get("index") is not None or compacted
    assert written.state["messages"] == len(state.message_slots()) > MAX_EARLIER_MESSAGES
    store.keep_index(session_id, MessageFacts.of_messages(state.messages()))
    assert index.read_bytes() == kept


@pytest.mark.slow
def test_checkpoint_of_a_long_window_has_its_index(tmp_path: Path) -> None:
    store, session_id = imported(tmp_path, *turns(compacted=True, at=[EARLY]))

    written = written_checkpoint(store, session_id)

    assert (
        written.model_dump(exclude={"check"}) == whole_checkpoint(store, session_id)[1].model_dump()
    )
    assert written.state["index"]["spent"]["cost"] > 0
    assert "window" in written.state


@pytest.mark.slow
def test_a_recording_that_grew_opens_as_its_whole_log_says(tmp_path: Path) -> None:
    values = [*turns(compacted=False)]
    imported(tmp_path, *values[:-40])
    store, session_id = imported(tmp_path, *values)

    written = written_checkpoint(store, session_id)
    whole = store.load(session_id)
    opened = store.open_live(session_id)

    assert (written.window_segment, written.window_seq) == ("log-1.jsonl", live_window(whole).seq)
    assert "index" in written.state  # of the lines in the first segment
    assert [slot.id for slot in opened.message_slots()] == [
        slot.id for slot in whole.message_slots()
    ]
    assert {message.id for message in opened.unsettled_messages()} < {
        *map(MESSAGE_ID, whole.messages())
    }
    spent, uncounted = opened.reported_spending()
    assert recorded_spending(uncounted, spent) == recorded_spending(map(INFO, whole.messages()))
    assert opened.messages() == whole.messages()


@pytest.mark.slow
def test_window_is_what_a_whole_log_has_of_it(tmp_path: Path) -> None:
    store, session_id = imported(tmp_path, *turns(compacted=True))

    window, whole = store.open_window(session_id), store.load(session_id)

    assert len(window.message_slots()) < len(whole.message_slots())
    assert window.messages() == whole.messages()[-len(window.message_slots()) :]
    assert live_window(window).checkpoint_fields == live_window(whole).checkpoint_fields
