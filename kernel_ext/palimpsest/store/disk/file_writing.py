"""Write files atomically: a reader finds the old or the new content, also after a kill.

Border: only this user may read the files; the caller chooses the path.
"""

import os
import stat
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk.regular_files import FLAGS


def scratch_file(directory: Path, content: bytes) -> Path:
    """Write content to a new temporary file, to be renamed or linked into place; returns its path."""
    path = directory / f".{uuid4().hex}.tmp"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        write_fully(fd, content)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    return path


def write_atomically(target: Path, content: bytes, *, durable: bool = False) -> None:
    """Replace a file so that a reader sees the old or the new content, never a part.

    With ``durable`` it returns when the new content and its name are on the disk.
    """
    scratch = scratch_file(target.parent, content)
    try:
        if durable:
            sync(scratch)
        scratch.replace(target)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
    if durable:
        sync(target.parent)


def write_fully(fd: int, content: bytes) -> None:
    """Write all bytes to a file descriptor, continuing after a short write."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def sync(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk; a path that cannot be opened is skipped."""
    try:
        fd = os.open(path, FLAGS)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        # Some network disks cannot sync a folder.
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise
    finally:
        os.close(fd)
