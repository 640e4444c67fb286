"""Find the sessions below a folder: recordings of any agent, and the sessions of projects.

Each source can be reviewed separately, on any machine with the same path; its hash changes with its
content. Links are not followed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palimpsest.home_paths import home_path
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.reading.importer import CaptureImporter
from palimpsest.recordings.reading.shared_beginnings import earlier_recordings
from palimpsest.review.recorded_sessions.recording import project_root
from palimpsest.store.log.segments import SEGMENT_NAME
from palimpsest.store.project_folder.layout import SAFE_NAME
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.visible_text import visible_line

MAX_DEPTH = 6
"""Maximum depth to which folders are searched for projects, as for recordings."""
MAX_FILES = 10_000
"""Maximum files of one recording that are hashed."""
CAPTURE_SENTENCE = (
    "It is captured HTTP beside other recordings, whose requests it may hold once more, and was left out; "
    "inspect with --captured joins it with one."
)
"""A capture is left out: each source is read by itself, so that it is not joined with the recording it belongs to."""
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A recording, or one session of a project."""

    path: str
    session: str = ""
    """Id of a project's session; empty for a recording, which is reviewed whole."""

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return f"{self.path}, {self.session}" if self.session else self.path


@dataclass(frozen=True, slots=True)
class FolderSources:
    """The sources of a folder."""

    sources: tuple[SessionSource, ...]
    left_out: tuple[str, ...]
    """A sentence on each file that is not read: a compressed file, no recording, or a capture beside recordings."""


def sources_in(folder: str | Path) -> FolderSources:
    """Return the sources at or below a path, sorted; raises UserError with one sentence where there are none."""
    top_folder = home_path(folder).absolute()
    if not top_folder.exists():
        raise NotFound(f"There is no {str(top_folder)!r}.")
    sources = [*_project_sessions(top_folder, MAX_DEPTH)]
    left_out: tuple[str, ...] = ()
    if project_root(top_folder) is None or top_folder.name != ".palimpsest":
        contents = REGISTRY.contents(top_folder)
        recordings = contents.recordings
        captures = {path for path, reader in recordings if isinstance(reader, CaptureImporter)}
        if len(captures) == len(recordings):
            captures = set()
        sources += [SessionSource(str(path)) for path, _ in recordings if path not in captures]
        capture_sentences = [(path, CAPTURE_SENTENCE) for path in sorted(captures)]
        left_out = tuple(
            visible_line(f"{path}: {sentence}")
            for path, sentence in (*capture_sentences, *contents.left_out())
        )
    if not sources:
        raise UserError(
            f"{str(top_folder)!r} holds no session that can be read: {REGISTRY.titles()}."
        )
    return FolderSources(tuple(sources), left_out)


def _project_sessions(folder: Path, depth: int) -> Iterator[SessionSource]:
    root = project_root(folder)
    if root is not None:
        session_ids = sorted(
            path.name for path in (root / "sessions").iterdir() if not path.is_symlink()
        )
        yield from (
            SessionSource(str(root), session_id)
            for session_id in session_ids
            if SAFE_NAME.fullmatch(session_id)
        )
    if depth <= 0 or not folder.is_dir():
        return
    try:
        subfolders = sorted(
            path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()
        )
    except OSError:
        return
    for subfolder in subfolders:
        if not subfolder.name.startswith("."):
            yield from _project_sessions(subfolder, depth - 1)


def content_hash(source: SessionSource) -> str:
    """Return a hash of all files of a source; raises OSError."""
    path, digest = Path(source.path), hashlib.sha256()
    if source.session:
        folder = path / "sessions" / source.session
        files = [
            segment for segment in _regular_files(folder) if SEGMENT_NAME.fullmatch(segment.name)
        ]
    else:
        folder = path.parent
        # Further files of a recording are in a folder of the same name, or beside it, such as a database's log.
        related_paths = [path.with_name(f"{path.name}-wal"), path.with_suffix("")]
        related_paths += earlier_recordings(path, REGISTRY.recognise(path))
        files = [
            file
            for related in dict.fromkeys([path, *related_paths])
            if related.exists()
            for file in _regular_files(related)
        ]
    for file in files:
        digest.update(
            f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode("utf-8", "surrogatepass")
        )
        with file.open("rb") as content:
            while piece := content.read(_PIECE_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def _regular_files(path: Path) -> list[Path]:
    """Return a file, or the regular files below a folder, sorted and limited in number."""
    if path.is_file():
        return [path]
    paths = [inner_path for inner_path, _ in zip(path.rglob("*"), range(MAX_FILES), strict=False)]
    return sorted(
        inner_path for inner_path in paths if inner_path.is_file() and not inner_path.is_symlink()
    )
