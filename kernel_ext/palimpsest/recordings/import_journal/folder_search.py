"""Search a folder for recordings of any format; each is found once, and the other files are listed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.reading.importer import AnyImporter, FilesBeside, FolderFormat
from palimpsest.store.project_folder.names import FOLDER
from palimpsest.store.session_notes import NOTES_ENDING

MAX_DEPTH = 6
"""Maximum levels of folders that are searched for recordings; Codex sorts its own by year, month and day."""
MAX_ENTRIES = 10_000
"""Maximum entries of one folder that are considered."""
COMPRESSED_SUFFIXES = frozenset({".gz", ".xz", ".bz2", ".zst", ".zip"})
"""Endings of compressed files: a recording in one is ``session.jsonl.gz``."""
COMPRESSED_SENTENCE = "It is compressed and was passed over: unpack it, and import what comes out."
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
    compressed_files: tuple[Path, ...]
    """Compressed files that may be recordings; they are not read."""

    def left_out(self) -> Iterator[tuple[Path, str]]:
        """Yield the files that were left out, with a sentence; the unrecognised files share one, at the first of them."""
        yield from ((path, COMPRESSED_SENTENCE) for path in self.compressed_files)
        if not self.unrecognised_files:
            return
        first_file, *other_files = self.unrecognised_files
        sentence = "It is no recording of a known format and was left out"
        if other_files:
            sentence += (
                f", and so were {', '.join(path.name for path in other_files[:MAX_NAMED_FILES])}"
            )
        if len(other_files) > MAX_NAMED_FILES:
            sentence += f" and {len(other_files) - MAX_NAMED_FILES} more"
        yield first_file, f"{sentence}."


def search_folder(
    folder: Path,
    importer_of: Callable[[Path], AnyImporter | None],
    owner: AnyImporter | None = None,
) -> FolderContents:
    """Return the recordings and other files below a folder, without links and the folders of projects.

    ``owner`` is the importer that reads the folder itself as a recording: its own files are left out.
    """
    if not folder.is_dir():
        return FolderContents((), (), ())
    search = _FolderSearch(importer_of)
    search.add_folder(folder, MAX_DEPTH, owner)
    files_beside = _files_beside(search.recordings)
    recordings = (
        (path, importer) for path, importer in search.recordings if path not in files_beside
    )
    unrecognised_files = (path for path in search.unrecognised_files if path not in files_beside)
    return FolderContents(
        tuple(recordings), tuple(unrecognised_files), tuple(_compressed_files(folder, MAX_DEPTH))
    )


@dataclass(slots=True)
class _FolderSearch:
    """The recordings and other files that were found so far."""

    importer_of: Callable[[Path], AnyImporter | None]
    recordings: list[tuple[Path, AnyImporter]] = field(default_factory=list)
    unrecognised_files: list[Path] = field(default_factory=list)

    def add_folder(self, folder: Path, depth: int, owner: AnyImporter | None) -> None:
        """Add the files in a folder and below it."""
        if owner is not None and not isinstance(owner, FolderFormat):
            return
        paths = _entries(folder)
        if isinstance(owner, FolderFormat):
            own_files = owner.own_files([path.name for path in paths])
            paths = [path for path in paths if path.name not in own_files]
        # A folder named like a recording belongs to it: it holds its subagents, for example.
        skipped_names = {FOLDER}
        for path in paths:
            if not _may_be_recording(path) or not path.is_file():
                continue
            if (importer := self.importer_of(path)) is None:
                self.unrecognised_files.append(path)
            else:
                self.recordings.append((path, importer))
                skipped_names.add(path.stem)
        for path in paths:
            if path.is_dir() and path.name not in skipped_names:
                if (importer := self.importer_of(path)) is not None:
                    self.recordings.append((path, importer))
                if depth > 1:
                    self.add_folder(path, depth - 1, importer)


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


def _compressed_files(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the compressed files below a folder whose inner names have a recording's ending; links are not followed."""
    for path in _entries(folder):
        is_recording = Path(path.stem).suffix in RECORDING_SUFFIXES
        if path.suffix in COMPRESSED_SUFFIXES and is_recording and path.is_file():
            yield path
        elif depth > 1 and not path.name.startswith(".") and path.is_dir():
            yield from _compressed_files(path, depth - 1)


def _entries(folder: Path) -> list[Path]:
    """Return the first entries of a folder that are no links, sorted; none where it cannot be read."""
    try:
        paths = sorted(path for path, _ in zip(folder.iterdir(), range(MAX_ENTRIES), strict=False))
    except OSError:
        return []
    return [path for path in paths if not path.is_symlink()]
