"""Find the sessions below a folder: recordings of any agent, and the sessions of projects.

Each source can be reviewed by itself, on any machine that sees the same path; its hash changes with its
content. Links are not followed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palimpsest.home_paths import home_path
from palimpsest.review.importers.built_in import REGISTRY
from palimpsest.review.importing.compressed_files import PASSED_OVER
from palimpsest.review.recordings.recording import project_root
from palimpsest.store.log.segments import SEGMENT_NAME
from palimpsest.store.project_folder.layout import SAFE_NAME
from palimpsest.transcript.errors import NotFound, UserError

MOST_DEPTH = 6
"""Levels of folders that are looked through for projects, as for recordings."""
MOST_FILES = 10_000
"""Files of one recording that are hashed."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A recording, or one session of a project."""

    path: str
    session: str = ""
    """Of a project: the session's id; a recording is reviewed whole."""

    @property
    def name(self) -> str:
        """How it is called in messages."""
        return f"{self.path}, {self.session}" if self.session else self.path


def sources_in(folder: str | Path) -> tuple[SessionSource, ...]:
    """Return the sources at or below a path, sorted; raises UserError with one sentence where there are none."""
    top = home_path(folder).absolute()
    if not top.exists():
        raise NotFound(f"There is no {str(top)!r}.")
    found = [*_project_sessions(top, MOST_DEPTH)]
    if project_root(top) is None or top.name != ".palimpsest":
        found += [SessionSource(str(one)) for one in REGISTRY.recordings(top)]
    if not found:
        raise UserError(f"{str(top)!r} holds no session that can be read: {REGISTRY.known()}.")
    return tuple(found)


def passed_over_in(folder: str | Path) -> tuple[str, ...]:
    """Return a sentence for each compressed file below a folder that may be a recording, which is not read."""
    top = home_path(folder).absolute()
    return tuple(f"{one}: {PASSED_OVER}" for one in REGISTRY.compressed(top))


def _project_sessions(folder: Path, depth: int) -> Iterator[SessionSource]:
    root = project_root(folder)
    if root is not None:
        names = sorted(one.name for one in (root / "sessions").iterdir() if not one.is_symlink())
        for name in names:
            if SAFE_NAME.fullmatch(name):
                yield SessionSource(str(root), name)
    if depth <= 0 or not folder.is_dir():
        return
    try:
        inside = sorted(one for one in folder.iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:
        return
    for one in inside:
        if not one.name.startswith("."):
            yield from _project_sessions(one, depth - 1)


def content_hash(source: SessionSource) -> str:
    """Return a hash of everything that a source is read from; raises OSError."""
    path, found = Path(source.path), hashlib.sha256()
    if source.session:
        folder = path / "sessions" / source.session
        files = [one for one in _files(folder) if SEGMENT_NAME.fullmatch(one.name)]
    else:
        folder = path.parent
        # What belongs to a recording lies in a folder of its name, or beside it, as a database's log does.
        beside = [path.with_name(f"{path.name}-wal"), path.with_suffix("")]
        files = [
            file for one in dict.fromkeys([path, *beside]) if one.exists() for file in _files(one)
        ]
    for file in files:
        found.update(
            f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode("utf-8", "surrogatepass")
        )
        with file.open("rb") as content:
            while piece := content.read(_PIECE):
                found.update(piece)
    return found.hexdigest()


def _files(path: Path) -> list[Path]:
    """Return a file, or the regular files below a folder, sorted, so many as are hashed."""
    if path.is_file():
        return [path]
    found = [one for one, _ in zip(path.rglob("*"), range(MOST_FILES), strict=False)]
    return sorted(one for one in found if one.is_file() and not one.is_symlink())
