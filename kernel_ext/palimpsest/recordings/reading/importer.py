"""The interface of an importer, and the sources that it reads.

An importer is a module-level object with a name, a test by content and a reader. It runs nothing that it reads, opens
only its source, and skips a broken line without failing.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from palimpsest.recordings.reading.recorded import Recorded, SentRead
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.interface import Store


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a source, by which its format is recognised."""

    path: Path
    """A file or a folder."""
    names: tuple[str, ...] = ()
    """For a folder: the first names in it, sorted; at most ``MAX_HEAD_NAMES`` of ``sources.py``."""
    start: bytes = b""
    """For a file: its first bytes, at most ``MAX_HEAD_BYTES`` of ``sources.py``."""


Report = Callable[[str, str], None]
"""Called with a place (``line 12``) and a sentence for each thing that could not be read."""


class Recogniser(Protocol):
    """Recognises one format."""

    name: str
    """``pi``, ``claude-code``, ...: shown to users and stored with the session."""
    title: str
    """The product's name: "pi", "Claude Code"."""
    tried_on: str
    """The kind of recordings on which the importer was tested: ``real sessions``, ``files of the real writer`` or ``hand-made files``."""

    def recognises(self, head: Head) -> bool:
        """Return whether a source is of this format, by its content alone; never raises."""


@runtime_checkable
class WholeImporter(Recogniser, Protocol):
    """Imports sessions without converting them to recorded values: Palimpsest's own, and OpenCode's, which are alike."""

    def import_whole(
        self, store: Store, path: Path, clock: Callable[[], int], control: ImportControl | None
    ) -> ImportReport:
        """Import the sessions at a path; raises UserError with one sentence where there are none."""


class Importer(Recogniser, Protocol):
    """Reads one format."""

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the recorded values, in order; raises UserError with one sentence where nothing can be read."""


@runtime_checkable
class FilesBeside(Protocol):
    """An importer whose recordings may continue in files beside them, which are not separate recordings."""

    def files_beside(self, path: Path) -> Iterator[str]:
        """Yield the names of the files in which a recording continues; nothing where it cannot be read."""


@runtime_checkable
class LoneReader(Protocol):
    """An importer that can read a session without the subagents in other files, which a folder import reads separately."""

    def read_alone(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the values of ``read`` without the subagents in other files."""


@runtime_checkable
class FolderFormat(Protocol):
    """An importer of folders that may also hold recordings of other formats."""

    def own_files(self, names: Collection[str]) -> Collection[str]:
        """Return the entries of a recorded folder that belong to the recording, among all names in it."""


@runtime_checkable
class CaptureImporter(Importer, Protocol):
    """An importer of captured requests, which are joined with the recordings that have their answers."""

    def sent_requests(self, path: Path) -> Iterator[tuple[tuple[str, ...], SentRead]]:
        """Yield the names of each request's answer, the most reliable first, and the request's other contents."""

    def read_rest(
        self, path: Path, report: Report, joined_names: Collection[str]
    ) -> Iterator[Recorded]:
        """Yield the sessions in which no answer has its first name in ``joined_names``."""


AnyImporter = Importer | WholeImporter
