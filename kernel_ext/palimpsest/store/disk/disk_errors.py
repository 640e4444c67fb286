"""Describe errors of the disk in one clear sentence."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palimpsest.transcript.errors import StorageFailed

SENTENCES = {
    errno.ENOSPC: "The disk is full",
    errno.EDQUOT: "The disk quota is used up",
    errno.EROFS: "The disk is read-only",
    errno.EACCES: "The folder may not be written",
    errno.ENOENT: "The folder is gone",
    errno.ESTALE: "The network disk is gone",
}


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
