"""Store contents by hash: large ones in files of their own, many small ones together in packs.

A large output is shortened for the log and stored whole here. Writing a thousand separate files takes seconds
on a slow or network disk, and one file takes milliseconds, so each snapshot adds one pack with the new contents:
the contents one after the other, then their positions as JSON, then the length of that JSON. A pack is written
to a temporary file and renamed, and never changed.
"""

import base64
import errno
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk import ignore_full_disk, open_regular, scratch_file, storage_errors
from palimpsest.store.interface import Store
from palimpsest.transcript.errors import NotFound, StorageFailed
from palimpsest.transcript.values import BlobRef

MAX_INLINE_BYTES = 32_000
"""Maximum bytes of an output that is stored in the log; larger ones would make opening a session slow."""

EDGE_BYTES = 12_000
"""Bytes of a large output's beginning, and of its end, that the log keeps."""

HASH = re.compile(r"[0-9a-f]{64}")
HASH_CHARS = 64
SHORT_HASH_CHARS = 12
"""Characters of a hash that name it in a sentence."""

FRESH_SECONDS = 600.0
"""Seconds during which a blob gets no new modification time, and a pack that was seen certainly exists: a cleanup
spares files younger than an hour."""

TAIL_BYTES = 8
"""Bytes at the end of a pack that hold the length of its JSON."""
MAX_READ_TRIES = 2
"""The second try reads a pack that replaced the known one meanwhile."""
MIN_PACK_AGE_SECONDS = 3_600.0
"""Minimum age of a pack that a cleanup may change; the snapshot of a younger one may not be in a log yet."""
MAX_UNCOMMITTED_BYTES = 32 << 20
"""Maximum bytes of contents held in memory before a pack is written."""
REWRITE_SHARE = 0.5
"""Share of unused bytes above which a pack is rewritten without them."""


def keep_output(store: Store, text: str) -> tuple[str, BlobRef | None]:
    """Return the output for the log: whole and None, or beginning and end and the blob of the whole."""
    content = text.encode("utf-8", "surrogatepass")
    if len(content) <= MAX_INLINE_BYTES:
        return text, None
    try:
        blob = store.put_blob(content).model_copy(update={"chars": len(text)})
    except StorageFailed:  # the journal keeps it in memory until the disk works
        return text, None
    first_text = content[:EDGE_BYTES].decode("utf-8", "ignore")
    last_text = content[-EDGE_BYTES:].decode("utf-8", "ignore")
    omitted_chars = len(text) - len(first_text) - len(last_text)
    marker = (
        f"\n[... {omitted_chars:,} of {len(text):,} characters left out here;"
        f" the whole output is kept as blob {blob.sha256[:SHORT_HASH_CHARS]} ...]\n"
    )
    return first_text + marker + last_text, blob


def keep_attachment(store: Store, url: str) -> str:
    """Return the url for the log: ``blob:<sha256>`` for a base64 ``data:`` url over the limit."""
    url_header, comma, encoded_data = url.partition(",")
    is_encoded = comma and url_header.startswith("data:") and "base64" in url_header
    if len(url) <= MAX_INLINE_BYTES or not is_encoded:
        return url
    mime = url_header.removeprefix("data:").partition(";")[0]
    return f"blob:{store.put_blob(base64.b64decode(encoded_data), mime).sha256}"


