"""Recognise the format of a recording by its content, and import it, or all recordings of a folder.

Importers of others come from installed distributions, by the entry point group ``palimpsest.importers``;
they are loaded where none of ours recognises a source, and never by a name that stands in a file.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.metadata import entry_points
from pathlib import Path

from palimpsest.review.importing.compressed_files import PASSED_OVER, compressed_files
from palimpsest.review.importing.importer import FilesBeside, Head, Importer, WholeImporter
from palimpsest.review.importing.importer_errors import errors_folder
from palimpsest.review.importing.journal_writer import ImportLog, RecordingImport
from palimpsest.review.importing.sources import head_of, is_compressed
from palimpsest.store.exchange.importer import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.project_folder.layout import FOLDER
from palimpsest.transcript.errors import NotFound, UserError

GROUP = "palimpsest.importers"
MOST_DEPTH = 6
"""Levels of folders that are looked through for recordings; Codex keeps its by year, month and day."""
MOST_RECORDINGS = 10_000
ENDINGS = frozenset({".json", ".jsonl", ".traj", ".eval", ".db", ".sqlite", ".ndjson"})

AnyImporter = Importer | WholeImporter

LOG = logging.getLogger(__name__)

Failed = Callable[[AnyImporter, Exception], None]


class ImporterRegistry:
    """The importers, in the order in which they are asked."""

    def __init__(
        self,
        built_in: Sequence[AnyImporter],
        others: Callable[[], Sequence[AnyImporter]] | None = None,
    ) -> None:
        """``others`` returns the importers of installed distributions; tests give their own."""
        self._built_in = tuple(built_in)
        self._others = installed_importers if others is None else others
        self._broken: set[int] = set()
        """Importers whose own error was logged while a folder was looked through."""

    def recognise(self, path: Path, failed: Failed | None = None) -> AnyImporter | None:
        """Return the importer of a file or folder; None where no format is recognised.

        ``failed`` is called with an importer that raised instead of saying whether it knows the format; without it
        that is logged once for each importer.
        """
        head, failed = head_of(path), failed or self._log_once
        found = _first(self._built_in, head, failed)
        return found if found is not None else _first(self._others(), head, failed)

    def _log_once(self, importer: AnyImporter, error: Exception) -> None:
        if id(importer) not in self._broken:
            self._broken.add(id(importer))
            LOG.warning("The importer %r cannot recognise files.", importer, exc_info=error)

    def known(self) -> str:
        """Return the titles of all formats, in one line."""
        return ", ".join(dict.fromkeys(one.title for one in self._built_in))

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

        A folder that is no recording itself is looked through for recordings. With ``alone`` a recording's
        subagents that are recordings of their own are not looked for; so it is with those of a folder. ``errors_in``
        returns the folder in whose ``errors.log`` an importer's own error is written, else that of the store's project.
        """
        if not path.exists():
            raise NotFound(f"There is no {str(path)!r}.")
        if path.is_file() and path.stat().st_size == 0:
            raise UserError(f"{str(path)!r} is empty: it holds no session.")
        log = ImportLog(errors_in or partial(errors_folder, store))
        importer = self.recognise(path, partial(_failed, log, path))
        failed = bool(log.problems)
        bring = partial(_import_with, store, clock, log, control or ImportControl())
        if importer is not None:
            bring(importer, path, alone=alone)
        elif is_compressed(path):
            raise UserError(f"{str(path)!r} is compressed: unpack it, and open what comes out.")
        elif not path.is_dir() or not self._import_folder(path, log, bring):
            if failed:
                return log.told()
            packed = next(self.compressed(path), None)
            if packed is not None:
                raise UserError(
                    f"{str(path)!r} holds no session that can be imported, but compressed files such as "
                    f"{packed.name!r}: unpack them, and import what comes out."
                )
            raise UserError(
                f"{str(path)!r} holds no session that can be imported; what can be: {self.known()}."
            )
        return log.told()

    def recordings(self, path: Path) -> Iterator[Path]:
        """Yield the recordings at or below a path, sorted; a project's own folder is none."""
        if self._recognised(path) is not None:
            yield path
        elif path.is_dir():
            yield from (one for one, _ in self._found(path))

    def compressed(self, path: Path) -> Iterator[Path]:
        """Yield the compressed files below a folder that may be recordings; they are not read."""
        if path.is_dir():
            yield from compressed_files(path, ENDINGS, MOST_DEPTH)

    def _import_folder(self, folder: Path, log: ImportLog, bring: Callable[..., None]) -> bool:
        """Import every recording below a folder; returns False where there is none."""
        found = False
        for path, importer in self._found(folder):
            found = True
            try:
                bring(importer, path, alone=True)
            except UserError as error:
                log.report(path.name, str(error))
            if log.stopped:
                return found
        for path in self.compressed(folder):
            log.report(path.name, PASSED_OVER)
        return found

    def _found(self, folder: Path) -> Iterator[tuple[Path, AnyImporter]]:
        """Yield the recordings below a folder, each once: without the files in which another one goes on."""
        beside: set[Path] = set()
        found: list[tuple[Path, AnyImporter]] = []
        for path in self._recordings(folder, MOST_DEPTH):
            importer = self._recognised(path)
            if importer is None:
                continue
            found.append((path, importer))
            if isinstance(importer, FilesBeside):
                try:
                    names = set(importer.files_beside(path)) - {path.name}
                except Exception:  # noqa: BLE001 - reading it says so
                    continue
                # Of two that name each other the first is read, with the other.
                beside |= {path.parent / one for one in names} if path not in beside else set()
        yield from (one for one in found if one[0] not in beside)

    def _recordings(self, folder: Path, depth: int) -> Iterator[Path]:
        """Yield what may be a recording below a folder, sorted; links are not followed."""
        try:
            inside = sorted(
                one for one, _ in zip(folder.iterdir(), range(MOST_RECORDINGS), strict=False)
            )
        except OSError:
            return
        files = [one for one in inside if one.suffix in ENDINGS and not one.is_symlink()]
        files = [one for one in files if one.is_file()]
        named = {one.stem for one in files if self._recognised(one) is not None}
        yield from files
        for path in inside:
            # A folder beside a recording of its name holds what belongs to it, such as its subagents.
            if path.is_symlink() or not path.is_dir() or path.name in {*named, FOLDER}:
                continue
            if self._recognised(path) is not None:
                yield path
            elif depth > 1:
                yield from self._recordings(path, depth - 1)

    def _recognised(self, path: Path) -> AnyImporter | None:
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
        _failed(log, path, importer, error)
        return
    for one in report.sessions:
        log.add(one)
    for problem in report.problems:
        log.report(problem.where, problem.what)


