"""Write files so that a reader, or whoever comes after a kill, finds the old or the new content.

Border: only this user may read what is made; whoever asks says where it goes.
"""

import os
import stat
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk.regular_files import FLAGS


def scratch_file(directory: Path, content: bytes) -> Path:
    """Write content to a new file of its own, to be renamed or linked into place."""
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
    """Write all bytes, going on after a short write."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are on the disk; what is neither is passed over."""
    try:
        fd = os.open(path, FLAGS)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        # Some network disks know no such thing of a folder.
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise
    finally:
        os.close(fd)
