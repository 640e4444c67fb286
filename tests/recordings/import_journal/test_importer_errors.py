"""An importer's own error stands with its traceback in the project's log, and one sentence says where."""

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.recordings.import_journal.recordings import (
    BEGIN,
    NOW,
    ListedValuesImporter,
    no_other_importers,
    user,
)

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.import_journal import importer_errors
from palimpsest.recordings.import_journal.registry import ImporterRegistry
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.recorded import Recorded
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.errors import UserError

KEY = "sk-ant-api03-" + "a1B2c3D4" * 11


class _BrokenReader(ListedValuesImporter):
    """Fails behind its first message, as one does that met a field of another type."""

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        yield from super().read(path, report)
        raise AttributeError(f"'str' object has no attribute 'get' \x1b[31m {KEY}")


class _BrokenRecogniser(ListedValuesImporter):
    def recognises(self, head: Head) -> bool:
        return bool(1 / (len(head.start) - len(head.start)))


class _BrokenWhole(ListedValuesImporter):
    def import_whole(
        self,
        store: Store,
        path: Path,
        clock: Callable[[], int],
        control: ImportControl | None,
    ) -> ImportReport:
        raise KeyError(str((store, path, clock, control))[:9])


class _NamelessImporter:
    """Has none of what an importer must have."""

    def recognises(self, head: Head) -> bool:
        return bool(head.start)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def bring(importer: object, store: Store, folder: Path) -> ImportReport:
    path = folder / "recording.listed"
    path.write_text("listed")
    registry = ImporterRegistry([importer], no_other_importers)  # type: ignore[list-item]
    return registry.import_from(store, path, lambda: NOW)


@pytest.mark.parametrize(
    ("importer", "kind", "line"),
    [
        (_BrokenReader([BEGIN, user("u1", "Hello")]), "AttributeError", "raise AttributeError"),
        (_BrokenRecogniser([]), "ZeroDivisionError", "return bool(1 / "),
        (_BrokenWhole([]), "KeyError", "raise KeyError"),
        (_NamelessImporter(), "AttributeError", "importer.read"),
    ],
)
def test_a_broken_importer_is_told_in_one_sentence_and_logged_with_its_line(
    project: Path, tmp_path: Path, importer: object, kind: str, line: str
) -> None:
    store = JsonlStore(open_project_folder(project))

    report = bring(importer, store, tmp_path)

    [problem] = report.problems
    log = project / ".palimpsest" / "errors.log"
    title = getattr(importer, "title", "_NamelessImporter")
    said = f"the importer of {title} has an error of its own ({kind}), and its traceback is in {str(log)!r}."
    assert problem.what.endswith(said)
    assert "\n" not in problem.what
    logged = log.read_text(encoding="utf-8")
    assert re.search(r'File ".*test_importer_errors\.py|journal_writer\.py", line \d+', logged)
    assert line in logged
    assert str(tmp_path / "recording.listed") in logged
    assert KEY not in logged
    assert "\x1b" not in logged
    assert log.stat().st_mode & 0o777 == 0o600


def test_what_was_read_before_the_error_is_kept_and_a_second_error_is_added(
    project: Path, tmp_path: Path
) -> None:
    store = JsonlStore(open_project_folder(project))
    broken = _BrokenReader([BEGIN, user("u1", "Hello")])

    for _ in range(2):
        [session] = bring(broken, store, tmp_path).sessions

    assert session.messages == 1
    logged = (project / ".palimpsest" / "errors.log").read_text(encoding="utf-8")
    assert logged.count("Traceback (most recent call last)") == 2


def test_a_long_log_is_begun_anew(project: Path, tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(project))
    log = project / ".palimpsest" / "errors.log"
    log.write_text("x" * (importer_errors.MAX_LOG_BYTES + 1))

    bring(_BrokenReader([BEGIN]), store, tmp_path)

    assert log.with_name("errors.log.1").read_text()[0] == "x"
    assert log.read_text().count("Traceback") == 1


def test_a_log_that_is_a_link_is_left_alone(project: Path, tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(project))
    (tmp_path / "mine.txt").write_text("mine")
    (project / ".palimpsest" / "errors.log").symlink_to(tmp_path / "mine.txt")

    [problem] = bring(_BrokenReader([BEGIN]), store, tmp_path).problems

    assert "could not be written to" in problem.what
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_without_a_project_the_log_lies_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    [problem] = bring(_BrokenReader([BEGIN]), MemoryStore(), tmp_path).problems

    [log] = tmp_path.glob("palimpsest-errors-*/errors.log")
    assert str(log) in problem.what


