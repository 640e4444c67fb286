"""Tests that every store must pass; run by a test class for each implementation."""

from collections.abc import Sequence

import pytest
from tests.store.record_builders import (
    OTHER,
    OWNER,
    SESSION,
    assistant,
    compaction,
    records,
    restored_state,
    session,
    text,
    user,
    whole_state,
)

from palimpsest.store.exchange.keyed_view import KeyedView
from palimpsest.store.interface import Store, TakenOver
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import apply_records
from palimpsest.transcript.errors import NotFound, SessionHeld, UserError
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    SessionCreated,
    SessionDiff,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import SessionInfo

TALK: tuple[Event, ...] = (
    SessionCreated(session=session()),
    user("msg_1"),
    text("prt_1", "msg_1", "How many penguins?"),
    assistant("msg_2"),
    text("prt_2", "msg_2", "344."),
)


def begin(store: Store, events: Sequence[Event] = TALK, session_id: str = SESSION) -> None:
    """Write a session, and release its lease."""
    writer = store.acquire(session_id, OWNER, create=True)
    writer.append(records(events), sync=True)
    writer.close()


def begin_many(store: Store, *sessions: SessionInfo) -> None:
    """Write several sessions, one after the other."""
    for each in sessions:
        begin(store, (SessionCreated(session=each),), each.id)


