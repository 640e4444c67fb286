"""Put what a disk refuses into one clear sentence."""

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
    """Return what went wrong, as the beginning of a sentence."""
    return SENTENCES.get(error.errno or 0, f"The disk refused ({error.strerror or error})")


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise StorageFailed for what the disk refuses below a path."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"{disk_reason(error)}: {str(path)!r} cannot be written.") from error
