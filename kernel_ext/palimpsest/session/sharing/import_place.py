"""Import sessions into a project's store, from paths that may be confined to the project."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from palimpsest.home_paths import home_path
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store
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
        self, path: str | Path, control: ImportControl, *, inside: bool = False
    ) -> ImportReport:
        """Import the sessions at a path, of any agent whose recordings are known; nothing is run.

        ``inside`` confines the path to the project, for requests that do not come from the user at this computer.
        A stopped import ends after the value that is being read; values that were read stay imported.
        """
        target = self.cwd / home_path(path)
        if "\0" in str(path):
            raise NotFound(f"There is no {str(target)!r}.")
        if inside and self.root.resolve() not in target.resolve().parents:
            raise UserError(
                f"{str(target)!r} is outside the project; %agent import reads it there."
            )
        return self.reader(self.store, target, self.clock, control)
