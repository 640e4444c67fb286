"""Recognise the format of a recording by its content, and import it, or all recordings of a folder.

Third-party importers come from installed distributions, by the entry point group ``palimpsest.importers``; they are
loaded where no built-in importer recognises a source, and never by a name in a file.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from palimpsest.recordings.import_journal.captured_answers import CapturedAnswers
from palimpsest.recordings.import_journal.folder_search import FolderContents, search_folder
from palimpsest.recordings.import_journal.importer_errors import errors_folder
from palimpsest.recordings.import_journal.journal_writer import ImportLog, RecordingImport, size_of
from palimpsest.recordings.reading.importer import AnyImporter, CaptureImporter, Head, WholeImporter
from palimpsest.recordings.reading.reading_budget import reading_within_budget
from palimpsest.recordings.reading.sources import head_of, is_compressed
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.session_notes import NOTES_ENDING
from palimpsest.transcript.errors import NotFound, UserError

ENTRY_POINT_GROUP = "palimpsest.importers"
NOTES_ALONE_SENTENCE = "{path!r} holds notes on a recording, not the recording itself; name {recording!r}, and they come along."
LOGGER = logging.getLogger(__name__)

FailureHandler = Callable[[AnyImporter, Exception], None]


class ImporterRegistry:
    """The importers, in the order in which they are tried."""

    def __init__(
        self,
        built_in: Iterable[AnyImporter],
        other_importers: Callable[[], Sequence[AnyImporter]] | None = None,
    ) -> None:
        """``other_importers`` returns the third-party importers; tests pass their own."""
        self._built_in = built_in
        self._other_importers = installed_importers if other_importers is None else other_importers
        self._ids_of_failed: set[int] = set()
        """The ``id()`` of each importer whose own error was logged, so that it is logged once."""

    def recognise(self, path: Path, on_failure: FailureHandler | None = None) -> AnyImporter | None:
        """Return the importer of a path, or None; an error of an importer is passed to ``on_failure`` or logged once."""
        head, on_failure = head_of(path), on_failure or self._log_once
        importer = _first_that_recognises(self._built_in, head, on_failure)
        if importer is None:
            importer = _first_that_recognises(self._other_importers(), head, on_failure)
        return importer

    def _log_once(self, importer: AnyImporter, error: Exception) -> None:
        if id(importer) not in self._ids_of_failed:
            self._ids_of_failed.add(id(importer))
            LOGGER.warning("The importer %r cannot recognise files.", importer, exc_info=error)

    def titles(self) -> str:
        """Return the titles of all formats, in one line."""
        return ", ".join(dict.fromkeys(importer.title for importer in self._built_in))

    def import_from(
        self,
        store: Store,
        path: Path,
        clock: Callable[[], int],
        control: ImportControl | None = None,
        *,
        without_subagents: bool = False,
        errors_in: Callable[[], Path] | None = None,
        captured: Path | None = None,
    ) -> ImportReport:
        """Import the sessions at a path; raises UserError with one sentence where there are none.

        A folder that is no recording itself is searched for recordings. With ``without_subagents`` only the recording
        itself is imported; otherwise the other recordings in its folder are, too. Of the recordings in a folder, as with
        ``without_subagents``, subagents in separate recordings are not searched for. ``captured`` is a capture of the recording's requests, with which it is
        joined; in a folder, recordings are joined with the captures there. ``errors_in`` returns the folder in whose
        ``errors.log`` an importer's own error is written; by default that of the store's project.
        """
        _check_is_source(path)
        log = ImportLog(errors_in or partial(errors_folder, store))
        importer = self.recognise(path, partial(_report_failure, log, path))
        has_failed = bool(log.problems)
        contents = search_folder(path, self._importer_of, importer)
        if captured is not None:
            contents = replace(
                contents, recordings=(*contents.recordings, self._capture_with_importer(captured))
            )
        captured_answers = _captured_answers(contents, importer, log)
        task = _ImportTask(
            store, clock, log, control or ImportControl(), captured_answers, contents
        )
        if importer is not None:
            task.import_recording(importer, path, without_subagents=without_subagents)
        elif is_compressed(path):
            raise UserError(f"{str(path)!r} is compressed: unpack it, and open what comes out.")
        elif not task.import_contents():
            if has_failed:
                return log.import_report()
            if contents.compressed_files:
                raise UserError(
                    f"{str(path)!r} holds no session that can be imported, but compressed files such as "
                    f"{contents.compressed_files[0].name!r}: unpack them, and import what comes out."
                )
            raise UserError(
                f"{str(path)!r} holds no session that can be imported; what can be: {self.titles()}."
            )
        return log.import_report()

    def _capture_with_importer(self, path: Path) -> tuple[Path, AnyImporter]:
        """Return a capture with its importer; raises UserError where the path is not a capture."""
        if not path.exists():
            raise NotFound(f"There is no {str(path)!r}.")
        importer = self._importer_of(path)
        if not isinstance(importer, CaptureImporter):
            raise UserError(
                f"{str(path)!r} is no captured HTTP; give a HAR file, or the lines of claude-tap or claude-trace."
            )
        return path, importer

    def contents(self, path: Path) -> FolderContents:
        """Return the recordings at or below a path, sorted, and the other files; a project's folder is not a recording."""
        importer = self._importer_of(path)
        contents = search_folder(path, self._importer_of, importer)
        if importer is not None:
            contents = replace(contents, recordings=((path, importer), *contents.recordings))
        return contents

    def _importer_of(self, path: Path) -> AnyImporter | None:
        try:
            return self.recognise(path)
        except (OSError, UserError):
            return None


