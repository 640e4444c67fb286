"""The project's folder is private, knows its project, and holds blobs and a disposable index."""

import json
import stat
import subprocess
from pathlib import Path

import pytest
from tests.store.conformance import begin
from tests.store.record_builders import OWNER, SESSION

from palimpsest.store.blobs.blob_storage import MAX_INLINE_BYTES, keep_output
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.layout import LAYOUT_VERSION, find_project, open_project_folder
from palimpsest.transcript.errors import NotFound, StorageFailed
from palimpsest.transcript.values import BlobRef


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(tmp_path))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_the_users_alone_and_out_of_git(store: JsonlStore) -> None:
    begin(store)
    ref = store.put_blob(b"x")
    root = store.layout.root

    assert root.name == ".palimpsest"
    assert mode(root) == 0o700
    assert (root / ".gitignore").read_text() == "*\n"
    log = store.layout.session(SESSION) / "log-1.jsonl"
    assert mode(log) == mode(store.layout.blobs / ref.sha256[:2] / ref.sha256) == 0o600


def test_the_project_id_is_made_once_and_kept(tmp_path: Path) -> None:
    first, second = open_project_folder(tmp_path), open_project_folder(tmp_path)

    assert first.project_id == second.project_id
    assert json.loads((tmp_path / ".palimpsest" / "layout").read_text()) == {
        "version": LAYOUT_VERSION,
        "project_id": first.project_id,
    }


def test_the_project_id_is_the_root_commit_where_there_is_one(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "root"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)

    assert open_project_folder(tmp_path).project_id == head.stdout.strip()


def test_a_damaged_layout_file_is_written_again(tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(tmp_path))
    begin(store)
    (tmp_path / ".palimpsest" / "layout").write_text("{")
    opened, sentence = open_store(tmp_path)

    assert sentence is None
    assert [line.id for line in opened.list()] == [SESSION]


def test_finds_the_nearest_project_upwards(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    inner = repository / "work" / "notebooks"
    inner.mkdir(parents=True)

    assert find_project(inner) == inner
    (tmp_path / ".palimpsest").mkdir()
    assert find_project(inner) == tmp_path
    (repository / ".git").mkdir()
    assert find_project(inner) == inner
    (repository / ".palimpsest").mkdir()
    assert find_project(inner) == repository


def test_a_session_id_cannot_leave_the_folder(store: JsonlStore) -> None:
    for name in ("../x", "a/b", "", ".", "x" * 200):
        with pytest.raises(NotFound, match="is not the id of a session"):
            store.acquire(name, OWNER, create=True)
    with pytest.raises(NotFound, match="is not the hash of a blob"):
        store.get_blob("../../layout")


def test_a_damaged_blob_is_not_handed_out(store: JsonlStore) -> None:
    ref = store.put_blob(b"abc")
    path = store.layout.blobs / ref.sha256[:2] / ref.sha256
    path.write_bytes(b"xyz")

    with pytest.raises(NotFound, match="is damaged"):
        store.get_blob(ref.sha256)
    path.write_bytes(b"ab")
    store.put_blob(b"abc")
    assert store.get_blob(ref.sha256) == b"abc"


def test_a_small_output_stays_in_the_log() -> None:
    assert keep_output(MemoryStore(), "x" * MAX_INLINE_BYTES) == ("x" * MAX_INLINE_BYTES, None)


def test_a_large_output_is_kept_whole_and_shown_by_head_and_tail(store: JsonlStore) -> None:
    output = "head " + "\u4f01\u9d5d" * 20_000 + " tail"
    shown, ref = keep_output(store, output)

    assert ref is not None
    assert store.get_blob(ref.sha256).decode() == output
    assert (ref.chars, ref.bytes) == (len(output), len(output.encode()))
    assert len(shown.encode()) < MAX_INLINE_BYTES
    head, marker, tail = shown.split("\n")
    assert output.startswith(head)
    assert output.endswith(tail)
    left_out = len(output) - len(head) - len(tail)
    assert f"{left_out:,} of 40,010 characters left out here" in marker
    assert ref.sha256[:12] in marker


def test_an_output_stays_whole_in_the_log_when_no_blob_can_be_written() -> None:
    class Full(MemoryStore):
        def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:  # noqa: ARG002
            """Refuse."""
            raise StorageFailed("The disk is full.")

    assert keep_output(Full(), "x" * 100_000) == ("x" * 100_000, None)


def test_the_index_is_rebuilt_from_the_logs(store: JsonlStore) -> None:
    begin(store)
    listed = store.list()
    index = store.layout.index

    for content in ("", "{}", '{"version": 1, "sessions": {"ses_a": {}}}', '{"version": 9}'):
        index.write_text(content)
        assert store.list() == listed
    index.unlink()
    assert store.list() == listed
    assert json.loads(index.read_text())["sessions"][SESSION]["summary"]["title"] == "Penguins"


def test_the_index_notices_a_session_that_was_taken_away(store: JsonlStore) -> None:
    begin(store)
    store.list()
    directory = store.layout.session(SESSION)
    directory.rename(store.layout.root / "elsewhere")

    assert store.list() == []


def test_an_unused_segment_of_a_kernel_that_died_early_is_passed_over(store: JsonlStore) -> None:
    begin(store)
    (store.layout.session(SESSION) / "log-2.jsonl").touch()

    assert store.load(SESSION).seq == 5
    writer = store.acquire(SESSION, OWNER)
    assert writer.epoch == 3
    assert store.load(SESSION).seq == 5
    writer.close()


def test_closing_leaves_nothing_but_logs(store: JsonlStore) -> None:
    begin(store)

    left = {path.name for path in store.layout.session(SESSION).iterdir()}
    assert left == {"lock", "log-1.jsonl"}