class BlobFolder:
    """Stores blobs as files ``<aa>/<sha256>`` below one folder."""

    def __init__(self, blobs: Path) -> None:
        self._blobs = blobs

    def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:
        """Store content under its SHA-256, unless its blob exists; raises StorageFailed."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._path(sha256)
        with storage_errors(self._blobs):
            if not self._renew_if_stored(path, len(content)):
                # Not the project's folder: if it was removed, the user puts it back, or a new session makes it.
                for folder in (self._blobs, path.parent):
                    folder.mkdir(mode=0o700, exist_ok=True)
                if path.parent.is_symlink():
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path.parent))
                scratch_file(path.parent, content).replace(path)
        return BlobRef(sha256=sha256, bytes=len(content), mime=mime)

    def get_blob(self, sha256: str) -> bytes:
        """Return the content; raises NotFound when it is missing or damaged."""
        if HASH.fullmatch(sha256) is None:
            raise NotFound(f"{sha256!r} is not the hash of a blob.")
        try:
            with open_regular(self._path(sha256)) as file:
                content = file.read()
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"There is no blob {sha256!r} in this project.") from None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise NotFound(f"Blob {sha256!r} is damaged: its content has another hash.")
        return content

    def _path(self, sha256: str) -> Path:
        return self._blobs / sha256[:2] / sha256

    @staticmethod
    def _renew_if_stored(path: Path, size: int) -> bool:
        """Renew the time of a stored blob if it is old, so that a cleanup spares it; returns whether it is stored."""
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode) or path.parent.is_symlink():
                return False
            if status.st_size == size and abs(time.time() - status.st_mtime) > FRESH_SECONDS:
                os.utime(path)
        except FileNotFoundError:
            return False
        except PermissionError:
            return True
        return status.st_size == size


@dataclass(frozen=True, slots=True)
class PackPlace:
    """The position of a content: pack file, byte offset and length."""

    pack: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PackCleanup:
    """The result of a cleanup: number of packs, their bytes, and the unused bytes."""

    packs: int = 0
    bytes: int = 0
    unneeded_bytes: int = 0
    """Bytes of unused contents in packs that are old enough; a rewrite deletes only part of them."""


class PackedObjects:
    """Stores contents by hash in packs below one folder; the caller must serialize its threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._had_folder = root.parent.is_dir()
        self._pack_places: dict[str, PackPlace] = {}
        self._pack_names: set[str] = set()
        self._uncommitted: dict[str, bytes] = {}
        self._uncommitted_bytes = 0
        """Bytes of the contents in ``_uncommitted``."""
        self._checked_at = -FRESH_SECONDS

    def begin_snapshot(self) -> None:
        """Begin a snapshot: drop uncommitted contents, and check that the known packs still exist."""
        self.drop_uncommitted()
        now = time.monotonic()
        if now - self._checked_at < FRESH_SECONDS:
            return
        self._read_new_packs()
        for name in list(self._pack_names):
            try:
                os.utime(self._root / name, follow_symlinks=False)
            except FileNotFoundError:
                self._forget_pack(name)
            except OSError:  # The packs in another user's folder stay.
                continue
        self._checked_at = now

    def has_content(self, sha256: str) -> bool:
        """Return whether a content is stored, or waits for ``commit``."""
        return sha256 in self._pack_places or sha256 in self._uncommitted

    def is_in_pack(self, sha256: str) -> bool:
        """Return whether a pack contains a content, including packs that another kernel wrote."""
        if not self._pack_names:
            self._read_new_packs()
        return sha256 in self._pack_places

    def put(self, content: bytes) -> str:
        """Add content for the next ``commit``, unless it is stored already; returns its hash.

        Memory is bounded: above ``MAX_UNCOMMITTED_BYTES`` a pack is written at once. Raises OSError then.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        if not self.has_content(sha256):
            self._uncommitted[sha256] = content
            self._uncommitted_bytes += len(content)
            if self._uncommitted_bytes >= MAX_UNCOMMITTED_BYTES:
                self.commit()
        return sha256

    def drop_uncommitted(self) -> None:
        """Drop the uncommitted contents, for a snapshot that failed."""
        self._uncommitted = {}
        self._uncommitted_bytes = 0

    def commit(self) -> None:
        """Write the uncommitted contents as one pack; raises OSError when the disk fails."""
        if self._uncommitted:
            # A project's folder that was removed is not made again, since the user may put it back.
            self._root.mkdir(mode=0o700, parents=not self._had_folder, exist_ok=True)
            name, places = write_pack(self._root, self._uncommitted)
            self._pack_places |= places
            self._pack_names.add(name)
            self.drop_uncommitted()

    def get(self, sha256: str) -> bytes:
        """Return the content of a hash; raises NotFound when it is missing or damaged."""
        if HASH.fullmatch(sha256) is None:
            raise NotFound(f"{sha256!r} is not the name of a snapshot.")
        if sha256 in self._uncommitted:
            return self._uncommitted[sha256]
        for _ in range(MAX_READ_TRIES):
            if sha256 not in self._pack_places:
                self._read_new_packs()
            place = self._pack_places.get(sha256)
            if place is None:
                break
            try:
                content = read_place(self._root, place)
            except OSError:
                self._forget_pack(place.pack)
                continue
            if hashlib.sha256(content).hexdigest() != sha256:
                raise NotFound(f"The snapshot {sha256[:SHORT_HASH_CHARS]} is damaged.")
            return content
        raise NotFound(f"The snapshot {sha256[:SHORT_HASH_CHARS]} is no longer kept.")

    def _read_new_packs(self) -> None:
        """Read the positions in packs that other or earlier kernels wrote."""
        for path in self._root.glob("*.pack"):
            if path.name not in self._pack_names:
                self._pack_names.add(path.name)
                self._pack_places |= places_of(path)

    def _forget_pack(self, pack: str) -> None:
        self._pack_names.discard(pack)
        places = self._pack_places.items()
        self._pack_places = {key: place for key, place in places if place.pack != pack}


def write_pack(root: Path, contents: Mapping[str, bytes]) -> tuple[str, dict[str, PackPlace]]:
    """Write one pack; returns its name and the positions of its contents by hash."""
    name = f"{uuid4().hex}.pack"
    places: dict[str, PackPlace] = {}
    offset = 0
    for sha256, content in contents.items():
        places[sha256] = PackPlace(name, offset, len(content))
        offset += len(content)
    index = json.dumps({key: [place.offset, place.bytes] for key, place in places.items()}).encode()
    tail = len(index).to_bytes(TAIL_BYTES, "big")
    scratch_file(root, b"".join([*contents.values(), index, tail])).replace(root / name)
    return name, places


def places_of(path: Path) -> dict[str, PackPlace]:
    """Return the positions of a pack's contents by hash; empty if the pack is damaged or gone."""
    try:
        with open_regular(path) as file:
            end = file.seek(-TAIL_BYTES, os.SEEK_END)
            length = int.from_bytes(file.read(TAIL_BYTES), "big")
            if length > end:
                return {}
            file.seek(end - length)
            index = json.loads(file.read(length))
        places = {key: PackPlace(path.name, *place) for key, place in index.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {key: place for key, place in places.items() if _is_within(place, end - length)}


def _is_within(place: PackPlace, max_offset: int) -> bool:
    numbers = (place.offset, place.bytes)
    are_counts = all(type(number) is int and number >= 0 for number in numbers)
    return are_counts and sum(numbers) <= max_offset


def read_place(root: Path, place: PackPlace) -> bytes:
    """Return the bytes at a position."""
    with open_regular(root / place.pack) as file:
        file.seek(place.offset)
        return file.read(place.bytes)


def sweep_packs(
    root: Path, needed_hashes: set[str], now: float, *, days: float, delete: bool
) -> PackCleanup:
    """Find contents that are not in ``needed_hashes``, and with ``delete`` rewrite packs without them.

    Packs that were used within ``days`` (an hour at least) are not rewritten, nor are packs with at most half of
    their bytes unused.
    """
    min_age_seconds = max(days * 86_400.0, MIN_PACK_AGE_SECONDS)
    pack_count = all_bytes = all_unused_bytes = 0
    for path in sorted(root.glob("*.pack")):
        with suppress(FileNotFoundError):
            file_stat = path.stat()
            places = places_of(path)
            needed_places = {key: places[key] for key in places if key in needed_hashes}
            content_bytes = sum(place.bytes for place in places.values())
            unused_bytes = content_bytes - sum(place.bytes for place in needed_places.values())
            pack_count += 1
            all_bytes += file_stat.st_size
            if now - file_stat.st_mtime < min_age_seconds:
                continue
            all_unused_bytes += unused_bytes
            if delete and unused_bytes > REWRITE_SHARE * content_bytes:
                with ignore_full_disk():  # a pack that is only deleted needs no room
                    contents = {
                        key: read_place(root, place) for key, place in needed_places.items()
                    }
                    if contents:
                        write_pack(root, contents)
                    path.unlink()
    return PackCleanup(pack_count, all_bytes, all_unused_bytes)
