"""A session of another kernel is followed through changes of its folder and of its listeners."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.store.conformance import begin
from tests.store.log.test_faults import open_here
from tests.store.record_builders import OWNER, SESSION, assistant, records
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.session.open_sessions import followed_session
from palimpsest.session.open_sessions.followed_session import FollowedSession
from palimpsest.transcript.session_record.events import Record


def test_following_goes_on_when_the_folder_was_away_and_a_listener_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_session, "POLL_SECONDS", 0.01)
    store, reader = open_here(tmp_path), open_here(tmp_path)
    begin(store)
    session = FollowedSession(reader, SESSION, reader.open_live(SESSION), "Another kernel has it.")
    heard: list[int] = []
    looked, came = threading.Event(), threading.Event()
    poll = session._follower.new_records

    def counted() -> Sequence[Record]:
        try:
            return poll()
        finally:
            looked.set()

    def fails(_records: Sequence[Record]) -> None:
        raise ValueError("This listener is broken.")

    def listens(told: Sequence[Record]) -> None:
        heard.extend(record.seq for record in told)
        came.set()

    monkeypatch.setattr(session._follower, "new_records", counted)
    session.subscribe(fails)
    session.subscribe(listens)
    folder = store.layout.session(SESSION)
    folder.rename(tmp_path / "away")
    looked.clear()
    assert looked.wait(LAST_RESORT_SECONDS)
    (tmp_path / "away").rename(folder)
    writer = store.acquire(SESSION, OWNER)
    writer.append(records([assistant("msg_3")], first=6))
    writer.close()
    assert came.wait(LAST_RESORT_SECONDS)
    session._stop_event.set()

    assert heard == [6]
    assert [message.id for message in session.snapshot().messages][-1] == "msg_3"
