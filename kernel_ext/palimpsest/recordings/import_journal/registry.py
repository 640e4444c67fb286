"""Recognise the format of a recording by its content, and import it, or all recordings of a folder.

Third-party importers come from installed distributions, by the entry point group ``palimpsest.importers``; they are
loaded where no built-in importer recognises a source, and never by a name in a file.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.metadata import entry_points
from pathlib import Path

from palimpsest.recordings.import_journal.importer_errors import errors_folder
from palimpsest.recordings.import_journal.journal_writer import ImportLog, RecordingImport
from palimpsest.recordings.reading.compressed_files import PASSED_OVER, compressed_files
from palimpsest.recordings.reading.importer import FilesBeside, Head, Importer, WholeImporter
from palimpsest.recordings.reading.sources import head_of, is_compressed
from palimpsest.store.exchange.importer import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.project_folder.layout import FOLDER
from palimpsest.transcript.errors import NotFound, UserError

GROUP = "palimpsest.importers"
MOST_DEPTH = 6
"""Depth to which folders are searched for recordings; Codex sorts its recordings by year, month and day."""
MOST_RECORDINGS = 10_000
ENDINGS = frozenset({".json", ".jsonl", ".traj", ".eval", ".db", ".sqlite", ".ndjson"})

AnyImporter = Importer | WholeImporter

LOG = logging.getLogger(__name__)

FailureHandler = Callable[[AnyImporter, Exception], None]


class ImporterRegistry:
    """The importers, in the order in which they are tried."""

    def __init__(
        self,
        built_in: Sequence[AnyImporter],
        others: Callable[[], Sequence[AnyImporter]] | None = None,
    ) -> None:
        """``others`` returns the third-party importers; tests pass their own."""
        self._built_in = tuple(built_in)
        self._others = installed_importers if others is None else others
        self._broken: set[int] = set()
        """Ids of the importers whose own error was logged, so that it is logged once."""

    def recognise(self, path: Path, on_failure: FailureHandler | None = None) -> AnyImporter | None:
        """Return the importer of a path, or None; an error of an importer is passed to ``on_failure`` or logged once."""
        head, on_failure = head_of(path), on_failure or self._log_once
        importer = _first_that_recognises(self._built_in, head, on_failure)
        return (
            importer
            if importer is not None
            else _first_that_recognises(self._others(), head, on_failure)
        )

    def _log_once(self, importer: AnyImporter, error: Exception) -> None:
        if id(importer) not in self._broken:
            self._broken.add(id(importer))
            LOG.warning("The importer %r cannot recognise files.", importer, exc_info=error)

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
        alone: bool = False,
        errors_in: Callable[[], Path] | None = None,
    ) -> ImportReport:
        """Import the sessions at a path; raises UserError with one sentence where there are none.

        A folder that is no recording itself is searched for recordings. With ``alone``, and in a folder, subagents in
        separate recordings are not searched for. ``errors_in`` returns the folder in whose ``errors.log`` an importer's
        own error is written; by default that of the store's project.
        """
        if not path.exists():
            raise NotFound(f"There is no {str(path)!r}.")
        if path.is_file() and path.stat().st_size == 0:
            raise UserError(f"{str(path)!r} is empty: it holds no session.")
        log = ImportLog(errors_in or partial(errors_folder, store))
        importer = self.recognise(path, partial(_report_failure, log, path))
        has_failed = bool(log.problems)
        import_one = partial(_import_with, store, clock, log, control or ImportControl())
        if importer is not None:
            import_one(importer, path, alone=alone)
        elif is_compressed(path):
            raise UserError(f"{str(path)!r} is compressed: unpack it, and open what comes out.")
        elif not path.is_dir() or not self._import_folder(path, log, import_one):
            if has_failed:
                return log.import_report()
            compressed_file = next(self.compressed(path), None)
            if compressed_file is not None:
                raise UserError(
                    f"{str(path)!r} holds no session that can be imported, but compressed files such as "
                    f"{compressed_file.name!r}: unpack them, and import what comes out."
                )
            raise UserError(
                f"{str(path)!r} holds no session that can be imported; what can be: {self.titles()}."
            )
        return log.import_report()

    def recordings(self, path: Path) -> Iterator[Path]:
        """Yield the recordings at or below a path, sorted; a project's own folder is not searched."""
        if self._importer_of(path) is not None:
            yield path
        elif path.is_dir():
            yield from (recording for recording, _ in self._recordings_below(path))

    def compressed(self, path: Path) -> Iterator[Path]:
        """Yield the compressed files below a folder that may be recordings; they are not read."""
        if path.is_dir():
            yield from compressed_files(path, ENDINGS, MOST_DEPTH)

    def _import_folder(self, folder: Path, log: ImportLog, import_one: Callable[..., None]) -> bool:
        """Import every recording below a folder; returns False where there is none."""
        has_recordings = False
        for path, importer in self._recordings_below(folder):
            has_recordings = True
            try:
                import_one(importer, path, alone=True)
            except UserError as error:
                log.report(path.name, str(error))
            if log.is_stopped:
                return has_recordings
        for path in self.compressed(folder):
            log.report(path.name, PASSED_OVER)
        return has_recordings

    def _recordings_below(self, folder: Path) -> Iterator[tuple[Path, AnyImporter]]:
        """Yield the recordings below a folder, without the files in which another recording continues."""
        paths_beside: set[Path] = set()
        recordings: list[tuple[Path, AnyImporter]] = []
        for path in self._recordings(folder, MOST_DEPTH):
            importer = self._importer_of(path)
            if importer is None:
                continue
            recordings.append((path, importer))
            if isinstance(importer, FilesBeside):
                try:
                    names = set(importer.files_beside(path)) - {path.name}
                except Exception:  # noqa: BLE001 - reading the recording reports the error
                    continue
                # Where two files name each other, the first is the recording and includes the other.
                paths_beside |= (
                    {path.parent / name for name in names} if path not in paths_beside else set()
                )
        yield from (recording for recording in recordings if recording[0] not in paths_beside)

    def _recordings(self, folder: Path, depth: int) -> Iterator[Path]:
        """Yield the files and folders below a folder that may be recordings, sorted; links are not followed."""
        try:
            paths = sorted(
                path for path, _ in zip(folder.iterdir(), range(MOST_RECORDINGS), strict=False)
            )
        except OSError:
            return
        files = [child for child in paths if child.suffix in ENDINGS and not child.is_symlink()]
        files = [file for file in files if file.is_file()]
        recording_names = {file.stem for file in files if self._importer_of(file) is not None}
        yield from files
        for path in paths:
            # A folder named like a recording belongs to it: for example, it contains the recording's subagents.
            if path.is_symlink() or not path.is_dir() or path.name in {*recording_names, FOLDER}:
                continue
            if self._importer_of(path) is not None:
                yield path
            elif depth > 1:
                yield from self._recordings(path, depth - 1)

    def _importer_of(self, path: Path) -> AnyImporter | None:
        try:
            return self.recognise(path)
        except (OSError, UserError):
            return None


def _import_with(
    store: Store,
    clock: Callable[[], int],
    log: ImportLog,
    control: ImportControl,
    importer: AnyImporter,
    path: Path,
    *,
    alone: bool,
) -> None:
    if not isinstance(importer, WholeImporter):
        RecordingImport(store, importer, path, clock, log, control, alone).run()
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
    importers: Sequence[AnyImporter], head: Head, on_failure: FailureHandler
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
    return _importers_in(tuple((entry, _modified_time(entry)) for entry in sys.path))


def _modified_time(entry: str) -> int | None:
    """Return the time at which an entry of the search path was changed; None where it does not exist."""
    try:
        return os.stat(entry or ".").st_mtime_ns  # noqa: PTH116 - an entry may be no path
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1)
def _importers_in(_entries: tuple[tuple[str, int | None], ...]) -> tuple[AnyImporter, ...]:
    importers: list[AnyImporter] = []
    for point in entry_points(group=GROUP):
        try:
            importers.append(point.load())
        except Exception:
            LOG.warning("The importer %r cannot be loaded.", point.name, exc_info=True)
    return tuple(importers)
