"""A cleanup deletes blobs that no session refers to, and no others."""

import os
import shutil
import time
from pathlib import Path

import pytest
from tests.store.conformance import begin
from tests.store.record_builders import OWNER, SESSION, records, session, tool, user

from palimpsest.store.blobs.blob_sweep import (
    DAY_SECONDS,
    MIN_AGE_SECONDS,
    delete_unneeded,
    find_unneeded,
)
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.parts import Span, ToolCompleted
from palimpsest.transcript.session_record.events import SessionCreated
from palimpsest.transcript.values import BlobRef

NOW = 1_700_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(tmp_path))


def put(store: JsonlStore, content: str, *, at: float = NOW - 30 * DAY_SECONDS) -> BlobRef:
    """Store a blob with an old modification time."""
    ref = store.put_blob(content.encode())
    os.utime(store.layout.blobs / ref.sha256[:2] / ref.sha256, (at, at))
    return ref


def use(store: JsonlStore, name: str, ref: BlobRef) -> None:
    """Write a session with a call whose output is the blob."""
    writer = store.acquire(name, OWNER, create=True)
    state = ToolCompleted(input={}, output="...", blob=ref, time=Span(start=1, end=2))
    writer.append(
        records([SessionCreated(session=session(name)), user("m"), tool("t", "m", state)])
    )
    writer.close()


def names(found: object) -> list[str]:
    return [blob.sha256 for blob in found]  # type: ignore[attr-defined]


def test_what_a_session_names_is_needed(store: JsonlStore) -> None:
    needed, unneeded = put(store, "needed"), put(store, "unneeded")
    use(store, SESSION, needed)

    first = find_unneeded(store.layout, NOW, 7)
    later = find_unneeded(store.layout, NOW + 8 * DAY_SECONDS, 7)

    assert (names(first.due_blobs), names(first.not_yet_due), first.needed_count) == (
        [],
        [unneeded.sha256],
        1,
    )
    assert names(later.due_blobs) == [unneeded.sha256]
    assert names(delete_unneeded(store.layout, later.due_blobs)) == [unneeded.sha256]
    assert store.get_blob(needed.sha256) == b"needed"
    with pytest.raises(NotFound):
        store.get_blob(unneeded.sha256)


def test_a_look_deletes_nothing(store: JsonlStore) -> None:
    unneeded = put(store, "unneeded")
    find_unneeded(store.layout, NOW, 7)

    assert names(find_unneeded(store.layout, NOW + 8 * DAY_SECONDS, 7).due_blobs) == [
        unneeded.sha256
    ]
    assert store.get_blob(unneeded.sha256) == b"unneeded"


def test_the_time_begins_when_the_session_is_deleted(store: JsonlStore) -> None:
    ref = put(store, "output")
    use(store, SESSION, ref)
    store.delete(SESSION)
    noted = (store.layout.blobs / "unneeded.json").stat().st_mtime

    assert names(find_unneeded(store.layout, noted + 6 * DAY_SECONDS, 7).not_yet_due) == [
        ref.sha256
    ]
    assert names(find_unneeded(store.layout, noted + 8 * DAY_SECONDS, 7).due_blobs) == [ref.sha256]


def test_a_fork_needs_what_its_deleted_parent_named(store: JsonlStore) -> None:
    ref = put(store, "output")
    use(store, SESSION, ref)
    store.fork(SESSION, session("ses_fork"))
    store.delete(SESSION)

    sweep = find_unneeded(store.layout, NOW + 30 * DAY_SECONDS, 7)

    assert (sweep.due_blobs, sweep.not_yet_due, sweep.needed_count) == ((), (), 1)
    store.delete("ses_fork")
    assert find_unneeded(store.layout, NOW + 30 * DAY_SECONDS, 7).needed_count == 0


def test_what_is_needed_again_begins_anew(store: JsonlStore) -> None:
    ref = put(store, "output")
    find_unneeded(store.layout, NOW, 7)
    use(store, SESSION, ref)
    find_unneeded(store.layout, NOW + 8 * DAY_SECONDS, 7)
    store.delete(SESSION)
    (store.layout.blobs / "unneeded.json").write_text("{}")

    assert names(find_unneeded(store.layout, NOW + 9 * DAY_SECONDS, 7).not_yet_due) == [ref.sha256]


def test_what_was_put_again_meanwhile_stays(store: JsonlStore) -> None:
    ref = put(store, "output")
    find_unneeded(store.layout, NOW, 0)
    due = find_unneeded(store.layout, NOW + DAY_SECONDS, 0).due_blobs

    store.put_blob(b"output")

    assert names(due) == [ref.sha256]
    assert delete_unneeded(store.layout, due) == ()
    assert store.get_blob(ref.sha256) == b"output"


def test_even_without_retention_a_fresh_blob_stays(store: JsonlStore) -> None:
    ref = put(store, "output", at=NOW)
    find_unneeded(store.layout, NOW, 0)

    assert names(find_unneeded(store.layout, NOW + MIN_AGE_SECONDS / 2, 0).not_yet_due) == [
        ref.sha256
    ]
    assert names(find_unneeded(store.layout, NOW + MIN_AGE_SECONDS, 0).due_blobs) == [ref.sha256]


def test_a_cleanup_that_was_killed_loses_nothing(store: JsonlStore) -> None:
    ref = put(store, "output")
    path = store.layout.blobs / ref.sha256[:2] / ref.sha256
    path.rename(path.with_name(f".{ref.sha256}.12345678"))

    find_unneeded(store.layout, NOW, 7)

    assert store.get_blob(ref.sha256) == b"output"


def test_a_name_that_lies_across_two_reads_is_found(
    store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store)
    ref = put(store, "output")
    use(store, "ses_other", ref)

    for size in range(65, 130, 7):
        monkeypatch.setattr("palimpsest.store.blobs.blob_sweep.CHUNK_BYTES", size)
        assert find_unneeded(store.layout, NOW, 7).needed_count == 1


def test_what_a_killed_deletion_left_goes_with_a_later_cleanup(
    store: JsonlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(store, SESSION, put(store, "needed"))
    monkeypatch.setattr(shutil, "rmtree", lambda *_arguments, **_more: None)
    store.delete(SESSION)  # renamed, then killed before the deletion
    monkeypatch.undo()
    (left,) = store.layout.sessions.iterdir()

    delete_unneeded(store.layout, ())
    assert left.exists(), "it was taken away a moment ago, and may be put back"
    later = time.time() + MIN_AGE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    delete_unneeded(store.layout, ())

    assert list(store.layout.sessions.iterdir()) == []
