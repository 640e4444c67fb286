"""Search a folder for recordings of any format; each is found once, and the other files are counted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.reading.compressed_files import PASSED_OVER, compressed_files
from palimpsest.recordings.reading.importer import AnyImporter, FilesBeside, FolderFormat
from palimpsest.store.project_folder.names import FOLDER
from palimpsest.store.session_notes import NOTES_ENDING

MAX_DEPTH = 6
"""Depth to which folders are searched for recordings; Codex sorts its own by year, month and day."""
MAX_RECORDINGS = 10_000
RECORDING_SUFFIXES = frozenset(
    {".json", ".jsonl", ".traj", ".eval", ".db", ".sqlite", ".ndjson", ".har"}
)
NAME_ENDINGS = ("aider.chat.history.md",)
"""Ends of the names of recordings whose file ending is common among other files."""
MAX_NAMED_FILES = 3
"""Maximum files without a recording that are named; all are counted."""


@dataclass(frozen=True, slots=True)
class FolderContents:
    """What a folder holds, sorted by path."""

    recordings: tuple[tuple[Path, AnyImporter], ...]
    unrecognised_files: tuple[Path, ...]
    """Files with the name of a recording that no importer recognises."""
    compressed: tuple[Path, ...]
    """Compressed files that may be recordings; they are not read."""

    def left_out(self) -> Iterator[tuple[Path, str]]:
        """Yield the files that were left out, with a sentence; those without a recording together, by the first."""
        yield from ((path, PASSED_OVER) for path in self.compressed)
        if len(self.unrecognised_files) == 1:
            yield (
                self.unrecognised_files[0],
                "It is no recording of a known format and was left out.",
            )
        elif self.unrecognised_files:
            other_names = [path.name for path in self.unrecognised_files[1 : MAX_NAMED_FILES + 1]]
            rest = len(self.unrecognised_files) - 1 - len(other_names)
            more = f" and {rest} more" if rest else ""
            yield (
                self.unrecognised_files[0],
                f"It is no recording of a known format and was left out, and so were {', '.join(other_names)}{more}.",
            )


def search_folder(
    folder: Path,
    importer_of: Callable[[Path], AnyImporter | None],
    owner: AnyImporter | None = None,
) -> FolderContents:
    """Return the recordings and other files below a folder, without links and a project's own folder.

    ``owner`` is the importer that reads the folder itself as a recording: its own files are left out.
    """
    if not folder.is_dir():
        return FolderContents((), (), ())
    search = _Search(importer_of)
    search.add_folder(folder, MAX_DEPTH, owner)
    beside = _files_beside(search.recordings)
    recordings = ((path, importer) for path, importer in search.recordings if path not in beside)
    unknown = (path for path in search.unrecognised_files if path not in beside)
    return FolderContents(
        tuple(recordings),
        tuple(unknown),
        tuple(compressed_files(folder, RECORDING_SUFFIXES, MAX_DEPTH)),
    )


@dataclass(slots=True)
class _Search:
    importer_of: Callable[[Path], AnyImporter | None]
    recordings: list[tuple[Path, AnyImporter]] = field(default_factory=list)
    unrecognised_files: list[Path] = field(default_factory=list)

    def add_folder(self, folder: Path, depth: int, owner: AnyImporter | None) -> None:
        """Add the files in a folder and below it."""
        if owner is not None and not isinstance(owner, FolderFormat):
            return
        try:
            paths = sorted(
                path for path, _ in zip(folder.iterdir(), range(MAX_RECORDINGS), strict=False)
            )
        except OSError:
            return
        paths = [path for path in paths if not path.is_symlink()]
        if isinstance(owner, FolderFormat):
            own_files = owner.own_files([path.name for path in paths])
            paths = [path for path in paths if path.name not in own_files]
        # A folder named like a recording belongs to it: it holds its subagents, for example.
        names_passed_over = {FOLDER}
        for path in paths:
            if _may_be_recording(path) and path.is_file() and self._add(path) is not None:
                names_passed_over.add(path.stem)
        for path in paths:
            if path.is_dir() and path.name not in names_passed_over:
                importer = self.importer_of(path)
                if importer is not None:
                    self.recordings.append((path, importer))
                if depth > 1:
                    self.add_folder(path, depth - 1, importer)

    def _add(self, file: Path) -> AnyImporter | None:
        """Add a file as a recording or as none; returns its importer."""
        importer = self.importer_of(file)
        if importer is None:
            self.unrecognised_files.append(file)
        else:
            self.recordings.append((file, importer))
        return importer


def _may_be_recording(file: Path) -> bool:
    """Return whether a file's name is one that recordings have; people's notes beside them are none."""
    if file.name.endswith(NOTES_ENDING):
        return False
    return file.suffix in RECORDING_SUFFIXES or file.name.endswith(NAME_ENDINGS)


def _files_beside(recordings: list[tuple[Path, AnyImporter]]) -> set[Path]:
    """Return the files in which other recordings continue."""
    paths: set[Path] = set()
    for path, importer in recordings:
        if not isinstance(importer, FilesBeside) or path in paths:
            # Where two files name each other, the first is the recording and includes the other.
            continue
        try:
            names = set(importer.files_beside(path)) - {path.name}
        except Exception:  # noqa: BLE001 - reading the recording reports the error
            continue
        paths |= {path.parent / name for name in names}
    return paths
