"""Import sessions into a project's store, from paths that may be confined to the project."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from palimpsest.home_paths import home_path
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store
from palimpsest.store.session_notes import recording_notes, store_notes
from palimpsest.transcript.errors import NotFound, UserError


@dataclass(frozen=True, slots=True)
class ImportPlace:
    """A project that sessions are imported into."""

    store: Store
    root: Path
    cwd: Path
    clock: Callable[[], int]
    reader: Callable[[Store, Path, Callable[[], int], ImportControl], ImportReport]
    """Imports the sessions at a path."""

    def import_from(
        self, path: str | Path, control: ImportControl, *, stays_inside: bool = False
    ) -> ImportReport:
        """Import the sessions at a path, of any agent whose recordings are known; nothing is run.

        ``stays_inside`` confines the path to the project, for requests that do not come from the user at this computer.
        A stopped import ends after the value that is being read; values that were read stay imported.
        """
        target = self.cwd / home_path(path)
        if "\0" in str(path):
            raise NotFound(f"There is no {str(target)!r}.")
        if stays_inside and self.root.resolve() not in target.resolve().parents:
            raise UserError(
                f"{str(target)!r} is outside the project; %agent import reads it there."
            )
        report = self.reader(self.store, target, self.clock, control)
        return self._with_notes(target, report)

    def _with_notes(self, target: Path, report: ImportReport) -> ImportReport:
        """Bring in the notes beside a recording on the sessions that were imported from it."""
        ids = [session.id for session in report.sessions]
        note_lines = recording_notes(target).read(*ids)
        notes_here = store_notes(self.store)
        can_be_kept = bool(note_lines.lines) and notes_here.can_write
        added = notes_here.merge(note_lines, ids).added_count if can_be_kept else 0
        return replace(report, problems=(*report.problems, *note_lines.problems), notes=added)
