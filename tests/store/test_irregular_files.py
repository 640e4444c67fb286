"""A pipe, folder, link or damaged file at one of our paths never blocks, and is reported in a sentence."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sample_size import thinned
from tests.store.byte_damage import damaged
from tests.store.conformance import begin
from tests.store.record_builders import OTHER, SESSION, assistant, records, whole_state

from palimpsest.store.blobs.blob_storage import PackedObjects, places_of, read_place, write_pack
from palimpsest.store.blobs.blob_sweep import find_unneeded
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.exchange.json_export import export_json
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import Lease, LeaseFile, is_dead
from palimpsest.transcript.errors import NotFound, UserError

SEEDS = 160
Put = Callable[[Path], object]


def a_folder(path: Path) -> None:
    """Create a folder at the path."""
    path.mkdir()


def a_pipe(path: Path) -> None:
    """Create a named pipe at the path, which blocks whoever opens it."""
    os.mkfifo(path)


def a_link(path: Path) -> None:
    """Create a dangling link at the path."""
    path.symlink_to(path.parent / "nowhere")


def a_circle(path: Path) -> None:
    """Create a link at the path that points to itself."""
    path.symlink_to(path)


def nothing(path: Path) -> None:
    """Create an empty file at the path."""
    path.touch()


PUTS: tuple[Put, ...] = (a_folder, a_pipe, a_link, a_circle, nothing)


def replaced(path: Path, put: Put) -> None:
    path.unlink(missing_ok=True)
    put(path)


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    store = JsonlStore(open_project_folder(tmp_path))
    begin(store)
    return store


@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize("name", thinned(["log-2.jsonl", "log-7.jsonl", "lease.json", "lock"], 2))
def test_a_session_opens_whatever_lies_beside_its_log(
    store: JsonlStore, name: str, put: Put
) -> None:
    replaced(store.layout.session(SESSION) / name, put)
    fresh = JsonlStore(store.layout)

    assert [summary.id for summary in fresh.list()] == [SESSION]
    assert [message.id for message in fresh.load(SESSION).messages()] == ["msg_1", "msg_2"]
    fresh.problems(SESSION)
    writer = fresh.acquire(SESSION, OTHER)
    writer.append(records([assistant("msg_3")], first=6))
    writer.close()
    again = JsonlStore(store.layout)
    assert [message.id for message in again.open_live(SESSION).messages()][-1] == "msg_3"
    assert again.list()[0].messages == 3


@pytest.mark.parametrize("put", PUTS)
def test_a_log_that_is_no_file_leaves_the_others_alone(store: JsonlStore, put: Put) -> None:
    folder = store.layout.sessions / "ses_odd"
    folder.mkdir()
    put(folder / "log-1.jsonl")

    assert [summary.id for summary in JsonlStore(store.layout).list()] == [SESSION]
    assert JsonlStore(store.layout).load("ses_odd").messages() == ()


@pytest.mark.parametrize("put", PUTS)
def test_a_layout_file_that_is_none_is_said_or_made_again(tmp_path: Path, put: Put) -> None:
    open_project_folder(tmp_path)
    replaced(tmp_path / ".palimpsest" / "layout", put)
    opened, sentence = open_store(tmp_path)

    begin(opened)
    assert [summary.id for summary in opened.list()] == [SESSION]
    assert sentence is None or sentence.endswith(".")


@pytest.mark.parametrize("put", PUTS)
def test_a_blob_that_is_no_file_is_said_to_be_missing(store: JsonlStore, put: Put) -> None:
    ref = store.put_blob(b"abc")
    replaced(store.layout.blobs / ref.sha256[:2] / ref.sha256, put)

    with pytest.raises(NotFound, match=r"\.$"):
        store.get_blob(ref.sha256)
    find_unneeded(store.layout, 1e10, 1)


@pytest.mark.slow
def test_any_byte_of_a_lease_may_be_wrong(store: JsonlStore) -> None:
    file = LeaseFile(store.layout.session(SESSION))
    content = json.dumps(
        {name: getattr(Lease("h", 1, "k", 3, "5", 9), name) for name in Lease.__slots__}
    ).encode()
    for seed in range(SEEDS):
        file.path.write_bytes(damaged(seed, content)[1])
        held = file.current_lease()
        if held is not None:
            assert held.epoch >= 0
            is_dead(held)
            assert held.host.partition(":")[0] is not None


@pytest.mark.soak  # with each commit tests/store/log/test_damage.py has wrong bytes of a log; this adds the layout
@pytest.mark.slow
def test_any_byte_of_a_layout_may_be_wrong(tmp_path: Path) -> None:
    open_project_folder(tmp_path)
    path = tmp_path / ".palimpsest" / "layout"
    content = path.read_bytes()
    for seed in range(SEEDS):
        path.write_bytes(damaged(seed, content)[1])
        sentence = "."
        try:
            open_project_folder(tmp_path)
        except UserError as refused:
            sentence = str(refused)
        assert sentence.endswith(".")


@pytest.mark.slow
def test_any_byte_of_an_index_may_be_wrong(store: JsonlStore) -> None:
    listed = store.list()
    content = store.layout.index.read_bytes()
    for seed in range(SEEDS):
        store.layout.index.write_bytes(damaged(seed, content)[1])

        assert JsonlStore(store.layout).list() == listed


@pytest.mark.slow
def test_any_byte_of_a_pack_may_be_wrong(tmp_path: Path) -> None:
    contents = {name * 32: bytes([value]) * 400 for value, name in enumerate(["aa", "bb", "cc"])}
    name, _ = write_pack(tmp_path, contents)
    path = tmp_path / name
    content = path.read_bytes()
    for seed in range(SEEDS):
        path.write_bytes(damaged(seed, content)[1])
        for place in places_of(path).values():
            assert len(read_place(tmp_path, place)) <= len(content)
        packs = PackedObjects(tmp_path)
        for sha256 in contents:
            with pytest.raises(NotFound, match=r"\.$"):  # these names are not valid hashes
                packs.get(sha256)
    for put in PUTS:
        replaced(path, put)
        assert places_of(path) == {}
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_any_byte_of_an_exported_session_may_be_wrong(
    store: JsonlStore, tmp_path: Path, block: int
) -> None:
    path = tmp_path / "session.json"
    path.write_text("".join(export_json(store, SESSION, lambda value: value)), encoding="utf-8")
    content = path.read_bytes()
    for seed in range(block * SEEDS // 4, (block + 1) * SEEDS // 4):
        said, wrong = damaged(seed, content)
        path.write_bytes(wrong)
        other, sentence = MemoryStore(), "."
        try:
            report = import_sessions(other, path, lambda: 1_790_000_000_000)
            for summary in other.list():
                state = other.load(summary.id)
                whole_state(state)
                json.dumps(state.summary())
                "".join(export_json(other, summary.id, lambda value: value))
            assert all(problem.what.endswith(".") for problem in report.problems)
        except UserError as refused:
            sentence = str(refused)
        except Exception as error:
            raise AssertionError(f"{said}: {error!r}"[:400]) from error
        assert sentence.endswith(".")


@pytest.mark.parametrize("put", PUTS)
def test_an_export_that_is_no_file_is_refused_with_a_sentence(
    store: JsonlStore, tmp_path: Path, put: Put
) -> None:
    put(tmp_path / "session.json")

    with pytest.raises(UserError, match=r"\.$"):
        import_sessions(store, tmp_path / "session.json", lambda: 0)