class StoreConformance:
    """Base class of the tests; a subclass provides a new ``store`` fixture for each test."""

    def test_reads_back_what_was_written(self, store: Store) -> None:
        begin(store)

        assert list(store.read(SESSION)) == records(TALK)

    def test_reads_what_follows_a_number(self, store: Store) -> None:
        begin(store)

        assert list(store.read(SESSION, after=3)) == records(TALK)[3:]
        assert list(store.read(SESSION, after=5)) == []

    def test_reads_only_the_types_that_are_asked_for(self, store: Store) -> None:
        begin(store)
        whole = records(TALK)

        assert list(store.read(SESSION, only=("message.updated",))) == [whole[1], whole[3]]
        assert list(store.read(SESSION, after=2, only=("message.part.updated",))) == [
            *whole[2:3],
            whole[4],
        ]
        assert list(store.read(SESSION, only=("session.created",))) == whole[:1]
        assert list(store.read(SESSION, only=("decision",))) == []

    def test_streams_newest_first(self, store: Store) -> None:
        begin(store)

        assert list(store.stream(SESSION)) == records(TALK)[::-1]

    def test_folds_the_same_however_it_is_opened(self, store: Store) -> None:
        begin(store)

        folded = apply_records(records(TALK))
        assert whole_state(store.load(SESSION)) == whole_state(folded)
        assert whole_state(store.open_live(SESSION)) == whole_state(folded)

    def test_a_later_writer_goes_on(self, store: Store) -> None:
        begin(store)
        writer = store.acquire(SESSION, OTHER)
        writer.append(records([assistant("msg_3")], first=6))

        assert [record.seq for record in store.read(SESSION)] == [1, 2, 3, 4, 5, 6]
        assert [record.seq for record in store.stream(SESSION)] == [6, 5, 4, 3, 2, 1]
        assert store.load(SESSION).seq == 6

    def test_unknown_sessions_are_said_to_be_unknown(self, store: Store) -> None:
        for use in (store.read, store.stream, store.load, store.open_live, store.delete):
            with pytest.raises(NotFound, match="no session 'ses_none'"):
                use("ses_none")
        with pytest.raises(NotFound, match="no session 'ses_none'"):
            store.acquire("ses_none", OWNER)
        with pytest.raises(NotFound, match="no session 'ses_none'"):
            store.fork("ses_none", session("ses_b"))

    def test_one_writer_at_a_time(self, store: Store) -> None:
        writer = store.acquire(SESSION, OWNER, create=True)
        writer.append(records(TALK))

        with pytest.raises(SessionHeld, match="Another kernel"):
            store.acquire(SESSION, OTHER)
        assert store.load(SESSION).seq == 5

    def test_the_same_kernel_takes_over_at_once(self, store: Store) -> None:
        old = store.acquire(SESSION, OWNER, create=True)
        old.append(records(TALK))
        new = store.acquire(SESSION, OWNER)
        new.append(records([assistant("msg_3")], first=6))

        assert new.epoch > old.epoch
        assert store.load(SESSION).seq == 6

    def test_a_writer_that_was_taken_over_goes_on_in_a_fork(self, store: Store) -> None:
        old = store.acquire(SESSION, OWNER, create=True)
        old.append(records(TALK))
        new = store.acquire(SESSION, OTHER, steal=True)
        new.append(records([assistant("msg_new")], first=6))

        with pytest.raises(TakenOver, match="is kept as session") as caught:
            old.append(records([assistant("msg_old")], first=6))
        taken = caught.value
        taken.writer.append(records([text("prt_old", "msg_old", "more")], first=8))
        assert [m.id for m in store.load(SESSION).messages()] == ["msg_1", "msg_2", "msg_new"]
        fork = store.load(taken.fork.id)
        assert [m.id for m in fork.messages()] == ["msg_1", "msg_2", "msg_old"]
        assert fork.part("msg_old", "prt_old") is not None
        assert fork.session == taken.fork
        assert taken.seq_shift == 1

    def test_lists_sessions_newest_first(self, store: Store) -> None:
        older, newer = session("ses_o"), session("ses_n", title="Whales")
        time = newer.time.model_copy(update={"updated": 9})
        begin_many(store, older, newer.model_copy(update={"time": time}))

        assert [(line.id, line.title) for line in store.list()] == [
            ("ses_n", "Whales"),
            ("ses_o", "Penguins"),
        ]

    def test_the_list_follows_changes(self, store: Store) -> None:
        begin(store)
        before = store.list()
        writer = store.acquire(SESSION, OWNER)
        renamed = SessionUpdated(session=session(title="Whales"))
        writer.append(records([renamed, assistant("msg_3")], first=6))

        assert [(line.title, line.messages) for line in before] == [("Penguins", 2)]
        assert [(line.title, line.messages) for line in store.list()] == [("Whales", 3)]

    def test_the_list_counts_what_a_fork_shares_with_its_parents(self, store: Store) -> None:
        begin(store)
        store.fork(SESSION, session("ses_f"), seq=3)
        writer = store.acquire("ses_f", OWNER)
        writer.append(records([assistant("msg_f")], first=5))
        writer.close()
        store.fork("ses_f", session("ses_g"))

        counted = {line.id: line.messages for line in store.list()}
        assert counted == {SESSION: 2, "ses_f": 2, "ses_g": 2}

    def test_the_list_counts_no_message_that_was_removed(self, store: Store) -> None:
        begin(store, (*TALK, assistant("msg_3"), assistant("msg_4"), user("msg_2")))
        writer = store.acquire(SESSION, OWNER)
        gone = [MessageRemoved(message_id=message_id) for message_id in ("msg_2", "msg_4")]
        writer.append(records([*gone, assistant("msg_5")], first=9))
        writer.close()

        assert [line.messages for line in store.list()] == [3]
        assert len(store.load(SESSION).messages()) == 3

    def test_a_fork_begins_with_all_of_its_parent(self, store: Store) -> None:
        begin(store)
        fork = store.fork(SESSION, session("ses_f", title="Fork"))

        state = store.load("ses_f")
        assert state.messages() == store.load(SESSION).messages()
        assert state.session == fork
        assert fork.forked_from is not None
        assert (fork.forked_from.session_id, fork.forked_from.seq) == (SESSION, 5)
        assert state.seq == 6

    def test_a_fork_can_leave_its_parent_earlier(self, store: Store) -> None:
        begin(store)
        store.fork(SESSION, session("ses_f"), seq=3)

        assert [m.id for m in store.load("ses_f").messages()] == ["msg_1"]
        assert [record.seq for record in store.read("ses_f")] == [1, 2, 3, 4]
        assert [record.seq for record in store.stream("ses_f")] == [4, 3, 2, 1]

    def test_a_fork_and_its_parent_go_their_own_ways(self, store: Store) -> None:
        begin(store)
        store.fork(SESSION, session("ses_f"))
        for session_id, message_id, first in ((SESSION, "msg_p", 6), ("ses_f", "msg_f", 7)):
            writer = store.acquire(session_id, OWNER)
            writer.append(records([assistant(message_id)], first=first))

        assert [m.id for m in store.load(SESSION).messages()] == ["msg_1", "msg_2", "msg_p"]
        assert [m.id for m in store.load("ses_f").messages()] == ["msg_1", "msg_2", "msg_f"]

    def test_a_fork_of_a_fork_reads_through_both(self, store: Store) -> None:
        begin(store)
        store.fork(SESSION, session("ses_f"), seq=4)
        writer = store.acquire("ses_f", OWNER)
        writer.append(records([assistant("msg_f")], first=6))
        store.fork("ses_f", session("ses_g"))
        store.fork("ses_f", session("ses_h"), seq=2)

        assert [m.id for m in store.load("ses_g").messages()] == ["msg_1", "msg_2", "msg_f"]
        assert [record.seq for record in store.read("ses_g")] == [1, 2, 3, 4, 5, 6, 7]
        assert [record.seq for record in store.read("ses_h")] == [1, 2, 3]
        assert whole_state(store.open_live("ses_g")) == whole_state(store.load("ses_g"))

    def test_deleting_a_session_takes_its_children_along(self, store: Store) -> None:
        begin_many(
            store,
            session("ses_p"),
            session("ses_c", parent_id="ses_p"),
            session("ses_d", parent_id="ses_c"),
            session("ses_other"),
        )
        store.delete("ses_p")

        assert [line.id for line in store.list()] == ["ses_other"]
        with pytest.raises(NotFound):
            store.load("ses_d")

    def test_a_parent_that_a_fork_needs_is_only_hidden(self, store: Store) -> None:
        begin(store)
        store.fork(SESSION, session("ses_f"))
        store.delete(SESSION)

        assert [line.id for line in store.list()] == ["ses_f"]
        assert [m.id for m in store.load("ses_f").messages()] == ["msg_1", "msg_2"]
        assert not store.load("ses_f").is_deleted

    def test_a_hidden_parent_goes_with_its_last_fork(self, store: Store) -> None:
        begin(store)
        store.fork(SESSION, session("ses_f"))
        store.delete(SESSION)
        store.delete("ses_f")

        assert store.list() == []
        with pytest.raises(NotFound):
            store.load(SESSION)

    def test_keeps_blobs_under_their_hash(self, store: Store) -> None:
        ref = store.put_blob(b"figure", "image/png")

        assert store.put_blob(b"figure", "image/png") == ref
        assert (ref.bytes, ref.mime) == (6, "image/png")
        assert store.get_blob(ref.sha256) == b"figure"
        with pytest.raises(NotFound, match="no blob"):
            store.get_blob("0" * 64)

    def test_a_journal_goes_on_where_a_live_window_was_opened(self, store: Store) -> None:
        begin(store, (*TALK, *_compacted(), user("msg_5", created=5)))
        for number in (6, 7):
            writer = store.acquire(SESSION, OWNER)
            journal = Journal(writer, store.open_live(SESSION), clock=lambda: 9, tick_seconds=0)
            journal.append(user(f"msg_{number}", created=number))
            journal.close()

        live, whole = store.open_live(SESSION), store.load(SESSION)
        assert live.seq == whole.seq
        assert live.session == whole.session
        assert live.older_count + len(live.messages()) == len(whole.messages()) == 7
        assert live.messages() == whole.messages()[-len(live.messages()) :]

    def test_reads_and_lists_by_key(self, store: Store) -> None:
        begin(store)
        writer = store.acquire(SESSION, OWNER)
        share = {"secret": "x", "url": "share/x.html", "session": SESSION}
        shared = session().model_copy(update={"share": share})
        changed = [SessionDiff(diff=({"file": "a.py"},)), SessionUpdated(session=shared)]
        writer.append(records([*changed, MessageRemoved(message_id="msg_2")], first=6))
        writer.close()
        keys = KeyedView(store)
        project = store.project_id

        assert keys.list() == [
            ("message", SESSION, "msg_1"),
            ("part", "msg_1", "prt_1"),
            ("session", project, SESSION),
            ("session_diff", SESSION),
            ("share", SESSION),
        ]
        assert keys.list(("part", "msg_1")) == [("part", "msg_1", "prt_1")]
        assert keys.list(("message", "ses_none")) == []
        assert keys.value_of_key(("part", "msg_1", "prt_1"))["text"] == "How many penguins?"
        assert keys.value_of_key(("message", SESSION, "msg_1"))["sessionID"] == SESSION
        assert keys.value_of_key(("session", project, SESSION))["projectID"] == project
        assert keys.value_of_key(("session_diff", SESSION)) == [{"file": "a.py"}]
        assert keys.value_of_key(("share", SESSION)) == share
        with pytest.raises(NotFound, match="There is nothing at"):
            keys.value_of_key(("message", SESSION, "msg_2"))
        with pytest.raises(UserError, match=r"\['todo', 'x'\] is no key. Keys are"):
            keys.value_of_key(("todo", "x"))

    def test_state_can_be_summarised_and_restored(self, store: Store) -> None:
        begin(store)
        state = store.load(SESSION)

        restored = restored_state(state.summary())
        assert restored.session == state.session
        assert restored.seq == state.seq
        assert restored.messages() == ()


def _compacted() -> tuple[Event, ...]:
    return (
        user("msg_3", created=3),
        compaction("prt_3", "msg_3"),
        assistant("msg_4", "msg_3", created=4, completed=4, summary=True),
    )
