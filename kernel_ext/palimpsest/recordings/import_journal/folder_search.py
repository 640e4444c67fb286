"""Search a folder for recordings of any format; each is found once, and the files that are none are counted."""

from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path

from palimpsest.lazy_dataclasses import dataclass
from palimpsest.recordings.reading.compressed_files import PASSED_OVER, compressed_files
from palimpsest.recordings.reading.importer import AnyImporter, FilesBeside, FolderFormat
from palimpsest.store.project_folder.names import FOLDER

MOST_DEPTH = 6
"""Depth to which folders are searched for recordings; Codex sorts its own by year, month and day."""
MOST_RECORDINGS = 10_000
ENDINGS = frozenset({".json", ".jsonl", ".traj", ".eval", ".db", ".sqlite", ".ndjson", ".har"})
NAME_ENDINGS = ("aider.chat.history.md",)
"""Ends of the names of recordings whose ending many other files have."""
MOST_NAMED = 3
"""Most files without a recording that are named; all are counted."""


@dataclass(frozen=True, slots=True)
class FolderContents:
    """What a folder holds, sorted by path."""

    recordings: tuple[tuple[Path, AnyImporter], ...]
    unknown: tuple[Path, ...]
    """Files with the name of a recording that no importer recognises."""
    compressed: tuple[Path, ...]
    """Compressed files that may be recordings; they are not read."""

    def left_out(self) -> Iterator[tuple[Path, str]]:
        """Yield the files that were left out, with a sentence; those without a recording together, by the first."""
        yield from ((path, PASSED_OVER) for path in self.compressed)
        if len(self.unknown) == 1:
            yield self.unknown[0], "It is no recording of a known format and was left out."
        elif self.unknown:
            others = [path.name for path in self.unknown[1 : MOST_NAMED + 1]]
            rest = len(self.unknown) - 1 - len(others)
            more = f" and {rest} more" if rest else ""
            yield (
                self.unknown[0],
                f"It is no recording of a known format and was left out, and so were {', '.join(others)}{more}.",
            )


def search_folder(
    folder: Path,
    importer_of: Callable[[Path], AnyImporter | None],
    owner: AnyImporter | None = None,
) -> FolderContents:
    """Return what stands below a folder; links are not followed, and a project's own folder is left out.

    ``owner`` is the importer that reads the folder itself as a recording: its own files are not looked at.
    """
    if not folder.is_dir():
        return FolderContents((), (), ())
    search = _Search(importer_of)
    search.look_in(folder, MOST_DEPTH, owner)
    beside = _files_beside(search.recordings)
    recordings = ((path, importer) for path, importer in search.recordings if path not in beside)
    unknown = (path for path in search.unknown if path not in beside)
    return FolderContents(
        tuple(recordings), tuple(unknown), tuple(compressed_files(folder, ENDINGS, MOST_DEPTH))
    )


@dataclass(slots=True)
class _Search:
    importer_of: Callable[[Path], AnyImporter | None]
    recordings: list[tuple[Path, AnyImporter]] = field(default_factory=list)
    unknown: list[Path] = field(default_factory=list)

    def look_in(self, folder: Path, depth: int, owner: AnyImporter | None) -> None:
        """Add what stands in a folder, and below it."""
        if owner is not None and not isinstance(owner, FolderFormat):
            return
        try:
            paths = sorted(
                path for path, _ in zip(folder.iterdir(), range(MOST_RECORDINGS), strict=False)
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
                    self.look_in(path, depth - 1, importer)

    def _add(self, file: Path) -> AnyImporter | None:
        """Add a file as a recording or as none; returns its importer."""
        importer = self.importer_of(file)
        if importer is None:
            self.unknown.append(file)
        else:
            self.recordings.append((file, importer))
        return importer


def _may_be_recording(file: Path) -> bool:
    """Return whether a file's name is one that recordings have."""
    return file.suffix in ENDINGS or file.name.endswith(NAME_ENDINGS)


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
