"""Store large content in files named by their hash, and shorten it for the log."""

import base64
import errno
import hashlib
import os
import re
import stat
import time
from pathlib import Path
from typing import Protocol

from palimpsest.store.disk.file_writing import scratch_file
from palimpsest.store.disk.regular_files import open_regular
from palimpsest.transcript.errors import NotFound, StorageFailed
from palimpsest.transcript.values import BlobRef

INLINE_BYTES = 32_000
"""Outputs up to this size are stored in the log; larger ones would make opening a session slow."""

EDGE_BYTES = 12_000
"""Bytes of a large output's beginning, and of its end, that the log keeps."""

FRESH_SECONDS = 600.0
"""A blob younger than this gets no new modification time, since a cleanup counts in hours."""

HASH = re.compile(r"[0-9a-f]{64}")


class BlobKeeper(Protocol):
    """Stores content under its hash.

    Contract: storing the same content again does nothing.
    """

    def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:
        """Store the content."""
        ...


def keep_output(
    store: BlobKeeper, text: str, *, limit: int = INLINE_BYTES
) -> tuple[str, BlobRef | None]:
    """Return the output for the log: whole and None, or beginning and end and the blob of the whole."""
    content = text.encode("utf-8", "surrogatepass")
    if len(content) <= limit:
        return text, None
    try:
        ref = store.put_blob(content).model_copy(update={"chars": len(text)})
    except StorageFailed:  # the journal keeps it in memory until the disk works
        return text, None
    edge = min(EDGE_BYTES, limit // 2)
    head = content[:edge].decode("utf-8", "ignore")
    tail = content[-edge:].decode("utf-8", "ignore")
    left_out = len(text) - len(head) - len(tail)
    marker = (
        f"\n[... {left_out:,} of {len(text):,} characters left out here;"
        f" the whole output is kept as blob {ref.sha256[:12]} ...]\n"
    )
    return head + marker + tail, ref


def keep_attachment(store: BlobKeeper, url: str, *, limit: int = INLINE_BYTES) -> str:
    """Return the url for the log: ``blob:<sha256>`` for a base64 ``data:`` url over the limit."""
    head, comma, encoded = url.partition(",")
    if len(url) <= limit or not comma or not head.startswith("data:") or "base64" not in head:
        return url
    mime = head.removeprefix("data:").partition(";")[0]
    return f"blob:{store.put_blob(base64.b64decode(encoded), mime).sha256}"


class BlobFolder:
    """Stores blobs as files ``<aa>/<sha256>`` below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, content: bytes, mime: str) -> BlobRef:
        """Store content, unless its blob exists."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._path(sha256)
        if not self._is_whole(path, len(content)):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.parent.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path.parent))
            scratch_file(path.parent, content).replace(path)
        return BlobRef(sha256=sha256, bytes=len(content), mime=mime)

    def get(self, sha256: str) -> bytes:
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
        return self._root / sha256[:2] / sha256

    @staticmethod
    def _is_whole(path: Path, size: int) -> bool:
        """Return whether the blob exists, and renew the modification time of an old one.

        So a cleanup sees that it is about to be needed, and leaves it alone.
        """
        try:
            known = path.lstat()
            if not stat.S_ISREG(known.st_mode) or path.parent.is_symlink():
                return False
            if known.st_size == size and abs(time.time() - known.st_mtime) > FRESH_SECONDS:
                os.utime(path)
        except FileNotFoundError:
            return False
        except PermissionError:
            return True
        return known.st_size == size
