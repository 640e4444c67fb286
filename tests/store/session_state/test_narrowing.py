"""A running session keeps its live window and a few earlier messages in memory; the rest is in the log."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.record_builders import OWNER, SESSION, assistant, compaction, session, text, user

from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state import live_window
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    DecisionMade,
    Event,
    SessionCompacted,
    SessionCreated,
    SessionUpdated,
)

HELD = 6
TURNS = 40
EVERY = 5


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JsonlStore:
    monkeypatch.setattr(live_window, "MAX_EARLIER_MESSAGES", HELD)
    return JsonlStore(open_project_folder(tmp_path))


def begin(store: JsonlStore) -> Journal:
    writer = store.acquire(SESSION, OWNER, create=True)
    journal = Journal(writer, State(), clock=lambda: 5)
    journal.append(SessionCreated(session=session()))
    return journal


def turn(number: int) -> Iterator[Event]:
    """Yield the events of a prompt with its answer; a part of the first prompt is pinned."""
    yield user(f"msg_u{number}", created=number)
    yield text(f"prt_u{number}", f"msg_u{number}", f"Question {number}.", pinned=number == 0)
    yield assistant(f"msg_a{number}", f"msg_u{number}", created=number, completed=number)
    yield text(f"prt_a{number}", f"msg_a{number}", f"Answer {number}.")
    decision = Decision(
        id=f"dec_{number}", action="clear", rule="prune", message_id=f"msg_a{number}"
    )
    yield DecisionMade(decision=decision)


def summary(number: int) -> Iterator[Event]:
    """Yield the events of a completed compaction."""
    yield user(f"msg_c{number}", created=number)
    yield compaction(f"prt_c{number}", f"msg_c{number}")
    yield assistant(
        f"msg_s{number}", f"msg_c{number}", created=number, completed=number, summary=True
    )
    yield text(f"prt_s{number}", f"msg_s{number}", "What was said.")
    yield SessionCompacted(message_id=f"msg_c{number}")


def work(journal: Journal, turns: int = TURNS) -> list[int]:
    """Write turns with occasional compactions; return the number of messages in memory after each."""
    held = []
    for number in range(turns):
        journal.append(*turn(number))
        if number % EVERY == EVERY - 1:
            journal.append(*summary(number))
        assert journal.flush_sync()
        held.append(len(journal.state.messages()))
    return held


def test_a_session_holds_no_more_than_its_window_and_a_little(store: JsonlStore) -> None:
    journal = begin(store)
    held = work(journal)

    most = 2 + 2 * EVERY + HELD + 1
    assert max(held[EVERY * 3 :]) <= most
    assert len(journal.state.decisions) <= most
    assert journal.state.is_partial
    assert journal.state.older_count + len(journal.state.messages()) >= 2 * TURNS
    journal.close()


def test_nothing_is_lost_by_it(store: JsonlStore) -> None:
    journal = begin(store)
    work(journal)
    whole = store.load(SESSION)

    names = {message.id for message in journal.state.messages()}
    assert len(whole.messages()) == 2 * TURNS + 2 * (TURNS // EVERY)
    assert [m for m in whole.messages() if m.id in names] == list(journal.state.messages())
    assert journal.state.message("msg_u0") == whole.message("msg_u0")  # pinned messages stay
    journal.load_whole(lambda: store.load(SESSION))
    assert journal.state.messages() == whole.messages()
    assert journal.state.decisions == whole.decisions
    journal.close()
    assert store.load(SESSION).messages() == whole.messages()


def test_a_compaction_writes_a_checkpoint_that_a_killed_kernel_leaves(store: JsonlStore) -> None:
    journal = begin(store)
    work(journal)  # without closing it

    kinds = [record.event for record in store.read(SESSION, only=("session.checkpoint",))]
    assert len([kind for kind in kinds if isinstance(kind, Checkpoint)]) == TURNS // EVERY
    opened = JsonlStore(store.layout).open_live(SESSION)
    assert [message.id for message in opened.messages()][:3] == [
        "msg_u0",
        f"msg_c{TURNS - 1}",
        f"msg_s{TURNS - 1}",
    ]
    assert store.list()[0].messages == 2 * TURNS + 2 * (TURNS // EVERY)
    journal.close()


def test_what_a_person_took_back_is_held_until_it_is_final(store: JsonlStore) -> None:
    journal = begin(store)
    taken = session().model_copy(update={"revert": {"message_id": "msg_u0"}})
    journal.append(SessionUpdated(session=taken))
    work(journal, 20)

    assert not journal.state.is_partial
    journal.append(SessionUpdated(session=session()))
    journal.append(*summary(99))
    assert journal.flush_sync()
    assert journal.state.is_partial
    journal.close()


def test_a_later_opening_goes_on_as_the_running_session_would(store: JsonlStore) -> None:
    journal = begin(store)
    work(journal)
    held = [message.id for message in journal.state.messages()]
    journal.close()
    again = Journal(store.acquire(SESSION, OWNER), store.open_live(SESSION), clock=lambda: 5)
    again.append(*turn(77))
    again.append(*summary(77))
    assert again.flush_sync()

    assert [m.id for m in again.state.messages()][-4:] == [
        "msg_u77",
        "msg_a77",
        "msg_c77",
        "msg_s77",
    ]
    assert len(again.state.messages()) <= len(held) + 4
    again.close()
    assert len(store.load(SESSION).messages()) == 2 * TURNS + 2 * (TURNS // EVERY) + 4
