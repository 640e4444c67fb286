"""The folder of kept reviews: bounded in size, without files of sessions that are gone, and never through a link."""

import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from palimpsest.store.project_folder.layout import SAFE_NAME, Layout

MOST_BYTES = 256_000_000
"""Of all files together; the oldest are removed for a new one."""


def is_folder(path: Path) -> bool:
    """Return whether a session's folder and the one around it are folders, and no links."""
    try:
        return all(stat.S_ISDIR(one.lstat().st_mode) for one in (path.parent, path))
    except OSError:
        return False


def make_room(layout: Layout, folder: Path, new: Path, size: int) -> None:
    """Make a session's folder for a new file, and remove what it replaces and what is too much; raises OSError."""
    if not folder.parent.is_symlink():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_folder(folder):
        raise NotADirectoryError(f"{str(folder)!r} is no folder.")
    for one in folder.iterdir():
        if one != new:
            one.unlink(missing_ok=True)
    kept: list[tuple[float, int, Path]] = []
    for other in _folders(folder.parent):
        if not (layout.sessions / other.name).is_dir():
            shutil.rmtree(other, ignore_errors=True)
        elif other != folder:
            kept += _files(other)
    total = size + sum(bytes_ for _, bytes_, _ in kept)
    for _, bytes_, path in sorted(kept):
        if total <= MOST_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= bytes_


def _folders(root: Path) -> Iterator[Path]:
    """Yield the folders that are named like sessions."""
    for one in root.iterdir():
        if SAFE_NAME.fullmatch(one.name) and is_folder(one):
            yield one


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    with suppress(OSError):
        for one in folder.iterdir():
            about = one.lstat()
            if stat.S_ISREG(about.st_mode):
                yield about.st_mtime, about.st_size, one
