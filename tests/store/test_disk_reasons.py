"""What a disk refuses is said in words of a person, wherever something of ours is written, and nothing half is left."""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from tests.store.conformance import begin
from tests.store.full_disk import fill, full_disk, no_growth, read_only_disk, small_disk
from tests.store.record_builders import OWNER, SESSION

from palimpsest.app.first_request_notice import FirstRequestNotice
from palimpsest.review.corpus.corpus_tables import write_parquet
from palimpsest.review.recorded_sessions import recording as recordings
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.session.permissions.effective_rules import Approvals
from palimpsest.session.permissions.grants import Grants
from palimpsest.session.trust.trust_store import TrustStore
from palimpsest.store.exchange.plain_database import opened_database
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.project_folder.layout import ProjectNumber, open_project_folder
from palimpsest.testing import ScriptedModel, isolated_session, says
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.strings.disk_words import SENTENCE_BEGINNINGS, disk_reason
from palimpsest.transcript.values import Rule

FULL = "The disk is full"


@pytest.mark.parametrize(("number", "words"), SENTENCE_BEGINNINGS.items())
def test_each_reason_is_a_sentence(number: int, words: str) -> None:
    assert disk_reason(OSError(number, os.strerror(number))) == words


def test_another_reason_is_told_as_the_system_tells_it() -> None:
    assert disk_reason(OSError(errno.EBUSY, "busy")) == "The disk refused (busy)"
    assert disk_reason(OSError("odd")) == "The disk refused (odd)"


@contextmanager
def grows_no_more(folder: Path) -> Iterator[Path]:
    with no_growth():
        yield folder


@contextmanager
def long_name(folder: Path) -> Iterator[Path]:
    yield folder / f"{'x' * 300}.json"


@contextmanager
def closed(folder: Path) -> Iterator[Path]:
    if os.geteuid() == 0:
        pytest.skip("The administrator may write anywhere.")
    made = folder / "closed"
    made.mkdir(mode=0o555)
    yield made


