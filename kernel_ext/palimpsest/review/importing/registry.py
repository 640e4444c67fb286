"""Recognise the format of a recording by its content, and import it, or all recordings of a folder.

Importers of others come from installed distributions, by the entry point group ``palimpsest.importers``;
they are loaded where none of ours recognises a source, and never by a name that stands in a file.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from palimpsest.review.importing.importer import Head, Importer, WholeImporter
from palimpsest.review.importing.journal_writer import ImportLog, import_recording
from palimpsest.review.importing.sources import head_of
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

    def recognise(self, path: Path) -> AnyImporter | None:
        """Return the importer of a file or folder; None where no format is recognised."""
        head = head_of(path)
        found = _first(self._built_in, head)
        return found if found is not None else _first(self._others(), head)

    def known(self) -> str:
        """Return the titles of all formats, in one line."""
        return ", ".join(dict.fromkeys(one.title for one in self._built_in))

    def import_from(
        self,
        store: Store,
        path: Path,
        clock: Callable[[], int],
        control: ImportControl | None = None,
    ) -> ImportReport:
        """Import the sessions at a path; raises UserError with one sentence where there are none.

        A folder that is no recording itself is looked through for recordings.
        """
        if not path.exists():
            raise NotFound(f"There is no {str(path)!r}.")
        log = ImportLog()
        importer = self.recognise(path)
        if importer is not None:
            _import_with(importer, store, path, clock, log, control)
        elif not path.is_dir() or not self._import_folder(store, path, clock, log, control):
            raise UserError(
                f"{str(path)!r} holds no session that can be imported; what can be: {self.known()}."
            )
        return ImportReport(tuple(log.sessions.values()), tuple(log.problems))

    def recordings(self, path: Path) -> Iterator[Path]:
        """Yield the recordings at or below a path, sorted; a project's own folder is none."""
        if self._recognised(path) is not None:
            yield path
        elif path.is_dir():
            for one in self._recordings(path, MOST_DEPTH):
                if self._recognised(one) is not None:
                    yield one

    def _import_folder(
        self,
        store: Store,
        folder: Path,
        clock: Callable[[], int],
        log: ImportLog,
        control: ImportControl | None,
    ) -> bool:
        """Import every recording below a folder; returns False where there is none."""
        found = False
        for path in self._recordings(folder, MOST_DEPTH):
            importer = self._recognised(path)
            if importer is None:
                continue
            found = True
            try:
                _import_with(importer, store, path, clock, log, control)
            except UserError as error:
                log.report(path.name, str(error))
            if log.stopped:
                break
        return found

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
    importer: AnyImporter,
    store: Store,
    path: Path,
    clock: Callable[[], int],
    log: ImportLog,
    control: ImportControl | None,
) -> None:
    if not isinstance(importer, WholeImporter):
        import_recording(store, importer, path, clock, log, control)
        return
    report = importer.import_whole(store, path, clock, control)
    for one in report.sessions:
        log.add(one)
    for problem in report.problems:
        log.report(problem.where, problem.what)


def _first(importers: Sequence[AnyImporter], head: Head) -> AnyImporter | None:
    return next((one for one in importers if one.recognises(head)), None)


def installed_importers() -> Sequence[AnyImporter]:
    """Load the importers of installed distributions; one that cannot be loaded is logged and left out."""
    found: list[AnyImporter] = []
    for point in entry_points(group=GROUP):
        try:
            found.append(point.load())
        except Exception:
            LOG.warning("The importer %r cannot be loaded.", point.name, exc_info=True)
    return tuple(found)
