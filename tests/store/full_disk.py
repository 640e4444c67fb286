"""Folders on which the system itself refuses to write: a full disk, a read-only one, a file that may not grow."""

import contextlib
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.store.log.test_faults import mounted


def fill(folder: Path) -> Path:
    """Fill a folder's disk to the last byte; returns the file that fills it."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 64, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)
    return path


@contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """A folder of its own on a full disk; skips the test where none may be mounted."""
    with small_disk(folder) as made:
        fill(made)
        yield made


@contextmanager
def small_disk(folder: Path, size: str = "1m") -> Iterator[Path]:
    """A folder on a disk of its own."""
    made = folder / "disk"
    made.mkdir()
    with mounted(made, "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs"):
        yield made


@contextmanager
def read_only_disk(folder: Path) -> Iterator[Path]:
    """A folder of its own on a disk that is read-only."""
    made = folder / "disk"
    made.mkdir()
    with mounted(made, "-t", "tmpfs", "-o", "ro,mode=700", "tmpfs"):
        yield made


@contextmanager
def no_growth() -> Iterator[None]:
    """No file of this process grows in the block, also without a right to mount."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