Fault = Callable[[Path], AbstractContextManager[Path]]
FAULTS: dict[str, tuple[Fault, str]] = {
    "full": (full_disk, FULL),
    "read-only": (read_only_disk, "The disk is read-only"),
    "limit": (grows_no_more, "The file is larger than the disk or a limit allows"),
    "name": (long_name, "The name is too long"),
    "closed": (closed, "The folder may not be written"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_export_says_it_and_the_session_goes_on(fault: str, tmp_path: Path) -> None:
    broken, words = FAULTS[fault]
    with isolated_session(ScriptedModel(says("One."), says("Two."))) as session:
        session.prompt("First")
        with broken(tmp_path) as folder, pytest.raises(StorageFailed, match=words):
            session.export("json", folder)

        assert session.prompt("Second").text == "Two."
        assert Path(session.export("json")).is_file()


@pytest.mark.parametrize("fault", ["full", "read-only", "limit"])
def test_a_table_says_it_and_trust_ends_with_the_kernel(fault: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")

    class Table:
        def to_dataframe(self) -> object:
            return pytest.importorskip("pandas").DataFrame({"a": [1]})

    broken, words = FAULTS[fault]
    with broken(tmp_path) as folder:
        table = folder / "table.parquet"
        with pytest.raises(StorageFailed, match=f"{words}: .*table.parquet"):
            write_parquet(Table(), table)  # type: ignore[arg-type]
        trust = TrustStore(folder)
        trust.add(["digest"], ["a.toml"], tmp_path)
        assert trust.is_trusted("digest")
        assert f"This trust ends with this kernel. {words}: " in trust.unwritten(tmp_path)
        assert [file.name for file in folder.iterdir() if file.name.startswith("t")] == []
    trust.remove(tmp_path)
    assert trust.unwritten(tmp_path) == ""


def test_a_fork_and_a_session_that_cannot_begin_leave_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path) as project:
        store, _ = open_store(project)
        begin(store)
        before = sorted((project / ".palimpsest/sessions").iterdir())
        fill(project)
        other = store.load(SESSION).session
        assert other is not None
        with pytest.raises(StorageFailed, match=FULL):
            store.fork(SESSION, other.model_copy(update={"id": "ses_fork"}))
        with pytest.raises(StorageFailed, match=FULL):
            store.acquire("ses_new", OWNER, create=True)
        assert sorted((project / ".palimpsest/sessions").iterdir()) == before


@pytest.mark.parametrize("room", [False, True])
def test_a_full_disk_still_deletes(room: bool, tmp_path: Path) -> None:  # noqa: FBT001
    with small_disk(tmp_path) as project:
        store, _ = open_store(project)
        begin(store)
        blob = store.put_blob(b"x" * 9_000)
        filler = fill(project)
        if room:
            filler.unlink()
        store.delete(SESSION)

        assert [summary.id for summary in store.list()] == []
        assert not (project / ".palimpsest/sessions" / SESSION).exists()
        assert store.get_blob(blob.sha256) == b"x" * 9_000


def test_what_a_fork_needs_stays_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path) as project:
        store, _ = open_store(project)
        begin(store)
        session = store.load(SESSION).session
        assert session is not None
        store.fork(SESSION, session.model_copy(update={"id": "ses_fork"}))
        fill(project)
        with pytest.raises(StorageFailed, match=FULL):
            store.delete(SESSION)
        assert (project / ".palimpsest/sessions" / SESSION).is_dir()
        store.delete("ses_fork")
        assert [summary.id for summary in store.list()] == [SESSION]


def test_what_is_allowed_and_revoked_is_written_when_there_is_room_again(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    number = ProjectNumber(open_project_folder(project).root)
    number.make()
    git, ls = (
        Rule(permission="bash", pattern=pattern, action="allow") for pattern in ("git *", "ls *")
    )
    with small_disk(tmp_path) as state:
        (state / "palimpsest").mkdir(mode=0o700)

        def opened() -> Approvals:
            return Approvals(Grants(project, number, folder=state / "palimpsest" / "grants"))

        here = opened()
        here.add((git,), "ses_1")
        filler = fill(state)
        here.add((ls,), "ses_1")
        here.remove(git)
        unwritten = here.grants.unwritten
        assert (here.rules(), opened().rules()) == ((ls,), (git,))
        filler.unlink()
        assert here.grants.unwritten == ""
        assert here.problem == ""
        assert (here.rules(), opened().rules()) == ((ls,), (ls,))

    assert unwritten.startswith(
        "What you allow holds until this kernel ends, because the disk is full: "
    )


def test_a_notice_that_is_not_kept_is_shown_again(tmp_path: Path) -> None:
    with full_disk(tmp_path) as folder:
        for detail in ("names", "values"):
            notice = FirstRequestNotice(tmp_path / "project", detail, folder / "told")  # type: ignore[arg-type]
            assert notice.notice_text("somebody")
        assert list((folder / "told").iterdir()) == []


@pytest.fixture
def no_room_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with full_disk(tmp_path) as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


def test_a_copy_of_a_database_and_an_opened_recording_say_it(
    no_room_for_temporary_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "opencode.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE session (id TEXT)")
        connection.commit()
        with pytest.raises(StorageFailed, match=FULL), opened_database(database, {}):
            pass
    recording = tmp_path / "recording.json"
    recording.write_text('{"messages": [{"role": "user", "content": "Hi"}]}')
    monkeypatch.setattr(recordings, "MAX_MEMORY_BYTES", 0)  # a small one needs no folder
    with pytest.raises(StorageFailed, match=FULL):
        open_recording(recording)

    assert [path.name for path in no_room_for_temporary_files.iterdir()] == ["filler"]


def test_without_a_folder_for_temporary_files_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr(recordings, "MAX_MEMORY_BYTES", 0)
    (tmp_path / "recording.json").write_text('{"messages": [{"role": "user", "content": "Hi"}]}')
    with pytest.raises(StorageFailed, match=r"Make room there, or name another one in .* TMPDIR"):
        open_recording(tmp_path)