class _LongWinded(ListedValuesImporter):
    title = "Long\n\x1b[31m"

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:  # noqa: ARG002
        raise ValueError("x" * 1_000_000)


def test_a_message_of_any_length_leaves_the_line_and_a_title_stays_one_line(
    project: Path, tmp_path: Path
) -> None:
    [problem] = bring(_LongWinded([]), JsonlStore(open_project_folder(project)), tmp_path).problems

    logged = (project / ".palimpsest" / "errors.log").read_text(encoding="utf-8")
    assert 'raise ValueError("x" * 1_000_000)' in logged
    assert len(logged) < importer_errors.MAX_TRACEBACK_CHARS
    assert problem.what.isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_a_pipe_in_the_place_of_the_log_is_not_waited_for(project: Path, tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(project))
    os.mkfifo(project / ".palimpsest" / "errors.log")

    [problem] = bring(_BrokenReader([BEGIN]), store, tmp_path).problems

    assert "could not be written to" in problem.what


def test_what_the_system_refuses_is_said_as_such(project: Path, tmp_path: Path) -> None:
    class Unread(ListedValuesImporter):
        def read(self, path: Path, report: Report) -> Iterator[Recorded]:  # noqa: ARG002
            yield BEGIN
            raise TimeoutError

    [problem] = bring(Unread([]), JsonlStore(open_project_folder(project)), tmp_path).problems

    assert problem.what == "Nothing more of it can be read: TimeoutError."


def test_in_a_folder_a_broken_importer_is_logged_once_and_the_others_read_on(
    project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder := tmp_path / "recordings").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (folder / name).write_text("listed")
    registry = ImporterRegistry(
        [_BrokenRecogniser([]), ListedValuesImporter([BEGIN, user("u1", "Hello")])],
        no_other_importers,
    )

    report = registry.import_from(JsonlStore(open_project_folder(project)), folder, lambda: NOW)

    assert [session.messages for session in report.sessions] == [1]
    assert [record.exc_info is not None for record in caplog.records] == [True]


LINES, DOCUMENT, ARCHIVE = "chat.jsonl", "run.traj.json", "run.eval"


def _broken_file(folder: Path, name: str) -> Path:
    path = folder / name
    if name == LINES:
        path.write_bytes(b'{"messages": [{"role": "user", "content": "Hi"}]}\n{"messages": [{"ro\n')
    elif name == DOCUMENT:
        path.write_bytes(b'{"info": {"mini_version": "2.0"}, "messages": [{"role": "user", "co')
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("_journal/start.json", '{"eval": {"eval_id": "one"}}')
            archive.writestr("samples/1_epoch_1.json", '{"id": 1, "events": [')
    return path


@pytest.mark.parametrize("name", [LINES, DOCUMENT, ARCHIVE])
def test_a_broken_file_is_no_error_of_the_importer(
    project: Path, tmp_path: Path, name: str
) -> None:
    store = JsonlStore(open_project_folder(project))
    path = _broken_file(tmp_path, name)

    try:
        said = [problem.what for problem in REGISTRY.import_from(store, path, lambda: NOW).problems]
    except UserError as refused:
        said = [str(refused)]

    assert said
    assert all(sentence.endswith(".") and "error of its own" not in sentence for sentence in said)
    assert not (project / ".palimpsest" / "errors.log").exists()


def test_of_a_recording_that_is_only_opened_it_lies_in_the_project_at_hand(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_project_folder(project)
    monkeypatch.chdir(project)
    path = tmp_path / "recording.listed"
    path.write_text("listed")
    registry = ImporterRegistry([_BrokenReader([BEGIN, user("u1", "Hello")])], no_other_importers)
    monkeypatch.setattr("palimpsest.review.recorded_sessions.recording.REGISTRY", registry)

    with open_recording(path) as recording:
        [problem] = recording.problems

    log = project / ".palimpsest" / "errors.log"
    assert str(log) in problem.what
    assert "raise AttributeError" in log.read_text(encoding="utf-8")
