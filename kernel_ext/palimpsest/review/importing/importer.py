"""The interface of an importer, and the sources it reads from.

An importer is a module-level object with a name, a test by content and a reader. It runs nothing that it
reads, opens nothing but its source, and lets a broken line cost only itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from palimpsest.review.importing.recorded import Recorded
from palimpsest.store.exchange.importer import ImportControl, ImportReport
from palimpsest.store.interface import Store


@dataclass(frozen=True, slots=True)
class Head:
    """What a format is recognised by."""

    path: Path
    """A file or a folder."""
    names: tuple[str, ...] = ()
    """Of a folder: the names in it, at most 1,000, sorted."""
    start: bytes = b""
    """Of a file: its first 64 KiB."""


Report = Callable[[str, str], None]
"""Called with a place (``line 12``) and a sentence for each thing that could not be read."""


class Recogniser(Protocol):
    """Knows one format."""

    name: str
    """``pi``, ``claude-code``, ...: shown to users and stored with the session."""
    title: str
    """How people call it: "pi", "Claude Code"."""
    tried_on: str
    """``real sessions``, ``files of the real writer`` or ``hand-made files``."""

    def recognises(self, head: Head) -> bool:
        """Return whether a source is of this format, by its content alone; never raises."""


@runtime_checkable
class WholeImporter(Recogniser, Protocol):
    """Imports a format by itself, without the neutral form: our own, and OpenCode's, which ours comes from."""

    def import_whole(
        self, store: Store, path: Path, clock: Callable[[], int], control: ImportControl | None
    ) -> ImportReport:
        """Import the sessions at a path; raises UserError with one sentence where there are none."""


class Importer(Recogniser, Protocol):
    """Reads one format."""

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield what is recorded, in order; raises UserError with one sentence where nothing can be read."""


@runtime_checkable
class FilesBeside(Protocol):
    """An importer whose recording may go on in files beside it, which are no recordings of their own."""

    def files_beside(self, path: Path) -> Iterator[str]:
        """Yield the names of the files that a recording says it goes on in; nothing where it cannot be read."""


@runtime_checkable
class LoneReader(Protocol):
    """An importer whose subagents are recordings of their own, which a folder brings by themselves."""

    def read_alone(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield what ``read`` yields, without the subagents in other files."""
