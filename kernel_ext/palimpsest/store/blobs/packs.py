"""Keep many small contents by hash in few files: each snapshot adds one pack of what is new.

A thousand files in files of their own cost seconds on a slow or networked disk, and one file costs
milliseconds. A pack is the contents one after the other, then their places as JSON, then the length
of that. It is written beside its place and renamed into it, and never changed.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from palimpsest.store.blobs.blob_folder import HASH
from palimpsest.store.disk.file_writing import scratch_file
from palimpsest.store.disk.regular_files import open_regular
from palimpsest.transcript.errors import NotFound

TAIL_BYTES = 8
FRESH_SECONDS = 600.0
"""A pack that was seen so lately is there: a cleanup spares what is younger than an hour."""
LEAST_SECONDS = 3_600.0
"""A cleanup leaves younger packs alone: their snapshot may not be named by a log yet."""
MOST_HELD_BYTES = 32 << 20
"""Contents that wait in memory; a pack of so much is written as fast as one of all."""
HALF = 0.5
"""A pack of which more than this is not needed is written anew without it."""


@dataclass(frozen=True, slots=True)
class PackPlace:
    """Where a content is."""

    pack: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PackCleanup:
    """What a cleanup found, or did."""

    packs: int = 0
    bytes: int = 0
    unneeded: int = 0
    """Bytes of contents that nothing names."""


class PackedObjects:
    """Contents by hash in packs below one folder; the caller lets in one thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._places: dict[str, PackPlace] = {}
        self._packs: set[str] = set()
        self._waiting: dict[str, bytes] = {}
        self._held = 0
        """Bytes that wait."""
        self._looked = -FRESH_SECONDS

    def begin(self) -> None:
        """Begin a snapshot: nothing waits, and what is known is still there."""
        self.drop()
        now = time.monotonic()
        if now - self._looked < FRESH_SECONDS:
            return
        self._look()
        for name in list(self._packs):
            try:
                os.utime(self._root / name, follow_symlinks=False)
            except FileNotFoundError:
                self._forget(name)
            except OSError:  # somebody else's folder: what is there stays there
                continue
        self._looked = now

    def has(self, sha256: str) -> bool:
        """Tell whether a content is kept, or waits to be."""
        return sha256 in self._places or sha256 in self._waiting

    def holds(self, sha256: str) -> bool:
        """Tell whether a pack holds a content, also one that another kernel wrote."""
        if not self._packs:
            self._look()
        return sha256 in self._places

    def put(self, content: bytes) -> str:
        """Let content wait for ``commit``, unless it is kept already; returns its hash.

        What waits is bounded: more of it is written before the snapshot is whole.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        if not self.has(sha256):
            self._waiting[sha256] = content
            self._held += len(content)
            if self._held >= MOST_HELD_BYTES:
                self.commit()
        return sha256

    def drop(self) -> None:
        """Let what waits go: its snapshot came to nothing."""
        self._waiting = {}
        self._held = 0

    def commit(self) -> None:
        """Write what waits as one pack; raises OSError when the disk refuses."""
        if self._waiting:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            name, places = write_pack(self._root, self._waiting)
            self._places |= places
            self._packs.add(name)
            self.drop()

    def get(self, sha256: str) -> bytes:
        """Return a content; raises NotFound when it is missing or damaged."""
        if HASH.fullmatch(sha256) is None:
            raise NotFound(f"{sha256!r} is not the name of a snapshot.")
        if sha256 in self._waiting:
            return self._waiting[sha256]
        for _ in range(2):
            if sha256 not in self._places:
                self._look()
            place = self._places.get(sha256)
            if place is None:
                break
            try:
                content = read_place(self._root, place)
            except OSError:
                self._forget(place.pack)
                continue
            if hashlib.sha256(content).hexdigest() != sha256:
                raise NotFound(f"The snapshot {sha256[:12]} is damaged.")
            return content
        raise NotFound(f"The snapshot {sha256[:12]} is no longer kept.")

    def _look(self) -> None:
        """Take in packs that other kernels, or earlier ones, wrote."""
        for path in self._root.glob("*.pack"):
            if path.name not in self._packs:
                self._packs.add(path.name)
                self._places |= places_of(path)

    def _forget(self, pack: str) -> None:
        self._packs.discard(pack)
        self._places = {key: at for key, at in self._places.items() if at.pack != pack}


def write_pack(root: Path, contents: Mapping[str, bytes]) -> tuple[str, dict[str, PackPlace]]:
    """Write one pack; returns its name and where everything is in it."""
    name = f"{uuid4().hex}.pack"
    places: dict[str, PackPlace] = {}
    offset = 0
    for sha256, content in contents.items():
        places[sha256] = PackPlace(name, offset, len(content))
        offset += len(content)
    index = json.dumps({key: [at.offset, at.bytes] for key, at in places.items()}).encode()
    tail = len(index).to_bytes(TAIL_BYTES, "big")
    scratch_file(root, b"".join([*contents.values(), index, tail])).replace(root / name)
    return name, places


def places_of(path: Path) -> dict[str, PackPlace]:
    """Return where everything is in a pack; nothing of one that is damaged or gone."""
    try:
        with open_regular(path) as file:
            end = file.seek(-TAIL_BYTES, os.SEEK_END)
            length = int.from_bytes(file.read(TAIL_BYTES), "big")
            if length > end:
                return {}
            file.seek(end - length)
            index = json.loads(file.read(length))
        found = {key: PackPlace(path.name, *at) for key, at in index.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {key: at for key, at in found.items() if _is_within(at, end - length)}


def _is_within(place: PackPlace, end: int) -> bool:
    numbers = (place.offset, place.bytes)
    return all(type(one) is int and one >= 0 for one in numbers) and sum(numbers) <= end


def read_place(root: Path, place: PackPlace) -> bytes:
    """Return the bytes at a place."""
    with open_regular(root / place.pack) as file:
        file.seek(place.offset)
        return file.read(place.bytes)


def sweep_packs(
    root: Path, needed: set[str], now: float, *, days: float, delete: bool
) -> PackCleanup:
    """Find contents that nothing needs, and with ``delete`` write packs anew without them.

    Packs that were used within ``days`` (an hour at least) stay as they are.
    """
    age = max(days * 86_400.0, LEAST_SECONDS)
    packs = bytes_ = unneeded = 0
    for path in sorted(root.glob("*.pack")):
        with suppress(FileNotFoundError):
            found = path.stat()
            places = places_of(path)
            dead = sum(at.bytes for key, at in places.items() if key not in needed)
            packs += 1
            bytes_ += found.st_size
            if now - found.st_mtime < age:
                continue
            unneeded += dead
            if delete and dead > HALF * sum(at.bytes for at in places.values()):
                _rewrite(root, path, (key for key in places if key in needed), places)
    return PackCleanup(packs, bytes_, unneeded)


def _rewrite(root: Path, path: Path, keep: Iterable[str], places: Mapping[str, PackPlace]) -> None:
    contents = {key: read_place(root, places[key]) for key in keep}
    if contents:
        write_pack(root, contents)
    path.unlink()
