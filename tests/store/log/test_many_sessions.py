"""A list of very many sessions shows the newest at once, and is cached while it is built."""

import threading
from pathlib import Path

import pytest
from tests.store.conformance import begin
from tests.store.record_builders import OWNER, SESSION, session
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.session.records.session_search import Query, search_page
from palimpsest.store.interface import SessionSummary
from palimpsest.store.log import session_index as indexing
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.session_record.events import Record, SessionCreated

COUNT = 60


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(tmp_path))


def fill(store: JsonlStore, count: int = COUNT) -> None:
    """Write sessions one after the other; the last one is the newest."""
    for number in range(count):
        name = f"ses_{number:03}"
        time = session().time.model_copy(update={"updated": 1_000 + number})
        created = SessionCreated(session=session(name).model_copy(update={"time": time}))
        writer = store.acquire(name, OWNER, create=True)
        writer.append([Record(seq=1, ts=number, event=created)])
        writer.close()


def stall(store: JsonlStore, monkeypatch: pytest.MonkeyPatch, after: int) -> threading.Event:
    """Block reading after so many sessions until the returned event is set."""
    go, read = threading.Event(), store._index._summarise
    count = iter(range(COUNT + 1))

    def slow(session_id: str) -> SessionSummary | None:
        if next(count) >= after:
            go.wait(LAST_RESORT_SECONDS)
        return read(session_id)

    monkeypatch.setattr(store._index, "_summarise", slow)
    return go


def test_the_newest_are_told_while_the_rest_is_read(
    store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    go = stall(store, monkeypatch, after=10)

    sessions, missing = store.recent_sessions(10)
    assert [summary.id for summary in sessions] == [
        f"ses_{number:03}" for number in range(COUNT - 1, 49, -1)
    ]
    assert missing == COUNT - 10
    assert store.recent_sessions(10) == (
        sessions,
        missing,
    )  # nobody waits for the thread that reads the rest

    go.set()
    assert [summary.id for summary in store.list()][:10] == [summary.id for summary in sessions]
    assert store.recent_sessions(10)[1] == 0


def test_what_was_read_is_kept_when_a_kernel_is_killed_half_way(
    store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    monkeypatch.setattr(indexing, "SAVE_SECONDS", 0)
    go = stall(store, monkeypatch, after=30)
    lister = threading.Thread(target=store.list)
    lister.start()
    while not store.layout.index.exists() or b"ses_031" not in store.layout.index.read_bytes():
        assert lister.is_alive()
    read: list[str] = []
    other = JsonlStore(store.layout)
    summarise = other._index._summarise
    monkeypatch.setattr(
        other._index, "_summarise", lambda name: (read.append(name), summarise(name))[1]
    )

    assert len(other.list()) == COUNT
    assert len(read) <= COUNT - 29
    go.set()
    lister.join()


def test_a_page_says_what_is_not_counted_yet() -> None:
    summaries = [SessionSummary(f"ses_{n}", f"{n}", None, n, n) for n in range(40)]

    shown = search_page(summaries, Query(), lambda _: (), unread_count=960)
    assert (shown.total, shown.unread_count, len(shown.sessions)) == (1_000, 960, 30)
    assert search_page(summaries[:30], Query(), lambda _: (), unread_count=970).cursor is not None


def test_what_is_no_session_is_passed_over(store: JsonlStore) -> None:
    begin(store)
    sessions = store.layout.sessions
    (sessions / "ses_dir" / "log-1.jsonl").mkdir(parents=True)
    (sessions / "ses_file").write_text("")
    (sessions / "ses_empty").mkdir()
    (sessions / "ses_link").symlink_to(sessions / SESSION)
    (sessions / "ses_linked").mkdir()
    (sessions / "ses_linked" / "log-1.jsonl").symlink_to(sessions / SESSION / "log-1.jsonl")
    (sessions / "..hidden").mkdir()

    listed = {summary.id for summary in store.list()}
    assert SESSION in listed
    assert listed <= {SESSION, "ses_link"}


def test_an_index_that_another_made_up_is_not_believed(store: JsonlStore) -> None:
    begin(store)
    listed = store.list()
    index = store.layout.index
    good = index.read_bytes()

    for wrong in (good.replace(b"Penguins", b"Pinguins"), good[:-1], b"[" * 100_000, b"\xff" * 9):
        index.write_bytes(wrong)
        assert JsonlStore(store.layout).list() == listed
        assert index.read_bytes() == good


def test_an_index_that_is_a_folder_stops_nobody(store: JsonlStore) -> None:
    begin(store)
    store.layout.index.mkdir()

    assert [summary.id for summary in store.list()] == [SESSION]
    assert [summary.id for summary in store.recent_sessions(5)[0]] == [SESSION]
