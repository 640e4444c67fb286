"""Open only regular files, write files atomically, and say an error of the disk in one clear sentence.

A folder that was copied or unpacked may contain anything under the names that we read: a pipe that blocks
forever, a folder, a link or a device. Anything but a regular file counts as missing, so that callers that can
do without the file continue. What is written can be read by this user only, and a reader finds the old or
the new content, also after a kill. The caller chooses the path.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from palimpsest.transcript.errors import StorageFailed

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | NOFOLLOW
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

SMALL_BYTES = 64 << 20
"""Maximum bytes of a file that is read at once: lists, leases, settings."""

SENTENCES = {
    errno.ENOSPC: "The disk is full",
    errno.EDQUOT: "The disk quota is used up",
    errno.EROFS: "The disk is read-only",
    errno.EACCES: "The folder may not be written",
    errno.ENOENT: "The folder is gone",
    errno.ESTALE: "The network disk is gone",
}


class NoFile(FileNotFoundError):
    """The path is not a regular file."""


class TooLarge(OSError):
    """A file is larger than its limit."""


def open_regular(path: Path, *, follow: bool = False) -> FileIO:
    """Open a file for unbuffered reading; raises NoFile if it is not a regular file, or OSError.

    With ``follow`` a link is followed, for a path that the user named.
    """
    try:
        fd = os.open(path, FLAGS & ~NOFOLLOW if follow else FLAGS)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.EMLINK}:
            raise NoFile(errno.ENOENT, "It is no file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NoFile(errno.ENOENT, "It is no file", str(path))
    return FileIO(fd, "rb")


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file, and not a link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def read_small(path: Path, limit: int = SMALL_BYTES, *, follow: bool = False) -> bytes:
    """Return the content of a file; raises TooLarge, before reading, if it exceeds ``limit`` bytes."""
    with open_regular(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise TooLarge(errno.EFBIG, f"It is larger than {limit >> 20} MB", str(path))
        found = bytearray()
        while len(found) <= limit and (block := file.read(limit + 1 - len(found))):
            found += block
    return bytes(found)


def read_json(path: Path, limit: int = SMALL_BYTES) -> Any:
    """Return the JSON value in a file; raises OSError, or ValueError if it is not JSON."""
    try:
        return json.loads(read_small(path, limit))
    except RecursionError as error:
        raise ValueError("It is nested too deeply.") from error


def disk_reason(error: OSError) -> str:
    """Return the reason of an error, as the beginning of a sentence."""
    return SENTENCES.get(error.errno or 0, f"The disk refused ({error.strerror or error})")


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a StorageFailed that names the path."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"{disk_reason(error)}: {str(path)!r} cannot be written.") from error


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
