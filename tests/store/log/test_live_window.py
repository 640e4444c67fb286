"""A long session is opened by its live window, and written records are there after reopening."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.generate_session import generate
from tests.sample_size import sample_size
from tests.store.record_builders import (
    OWNER,
    SESSION,
    assistant,
    compaction,
    records,
    session,
    text,
    user,
    whole_state,
)
from tests.store.session_state.test_state import events

from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.segments import find_record_offset, lines_backward, lines_forward
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageRemoved,
    PromptAdmitted,
    SessionCreated,
)


def open_store(folder: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(folder), heartbeat_seconds=60, watch_seconds=0.01)


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return open_store(tmp_path)


def write(
    store: JsonlStore,
    *events: Event,
    first_message_id: str | None = None,
    session_id: str = SESSION,
) -> None:
    """Append to a session as a kernel does, and close it with a checkpoint."""
    writer = store.acquire(session_id, OWNER, create=True)
    state = store.open_live(session_id)
    book = Journal(writer, state, clock=lambda: state.seq, tick_seconds=0)
    if state.session is None:
        book.append(SessionCreated(session=session(session_id)))
    book.append(*events)
    if first_message_id is not None:
        book.checkpoint(first_message_id)
        book.flush_sync()
        writer.close()
    book.close()


def names(state: State) -> list[str]:
    return [message.id for message in state.messages()]


def turn(number: int, *, pinned: bool = False) -> list[Event]:
    name, created = f"msg_{number}", number * 100
    return [
        user(name, created=created),
        text(f"prt_{number}", name, "Why?", pinned=pinned),
        assistant(f"{name}a", name, created=created + 1, completed=created + 2),
    ]


def compacted(number: int, tail: str | None = None) -> list[Event]:
    name, created = f"msg_{number}", number * 100
    return [
        user(name, created=created),
        compaction(f"prt_{number}", name, tail),
        assistant(f"{name}s", name, created=created + 1, completed=created + 2, summary=True),
    ]


def test_a_session_that_was_never_compacted_is_live_from_its_beginning(store: JsonlStore) -> None:
    write(store, *(event for number in range(300) for event in turn(number)))

    live = store.open_live(SESSION)
    assert not live.is_partial
    assert live.messages() == store.load(SESSION).messages()


def test_the_window_begins_with_the_last_completed_compaction(store: JsonlStore) -> None:
    write(store, *turn(1), *compacted(2), *turn(3))

    live = store.open_live(SESSION)
    assert names(live) == ["msg_2", "msg_2s", "msg_3", "msg_3a"]
    assert (live.is_partial, live.older_count) == (True, 2)
    assert live.messages() == store.load(SESSION).messages()[2:]
    assert store.list()[0].messages == 6


def test_the_window_keeps_the_tail_of_the_compaction(store: JsonlStore) -> None:
    write(store, *turn(1), *turn(2), *compacted(3, "msg_2a"), *turn(4))

    assert names(store.open_live(SESSION))[:3] == ["msg_2a", "msg_3", "msg_3s"]


def test_a_compaction_that_failed_does_not_move_the_window(store: JsonlStore) -> None:
    write(store, *turn(1), *compacted(2)[:2], *turn(3))

    assert names(store.open_live(SESSION)) == ["msg_1", "msg_1a", "msg_2", "msg_3", "msg_3a"]


def test_pinned_messages_come_with_the_window(store: JsonlStore) -> None:
    pin = Decision(id="dec_1", action="pin", rule="person", message_id="msg_2", part_id="prt_2")
    clear = Decision(id="dec_2", action="clear", rule="prune", message_id="msg_1a")
    write(
        store,
        *turn(0, pinned=True),
        *turn(1),
        *turn(2),
        DecisionMade(decision=pin),
        DecisionMade(decision=clear),
        *compacted(3),
    )
    live = store.open_live(SESSION)

    assert names(live) == ["msg_0", "msg_2", "msg_3", "msg_3s"]
    assert live.message("msg_0") == store.load(SESSION).message("msg_0")
    assert [decision.id for decision in live.decisions] == ["dec_1"]
    write(store, *turn(4))
    assert names(store.open_live(SESSION)) == [
        "msg_0",
        "msg_2",
        "msg_3",
        "msg_3s",
        "msg_4",
        "msg_4a",
    ]
    assert store.open_live(SESSION).older_count == 6


def test_a_caller_may_say_where_the_window_begins(store: JsonlStore) -> None:
    write(store, *turn(1), *turn(2), *turn(3), first_message_id="msg_2a")

    assert names(store.open_live(SESSION)) == ["msg_2a", "msg_3", "msg_3a"]


def test_an_old_message_that_changes_later_stays_outside(store: JsonlStore) -> None:
    old = user("msg_1", created=100)
    write(store, *turn(1), *compacted(2), old, text("prt_1", "msg_1", "changed"), *turn(3))
    write(store, *turn(4))
    writer = store.acquire(SESSION, OWNER)
    last = store.load(SESSION).seq
    early = user("msg_clock_went_back", created=1)
    writer.append(records([old, early, text("prt_1", "msg_1", "once more")], first=last + 1))

    live = store.open_live(SESSION)
    assert names(live)[0] == "msg_2"
    assert "msg_1" not in names(live)
    assert names(live)[-1] == "msg_clock_went_back"


def test_what_follows_the_last_checkpoint_is_read(store: JsonlStore) -> None:
    write(store, *turn(1), *compacted(2))
    writer = store.acquire(SESSION, OWNER)
    last = store.load(SESSION).seq
    later = [*turn(3), PromptAdmitted(prompt_id="pmt_1", text="go", delivery="queue")]
    writer.append(records([*later, MessageRemoved(message_id="msg_2s")], first=last + 1))

    live = store.open_live(SESSION)
    assert names(live) == ["msg_2", "msg_3", "msg_3a"]
    assert list(live.inbox) == ["pmt_1"]
    assert live.seq == store.load(SESSION).seq


def test_an_unreadable_checkpoint_falls_back_to_the_one_before(store: JsonlStore) -> None:
    write(store, *turn(1), *compacted(2))
    write(store, *turn(3))
    log = max(store.layout.session(SESSION).glob("log-*.jsonl"))
    log.write_bytes(log.read_bytes().replace(b'"window_offset":', b'"window_offset":"x",'))

    assert names(store.open_live(SESSION)) == ["msg_2", "msg_2s", "msg_3", "msg_3a"]


def test_a_fork_opens_through_the_checkpoint_of_its_parent(store: JsonlStore) -> None:
    write(store, *turn(1), *compacted(2), *turn(3))
    store.fork(SESSION, session("ses_f"))
    write(store, *turn(4), session_id="ses_f")
    store.fork("ses_f", session("ses_g"))

    for name in ("ses_f", "ses_g"):
        live, whole = store.open_live(name), store.load(name)
        assert names(live) == ["msg_2", "msg_2s", "msg_3", "msg_3a", "msg_4", "msg_4a"]
        assert live.session == whole.session
        assert live.seq == whole.seq
        assert live.messages() == whole.messages()[2:]


@pytest.mark.slow
def test_lines_are_found_from_both_ends_and_by_number(store: JsonlStore) -> None:
    generate(store, "ses_long", turns=30)
    piece = store.segments.own_ranges("ses_long")[0]
    ahead = list(lines_forward(piece))

    assert list(lines_backward(piece)) == ahead[::-1]
    assert piece.path.read_bytes()[piece.start :] == b"".join(line + b"\n" for _, line in ahead)
    for index in range(0, len(ahead), 97):
        assert find_record_offset(piece, index + 1) == ahead[index][0]
    assert find_record_offset(piece, len(ahead) + 1) is None


@settings(max_examples=sample_size(25, 500), deadline=None)
@given(st.lists(events(), min_size=1, max_size=25), st.data())
def test_reopening_anywhere_gives_the_fold(script: Sequence[Event], data: st.DataObject) -> None:
    written = records(script)
    cut = data.draw(st.integers(0, len(written)))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder))
        for piece in (written[:cut], written[cut:]):
            writer = store.acquire(SESSION, OWNER, create=True)
            writer.append(piece)
            writer.close()
            expected = apply_records(written[: cut if piece is written[:cut] else None])
        reopened = open_store(Path(folder))

        assert whole_state(reopened.load(SESSION)) == whole_state(expected)
        assert whole_state(reopened.open_live(SESSION)) == whole_state(expected)
        assert list(reopened.read(SESSION)) == written
        assert list(reopened.stream(SESSION)) == written[::-1]
        assert whole_state(apply_records(list(reopened.stream(SESSION))[::-1])) == whole_state(
            expected
        )
        for after in range(len(written) + 1):
            assert list(reopened.read(SESSION, after=after)) == written[after:]


@pytest.mark.soak  # with each commit reopening anywhere gives the fold, above; this adds a log that was cut at any byte
@settings(max_examples=sample_size(25, 500), deadline=None)
@given(st.lists(events(), min_size=1, max_size=20), st.data())
def test_a_prefix_of_the_bytes_is_a_prefix_of_the_records(
    script: Sequence[Event], data: st.DataObject
) -> None:
    written = records(script)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder))
        writer = store.acquire(SESSION, OWNER, create=True)
        writer.append(written)
        writer.close()
        content = writer.path.read_bytes()
        header = content.index(b"\n") + 1
        cut = data.draw(st.integers(header, len(content)))
        writer.path.write_bytes(content[:cut])
        kept = content[header:cut].count(b"\n")

        assert whole_state(open_store(Path(folder)).load(SESSION)) == whole_state(
            apply_records(written[:kept])
        )
        again = store.acquire(SESSION, OWNER)
        again.append(written[kept:])
        again.close()
        assert whole_state(open_store(Path(folder)).load(SESSION)) == whole_state(
            apply_records(written)
        )
