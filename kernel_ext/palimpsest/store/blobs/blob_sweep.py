"""Find the blobs that no session needs any more, and delete those that were not needed for long.

A blob is needed as long as any log in the folder names it, those of hidden sessions included, since
forks read them. When it stopped being needed is noted beside the blobs; a note that is lost only
lets its time begin again. A blob that was put again a moment ago is about to be named, so it stays.
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

from palimpsest.store.blobs.blob_folder import HASH
from palimpsest.store.disk.file_writing import scratch_file
from palimpsest.store.disk.regular_files import open_regular, read_json
from palimpsest.store.project_folder.layout import Layout

DAY = 86_400.0
LEAST_SECONDS = DAY
"""Even with no retention at all: a blob is put before the record that names it is on the disk, and a
kernel that sleeps overnight may still mean to name one."""

NOTES = "unneeded.json"
CHUNK_BYTES = 1 << 20
NAMED = re.compile(rb':[\\" ]{0,4}([0-9a-f]{64})')
"""How logs name a blob: ``"sha256":"..."`` or ``blob:...``. Every hash of another kind counts as well."""
LATEST = 1e12
"""A time after this is none, whoever wrote it."""
OVERLAP_BYTES = 68
"""A name may lie across two reads."""


@dataclass(frozen=True, slots=True)
class UnneededBlob:
    """A blob that no session needs."""

    sha256: str
    bytes: int
    since: float
    """Seconds since 1970; when it stopped being needed, as far as is known."""
    touched: float
    """When it was last put."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found."""

    due: tuple[UnneededBlob, ...] = ()
    """Not needed for as long as is kept: these go."""
    waiting: tuple[UnneededBlob, ...] = ()
    """Not needed, but not for long enough."""
    needed: int = 0
    """Blobs that a session needs."""
    snapshot_bytes: int = 0
    """Of snapshots of files that no session needs; they go with what is due."""


def find_unneeded(layout: Layout, now: float, days: float) -> Sweep:
    """Look at all logs and blobs; deletes nothing, and notes what is found not to be needed."""
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
    """Delete what is due, unless it was put again meanwhile; returns what went."""
    _bury(layout)
    return tuple(one for one in due if _is_deleted(layout.blobs / one.sha256[:2] / one.sha256, one))


def _is_deleted(path: Path, one: UnneededBlob) -> bool:
    """Delete a blob. Who puts it at this moment finds it fresh, or gone and writes it again."""
    grave = path.with_name(f".{one.sha256}.{uuid4().hex[:8]}")
    with suppress(FileNotFoundError):
        path.rename(grave)
        if grave.stat().st_mtime == one.touched:
            grave.unlink()
            return True
        grave.replace(path)
    return False


def _bury(layout: Layout) -> None:
    """Remove what is left of sessions whose deletion was killed; a new one may still be put back."""
    for grave in layout.sessions.glob(".*"):
        with suppress(FileNotFoundError):
            if time.time() - grave.stat().st_ctime >= LEAST_SECONDS:
                shutil.rmtree(grave, ignore_errors=True)


def _put_back(layout: Layout) -> None:
    """Put back what a cleanup that was killed had taken away and not deleted."""
    for grave in layout.blobs.glob("??/.*"):
        if grave.parent.is_symlink():
            continue
        sha256 = grave.name.split(".")[1]
        if HASH.fullmatch(sha256) is not None:
            with suppress(FileNotFoundError):
                grave.replace(grave.with_name(sha256))


def note_unneeded(layout: Layout, directory: Path, now: float) -> None:
    """Note, before a session's logs are removed, that it needs its blobs no more."""
    notes = _read_notes(layout)
    _write_notes(layout, notes | dict.fromkeys(named_hashes(directory), now))


def named_hashes(directory: Path) -> set[str]:
    """Return every hash that a file below a directory names."""
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
