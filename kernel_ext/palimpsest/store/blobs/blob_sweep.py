"""Find the blobs that no session refers to, and delete those that have been unused for long.

A blob is needed as long as any log in the folder names it, including those of hidden sessions, since
forks read them. The time since which it is unused is stored beside the blobs; if that is lost, the time
starts again. A blob that was stored again recently is about to be named, so it stays.
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

DAY = 86_400.0
LEAST_SECONDS = DAY
"""Minimum age even without retention: a blob is stored before the record that names it is on the disk,
and a kernel that is suspended overnight may still write that record."""

NOTES = "unneeded.json"
CHUNK_BYTES = 1 << 20
NAMED = re.compile(rb':[\\" ]{0,4}([0-9a-f]{64})')
"""How logs refer to a blob: ``"sha256":"..."`` or ``blob:...``. Hashes of anything else match as well."""
LATEST = 1e12
"""Upper limit in seconds of a valid time."""
OVERLAP_BYTES = 68
"""Bytes of a chunk that are searched again with the next one, since a hash may span both."""


@dataclass(frozen=True, slots=True)
class UnneededBlob:
    """A blob that no session needs."""

    sha256: str
    bytes: int
    since: float
    """When it stopped being needed, in seconds since 1970, as far as is known."""
    touched: float
    """When it was last stored: its modification time."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of searching for unused blobs."""

    due: tuple[UnneededBlob, ...] = ()
    """Unused for longer than the retention; these may be deleted."""
    waiting: tuple[UnneededBlob, ...] = ()
    """Unused, but not for long enough."""
    needed: int = 0
    """Number of blobs that a session needs."""
    snapshot_bytes: int = 0
    """Bytes of unused file snapshots, which are deleted together with ``due``."""


def find_unneeded(layout: Layout, now: float, days: float) -> Sweep:
    """Search all logs and blobs; deletes nothing, and stores since when each unused blob is unused."""
    _put_back(layout)
    blobs = dict(_blobs(layout))
    needed = named_hashes(layout.sessions) & blobs.keys()
    notes = _read_notes(layout)
    found = {
        sha256: UnneededBlob(
            sha256,
            path.stat().st_size,
            max(notes.get(sha256, now), path.stat().st_mtime),
            path.stat().st_mtime,
        )
        for sha256, path in blobs.items()
        if sha256 not in needed
    }
    _write_notes(layout, {sha256: notes.get(sha256, now) for sha256 in found})
    age = max(days * DAY, LEAST_SECONDS)
    ordered = sorted(found.values(), key=lambda one: (-one.bytes, one.sha256))
    return Sweep(
        due=tuple(one for one in ordered if now - one.since >= age),
        waiting=tuple(one for one in ordered if now - one.since < age),
        needed=len(needed),
    )


def delete_unneeded(layout: Layout, due: Iterable[UnneededBlob]) -> tuple[UnneededBlob, ...]:
    """Delete the blobs, except those stored again meanwhile; returns the deleted ones."""
    for grave in layout.sessions.glob(".*"):
        with suppress(FileNotFoundError):
            if time.time() - grave.stat().st_ctime >= LEAST_SECONDS:
                shutil.rmtree(grave, ignore_errors=True)
    return tuple(one for one in due if _is_deleted(layout.blobs / one.sha256[:2] / one.sha256, one))


def _is_deleted(path: Path, one: UnneededBlob) -> bool:
    """Delete a blob, unless it was stored again since the sweep; returns whether it was deleted."""
    grave = path.with_name(f".{one.sha256}.{uuid4().hex[:8]}")
    with suppress(FileNotFoundError):
        path.rename(grave)
        if grave.stat().st_mtime == one.touched:
            grave.unlink()
            return True
        grave.replace(path)
    return False


def _put_back(layout: Layout) -> None:
    """Restore blobs that a killed cleanup had renamed and not deleted."""
    for grave in layout.blobs.glob("??/.*"):
        if grave.parent.is_symlink():
            continue
        sha256 = grave.name.split(".")[1]
        if HASH.fullmatch(sha256) is not None:
            with suppress(FileNotFoundError):
                grave.replace(grave.with_name(sha256))


def note_unneeded(layout: Layout, directory: Path, now: float) -> None:
    """Record, before a session's logs are deleted, that its blobs are unused from now on."""
    notes = _read_notes(layout)
    _write_notes(layout, notes | dict.fromkeys(named_hashes(directory), now))


def named_hashes(directory: Path) -> set[str]:
    """Return every blob-like hash in the files below a directory."""
    return {
        match.decode()
        for path in directory.rglob("*")
        if path.is_file()
        for match in _matches(path)
    }


def _matches(path: Path) -> Iterator[bytes]:
    rest = b""
    with suppress(FileNotFoundError), open_regular(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            text = rest + chunk
            yield from NAMED.findall(text)
            rest = text[-OVERLAP_BYTES:]


def _blobs(layout: Layout) -> Iterator[tuple[str, Path]]:
    for path in layout.blobs.glob("??/*"):
        known = HASH.fullmatch(path.name) is not None and not path.parent.is_symlink()
        if known and path.is_file():
            yield path.name, path


def _read_notes(layout: Layout) -> dict[str, float]:
    try:
        notes = read_json(layout.blobs / NOTES)
    except (OSError, ValueError):
        return {}
    if not isinstance(notes, dict):
        return {}
    return {
        sha256: float(since)
        for sha256, since in notes.items()
        if isinstance(since, int | float) and 0 <= since < LATEST and HASH.fullmatch(sha256)
    }


def _write_notes(layout: Layout, notes: dict[str, float]) -> None:
    with suppress(OSError):
        scratch_file(layout.blobs, json.dumps(notes).encode()).replace(layout.blobs / NOTES)