def _first(importers: Sequence[AnyImporter], head: Head, failed: Failed) -> AnyImporter | None:
    for one in importers:
        try:
            if one.recognises(head):
                return one
        except (UserError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - an importer may be anybody's
            failed(one, error)
    return None


def _failed(log: ImportLog, path: Path, importer: AnyImporter, error: Exception) -> None:
    log.report(path.name, f"It could not be read: {log.failed(importer, path, error)}")


def installed_importers() -> Sequence[AnyImporter]:
    """Load the importers of installed distributions; one that cannot be loaded is logged and left out.

    The metadata of all distributions are read once, and anew when something was installed or removed:
    they are hundreds of files, and a folder of recordings asks for each file.
    """
    return _importers_in(tuple((entry, _modified(entry)) for entry in sys.path))


def _modified(entry: str) -> int | None:
    """Return when an entry of the search path was changed; None where nothing is there."""
    try:
        return os.stat(entry or ".").st_mtime_ns  # noqa: PTH116 - an entry may be no path
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1)
def _importers_in(_entries: tuple[tuple[str, int | None], ...]) -> tuple[AnyImporter, ...]:
    found: list[AnyImporter] = []
    for point in entry_points(group=GROUP):
        try:
            found.append(point.load())
        except Exception:
            LOG.warning("The importer %r cannot be loaded.", point.name, exc_info=True)
    return tuple(found)
