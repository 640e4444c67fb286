"""Measure the disk use of a project's folder: each session, the blobs, and the rest.

Border: reads file sizes, and the logs for the names of blobs; writes nothing.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from palimpsest.store.blobs.blob_storage import HASH_CHARS
from palimpsest.store.blobs.blob_sweep import named_hashes
from palimpsest.store.project_folder.layout import SAFE_NAME, Layout
from palimpsest.store.project_folder.lease import LeaseFile, is_dead


@dataclass(frozen=True, slots=True)
class SessionSize:
    """The disk use of one session."""

    id: str
    log_bytes: int
    blob_bytes: int
    """Bytes of the blobs that only this session uses."""
    in_use: bool
    """Whether a kernel seems to write it: its lease is of a process that is not known to have ended."""

    @property
    def bytes(self) -> int:
        """Bytes that deleting the session frees."""
        return self.log_bytes + self.blob_bytes


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """The disk use of a project's folder, in bytes."""

    sessions: tuple[SessionSize, ...]
    blobs: int
    blob_count: int
    snapshots: int
    share: int
    other: int

    @property
    def logs(self) -> int:
        """Bytes of all logs."""
        return sum(session.log_bytes for session in self.sessions)

    @property
    def total(self) -> int:
        """Bytes of the whole folder."""
        return self.logs + self.blobs + self.snapshots + self.share + self.other


def measure_disk_usage(layout: Layout) -> DiskUsage:
    """Measure the disk use of a project's folder."""
    blob_sizes = {
        path.name: size for path, size in _file_sizes(layout.blobs) if len(path.name) == HASH_CHARS
    }
    hashes_of = {
        directory.name: named_hashes(directory) & blob_sizes.keys()
        for directory in _session_folders(layout)
    }
    use_counts = Counter(key for hashes in hashes_of.values() for key in hashes)
    sessions = tuple(
        SessionSize(
            id=directory.name,
            log_bytes=sum(size for _, size in _file_sizes(directory)),
            blob_bytes=sum(
                blob_sizes[key] for key in hashes_of[directory.name] if use_counts[key] == 1
            ),
            in_use=_is_used(directory),
        )
        for directory in _session_folders(layout)
        if directory.name in hashes_of
    )
    usage = DiskUsage(
        sessions=sessions,
        blobs=sum(blob_sizes.values()),
        blob_count=len(blob_sizes),
        snapshots=_folder_bytes(layout.snapshots),
        share=_folder_bytes(layout.root / "share"),
        other=0,
    )
    return replace(usage, other=max(_folder_bytes(layout.root) - usage.total, 0))


def _is_used(directory: Path) -> bool:
    lease = LeaseFile(directory).current_lease()
    return lease is not None and not is_dead(lease)


def _session_folders(layout: Layout) -> list[Path]:
    with suppress(FileNotFoundError):
        folders = layout.sessions.iterdir()
        return sorted(path for path in folders if SAFE_NAME.fullmatch(path.name) and path.is_dir())
    return []


def _folder_bytes(folder: Path) -> int:
    return sum(size for _, size in _file_sizes(folder))


def _file_sizes(folder: Path) -> Iterator[tuple[Path, int]]:
    for folder_path, _, names in os.walk(folder):
        for name in names:
            path = Path(folder_path, name)
            with suppress(OSError):  # The file was deleted meanwhile.
                yield path, path.lstat().st_size
