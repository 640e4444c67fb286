"""Open a path only if it is a regular file: no pipe that blocks forever, no folder, link or device.

A folder that was copied or unpacked may contain anything under the names that we read. Anything but a
regular file counts as missing, so that callers that can do without the file continue.
"""

import errno
import json
import os
import stat
from io import FileIO
from pathlib import Path
from typing import Any

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
