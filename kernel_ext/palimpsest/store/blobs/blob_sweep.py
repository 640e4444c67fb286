"""Find the blobs that no session refers to, and delete those that have been unneeded for long.

A blob is needed as long as any log in the folder names it, including those of hidden sessions, since
forks read them. The time since which it is unneeded is stored beside the blobs; if that is lost, the time
starts again. A blob that was stored again recently is about to be named, so it is not deleted.
"""

import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from palimpsest.store.blobs.blob_storage import HASH
from palimpsest.store.disk import open_regular, read_json, scratch_file
from palimpsest.store.project_folder.layout import Layout

DAY_SECONDS = 86_400.0
MIN_AGE_SECONDS = DAY_SECONDS
"""Minimum age even without retention: a blob is stored before the record that names it is on the disk,
and a kernel that is suspended overnight may still write that record."""

UNNEEDED_FILE = "unneeded.json"
CHUNK_BYTES = 1 << 20
HASH_IN_LOG = re.compile(rb':[\\" ]{0,4}([0-9a-f]{64})')
"""A reference to a blob in a log: ``"sha256":"..."`` or ``blob:...``. Hashes of anything else match as well."""
MAX_TIME_SECONDS = 1e12
"""Upper limit in seconds of a valid time."""
OVERLAP_BYTES = 68
"""Bytes of a chunk that are searched again with the next one, since a hash may span both."""


@dataclass(frozen=True, slots=True)
class UnneededBlob:
    """A blob that no session needs."""

    sha256: str
    bytes: int
    unneeded_since: float
    """When it was first found unneeded, in seconds since 1970."""
    stored_at: float
    """When it was last stored: its modification time."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of searching for unneeded blobs."""

    due_blobs: tuple[UnneededBlob, ...] = ()
    """Unneeded for longer than the retention; these may be deleted."""
    not_yet_due: tuple[UnneededBlob, ...] = ()
    """Unneeded, but not for long enough."""
    needed_count: int = 0
    """Number of blobs that a session needs."""
    snapshot_bytes: int = 0
    """Bytes of unneeded file snapshots, which are deleted together with ``due_blobs``."""


def find_unneeded(layout: Layout, now: float, days: float) -> Sweep:
    """Search all logs for unneeded blobs, and record since when each is unneeded; nothing is deleted."""
    _restore_tombstones(layout)
    blob_paths = dict(_blobs(layout))
    needed_hashes = named_hashes(layout.sessions) & blob_paths.keys()
    unneeded_since_by_hash = _read_times(layout)
    unneeded_blobs: list[UnneededBlob] = []
    for sha256, path in blob_paths.items():
        if sha256 not in needed_hashes:
            size, stored_at = path.stat().st_size, path.stat().st_mtime
            since = max(unneeded_since_by_hash.get(sha256, now), stored_at)
            unneeded_blobs.append(UnneededBlob(sha256, size, since, stored_at))
    _write_times(
        layout,
        {blob.sha256: unneeded_since_by_hash.get(blob.sha256, now) for blob in unneeded_blobs},
    )
    min_age_seconds = max(days * DAY_SECONDS, MIN_AGE_SECONDS)
    sorted_blobs = sorted(unneeded_blobs, key=lambda blob: (-blob.bytes, blob.sha256))
    return Sweep(
        due_blobs=tuple(
            blob for blob in sorted_blobs if now - blob.unneeded_since >= min_age_seconds
        ),
        not_yet_due=tuple(
            blob for blob in sorted_blobs if now - blob.unneeded_since < min_age_seconds
        ),
        needed_count=len(needed_hashes),
    )


def delete_unneeded(layout: Layout, due_blobs: Iterable[UnneededBlob]) -> tuple[UnneededBlob, ...]:
    """Delete blobs not stored again meanwhile, and what is left of deleted sessions; returns the deleted blobs."""
    for tombstone in layout.sessions.glob(".*"):
        with suppress(FileNotFoundError):
            if time.time() - tombstone.stat().st_ctime >= MIN_AGE_SECONDS:
                shutil.rmtree(tombstone, ignore_errors=True)
    return tuple(
        blob
        for blob in due_blobs
        if _delete_unless_stored_again(layout.blobs / blob.sha256[:2] / blob.sha256, blob)
    )


def _delete_unless_stored_again(path: Path, blob: UnneededBlob) -> bool:
    """Delete a blob, unless it was stored again since the sweep; returns whether it was deleted."""
    tombstone = path.with_name(f".{blob.sha256}.{uuid4().hex[:8]}")
    with suppress(FileNotFoundError):
        path.rename(tombstone)
        if tombstone.stat().st_mtime == blob.stored_at:
            tombstone.unlink()
            return True
        tombstone.replace(path)
    return False


def _restore_tombstones(layout: Layout) -> None:
    """Restore blobs that a killed cleanup had renamed and not deleted."""
    for tombstone in layout.blobs.glob("??/.*"):
        if tombstone.parent.is_symlink():
            continue
        sha256 = tombstone.name.split(".")[1]
        if HASH.fullmatch(sha256) is not None:
            with suppress(FileNotFoundError):
                tombstone.replace(tombstone.with_name(sha256))


def note_unneeded(layout: Layout, directory: Path, now: float) -> None:
    """Record, before a session's logs are deleted, that its blobs are unneeded from now on."""
    unneeded_since_by_hash = _read_times(layout)
    _write_times(layout, unneeded_since_by_hash | dict.fromkeys(named_hashes(directory), now))


def named_hashes(directory: Path) -> set[str]:
    """Return every blob-like hash in the files below a directory."""
    return {
        match.decode()
        for path in directory.rglob("*")
        if path.is_file()
        for match in _hash_matches(path)
    }


def _hash_matches(path: Path) -> Iterator[bytes]:
    carried_bytes = b""
    with suppress(FileNotFoundError), open_regular(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            content = carried_bytes + chunk
            yield from HASH_IN_LOG.findall(content)
            carried_bytes = content[-OVERLAP_BYTES:]


def _blobs(layout: Layout) -> Iterator[tuple[str, Path]]:
    for path in layout.blobs.glob("??/*"):
        is_blob = HASH.fullmatch(path.name) is not None and not path.parent.is_symlink()
        if is_blob and path.is_file():
            yield path.name, path


def _read_times(layout: Layout) -> dict[str, float]:
    try:
        unneeded_since_by_hash = read_json(layout.blobs / UNNEEDED_FILE)
    except (OSError, ValueError):
        return {}
    if not isinstance(unneeded_since_by_hash, dict):
        return {}
    return {
        sha256: float(since)
        for sha256, since in unneeded_since_by_hash.items()
        if isinstance(since, int | float)
        and 0 <= since < MAX_TIME_SECONDS
        and HASH.fullmatch(sha256)
    }


def _write_times(layout: Layout, unneeded_since_by_hash: dict[str, float]) -> None:
    with suppress(OSError):
        scratch_file(layout.blobs, json.dumps(unneeded_since_by_hash).encode()).replace(
            layout.blobs / UNNEEDED_FILE
        )
