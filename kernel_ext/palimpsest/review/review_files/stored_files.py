"""The folder of stored reviews: bounded in size, without files of deleted sessions, and never behind a link."""

import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from palimpsest.store.project_folder.layout import SAFE_NAME, Layout

MAX_BYTES = 256_000_000
"""Maximum bytes of all files together; the oldest files are removed for a new one."""


def is_unlinked_folder(path: Path) -> bool:
    """Return whether a session's folder and its parent are folders, not links."""
    try:
        return all(stat.S_ISDIR(folder.lstat().st_mode) for folder in (path.parent, path))
    except OSError:
        return False


def make_room(layout: Layout, folder: Path, new_file: Path, size_bytes: int) -> None:
    """Create a session's folder for a new file, and remove the replaced file and the oldest files; raises OSError."""
    if not folder.parent.is_symlink():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_unlinked_folder(folder):
        raise NotADirectoryError(f"{str(folder)!r} is no folder.")
    for file in folder.iterdir():
        if file != new_file:
            file.unlink(missing_ok=True)
    files: list[tuple[float, int, Path]] = []
    for other_folder in _session_folders(folder.parent):
        if not (layout.sessions / other_folder.name).is_dir():
            shutil.rmtree(other_folder, ignore_errors=True)
        elif other_folder != folder:
            files += _dated_files(other_folder)
    total_bytes = size_bytes + sum(file_bytes for _, file_bytes, _ in files)
    for _, file_bytes, path in sorted(files):
        if total_bytes <= MAX_BYTES:
            break
        path.unlink(missing_ok=True)
        total_bytes -= file_bytes


def _session_folders(root: Path) -> Iterator[Path]:
    """Yield the folders that are named like sessions."""
    for child in root.iterdir():
        if SAFE_NAME.fullmatch(child.name) and is_unlinked_folder(child):
            yield child


def _dated_files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield for each file when it was changed, in seconds since 1970, its bytes, and its path."""
    with suppress(OSError):
        for file in folder.iterdir():
            status = file.lstat()
            if stat.S_ISREG(status.st_mode):
                yield status.st_mtime, status.st_size, file
