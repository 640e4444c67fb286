"""Open a file only when it is one: no pipe that waits for ever, no folder, no link, no device.

A folder that was copied or unpacked may hold anything under the names that we read. What is no file
counts as missing, so that whoever can do without the file goes on.
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
"""What is read whole is smaller: lists, leases, settings."""


class NoFile(FileNotFoundError):
    """Something else lies where a file is looked for."""


class TooLarge(OSError):
    """A file is larger than anything that was ever written there."""


def open_regular(path: Path, *, follow: bool = False) -> FileIO:
    """Open a file to be read without a buffer; raises NoFile for what is none.

    ``follow`` takes a link for the file that it leads to, as where a person named the path.
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
    """Tell whether a file, and nothing else, lies at a path."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def read_small(path: Path, limit: int = SMALL_BYTES, *, follow: bool = False) -> bytes:
    """Return what a file holds; raises TooLarge before it reads one that is too large."""
    with open_regular(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise TooLarge(errno.EFBIG, f"It is larger than {limit >> 20} MB", str(path))
        found = bytearray()
        while len(found) <= limit and (block := file.read(limit + 1 - len(found))):
            found += block
    return bytes(found)


def read_json(path: Path, limit: int = SMALL_BYTES) -> Any:
    """Return the JSON that a file holds; raises OSError, or ValueError when it holds none."""
    try:
        return json.loads(read_small(path, limit))
    except RecursionError as error:
        raise ValueError("It is nested too deeply.") from error