def _check_is_source(path: Path) -> None:
    """Raise UserError for a path that cannot be a recording."""
    if not path.exists():
        raise NotFound(f"There is no {str(path)!r}.")
    if path.name.endswith(NOTES_ENDING):
        recording_path = str(path).removesuffix(NOTES_ENDING)
        raise UserError(NOTES_ALONE_SENTENCE.format(path=str(path), recording=recording_path))
    if path.is_file() and path.stat().st_size == 0:
        raise UserError(f"{str(path)!r} is empty: it holds no session.")


def _captured_answers(
    contents: FolderContents, owner: AnyImporter | None, log: ImportLog
) -> CapturedAnswers:
    """Return the captured requests of a folder's other recordings; empty where the folder has no captures."""
    answers = CapturedAnswers()
    captures = [
        (path, importer)
        for path, importer in contents.recordings
        if isinstance(importer, CaptureImporter)
    ]
    if owner is None and len(captures) == len(contents.recordings):
        return answers
    for path, importer in captures:
        try:
            with reading_within_budget(size_of(path)):
                answers.add_requests(importer.sent_requests(path))
        except (UserError, OSError):
            continue  # importing the capture itself reports the error
        except Exception as error:  # noqa: BLE001 - an importer may be anybody's
            _report_failure(log, path, importer, error)
    return answers


@dataclass(frozen=True, slots=True)
class _ImportTask:
    """The import of one path, with the other recordings in its folder."""

    store: Store
    clock: Callable[[], int]
    log: ImportLog
    control: ImportControl
    captured_answers: CapturedAnswers
    contents: FolderContents

    def import_recording(
        self, importer: AnyImporter, path: Path, *, without_subagents: bool
    ) -> None:
        """Import a recording, and the others beside it; raises UserError where nothing can be imported."""
        try:
            self._import_recording(importer, path, without_subagents=without_subagents)
        except UserError as error:
            if without_subagents or not self.import_contents():
                raise
            self.log.report(path.name, str(error))
        else:
            if not without_subagents:
                self.import_contents()

    def import_contents(self) -> bool:
        """Import recordings, captures after those that they are joined with; return whether there are any."""
        recordings = self.contents.recordings
        for path, importer in sorted(
            recordings, key=lambda recording: isinstance(recording[1], CaptureImporter)
        ):
            try:
                self._import_recording(importer, path, without_subagents=True)
            except UserError as error:
                self.log.report(path.name, str(error))
            if self.log.is_stopped:
                return True
        for path, sentence in self.contents.left_out():
            self.log.report(path.name, sentence)
        return bool(recordings)

    def _import_recording(
        self, importer: AnyImporter, path: Path, *, without_subagents: bool
    ) -> None:
        store, clock, log, control = self.store, self.clock, self.log, self.control
        if not isinstance(importer, WholeImporter):
            RecordingImport(
                store, importer, path, clock, log, control, without_subagents, self.captured_answers
            ).run()
            return
        try:
            report = importer.import_whole(store, path, clock, control)
        except (UserError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - an importer may be anybody's
            _report_failure(log, path, importer, error)
            return
        for session in report.sessions:
            log.add(session)
        for problem in report.problems:
            log.report(problem.where, problem.what)


def _first_that_recognises(
    importers: Iterable[AnyImporter], head: Head, on_failure: FailureHandler
) -> AnyImporter | None:
    for importer in importers:
        try:
            if importer.recognises(head):
                return importer
        except (UserError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - an importer may be anybody's
            on_failure(importer, error)
    return None


def _report_failure(log: ImportLog, path: Path, importer: AnyImporter, error: Exception) -> None:
    log.report(path.name, f"It could not be read: {log.log_failure(importer, path, error)}")


def installed_importers() -> Sequence[AnyImporter]:
    """Load the importers of installed distributions; log and leave out an importer that cannot be loaded.

    The metadata of all distributions are read once, and again when something was installed or removed: they are
    hundreds of files, and this function is called for each file of a folder of recordings.
    """
    return _importers_in(tuple((s, _modified_ns(s)) for s in sys.path))


def _modified_ns(search_entry: str) -> int | None:
    """Return when an entry of the search path was changed, in nanoseconds since 1970; None where it does not exist."""
    try:
        return os.stat(search_entry or ".").st_mtime_ns  # noqa: PTH116 - an entry may be no path
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1)
def _importers_in(_entries: tuple[tuple[str, int | None], ...]) -> tuple[AnyImporter, ...]:
    from importlib.metadata import entry_points

    importers: list[AnyImporter] = []
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            importers.append(entry_point.load())
        except Exception:
            LOGGER.warning("The importer %r cannot be loaded.", entry_point.name, exc_info=True)
    return tuple(importers)
