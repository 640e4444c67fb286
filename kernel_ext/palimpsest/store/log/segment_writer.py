"""Append records to one segment, and stop when another kernel took the session over.

Each record is one line and one ``os.write`` on a file opened for appending, so a killed process
leaves at most one unfinished line. A higher segment in the directory means that the session has a
new writer: its header says up to which byte our segment counts. What we wrote after that byte,
and the records we still hold, are saved to a fork.

A person may remove, rename or replace the project's folder meanwhile. An open file goes on under another name, so that
nothing is lost of a folder that was renamed; ``missing`` says that the log is not where it was opened.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from palimpsest.store.disk import NOFOLLOW, open_regular, write_fully
from palimpsest.store.interface import TakenOver, WriteFailed
from palimpsest.store.log.segment_start import HEADER_WAIT_SECONDS, POLL_SECONDS, settle_segments
from palimpsest.store.log.segments import SegmentRange, Segments, locate_record, segment_name
from palimpsest.store.log_lines import checked_line, load_line
from palimpsest.store.project_folder.layout import Layout
from palimpsest.store.project_folder.layout_file import FILE as LAYOUT_FILE
from palimpsest.store.project_folder.migration_run import being_migrated, refuse_newer
from palimpsest.store.session_state.step_requests import REFRESH, shorten_request
from palimpsest.transcript.context_values.decisions import BESIDE
from palimpsest.transcript.errors import NotFound, StorageFailed
from palimpsest.transcript.session_record.events import Checkpoint, Record, StepRequested
from palimpsest.transcript.strings.disk_words import disk_reason

GONE = "{why}. What happens now is kept in this kernel's memory, and is written once the folder is put back."

Refuse = Callable[["JsonlWriter", int, Sequence[Record]], TakenOver]


@dataclass(frozen=True, slots=True)
class _Base:
    """A request record that was written in full, and how many later ones refer to it."""

    seq: int
    request: dict[str, Any]
    uses: int = 0


class LayoutWatch:
    """Detects that a newer version migrated the folder while this kernel has it open.

    Otherwise a kernel that was only suspended would continue to write in the old format.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._seen: tuple[int, int, int] | None = None

    def check(self) -> None:
        """Raise LayoutTooNew, or StorageFailed while another kernel migrates; fast if nothing changed."""
        stamp = self._stamp()
        if stamp is None or stamp == self._seen:
            return
        refuse_newer(self._layout.root, self._layout.version)
        if problem := being_migrated(self._layout.root):
            raise StorageFailed(f"{problem}.")
        self._seen = stamp

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = (self._layout.root / LAYOUT_FILE).lstat()
        except OSError:  # a missing folder, or a file that the next opening creates again
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


class JsonlWriter:
    """Appends to one session's log; implements ``Writer``."""

    def __init__(
        self,
        session_id: str,
        epoch: int,
        path: Path,
        segments: Segments,
        *,
        refuse: Refuse,
        release: Callable[["JsonlWriter"], None],
        lost: Callable[[], bool],
        allowed: Callable[[], None],
    ) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self.path = path
        self.closed = False
        self._segments = segments
        self._next = path.parent / segment_name(epoch + 1)
        self._refuse = refuse
        self._release = release
        self._lost = lost
        self._allowed = allowed
        """Raises UserError if the folder has another layout by now."""
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | NOFOLLOW)
        self._size = os.fstat(self._fd).st_size
        self._torn = False
        self._folder_synced = False
        self._base: _Base | None = None
        """The full request to which later ones of this segment may refer."""

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:
        """Append records in order; with ``sync`` they are on the disk when it returns."""
        if self.closed:
            raise StorageFailed(f"The log of session {self.session_id!r} was closed.")
        self._allowed()
        if self._next.exists() or self._lost():
            raise self._stop(records)
        self._check_place()
        for index, line in enumerate([record.encoded() for record in records]):
            base = self._base
            if isinstance(records[index].event, Checkpoint | StepRequested):
                line, base = self._short(records[index], line)
            # A space before the newline: a torn line can never look like one in our own format.
            content = (b" \n" if self._torn else b"") + line
            try:
                write_fully(self._fd, content)
            except OSError as error:
                raise self._refused(error, index) from error
            self._torn, self._base = False, base
            self._size += len(content)
        if sync:
            self._sync(written=len(records))
        if self._next.exists() and self._cut() < os.fstat(self._fd).st_size:
            raise self._stop(())

    def missing(self) -> str:
        """Return why the log is no longer found where it was opened, as a clause; empty where it is."""
        try:
            return "" if self.closed else missing_reason(self.path, self._fd, self._size)
        except OSError:  # it was closed just now
            return ""

    def position(self) -> tuple[str, int]:
        """Return the current segment's name and its length in bytes."""
        return self.path.name, self._size

    def locate(self, seq: int) -> tuple[str, int]:
        """Return the segment and byte offset of the first record numbered ``seq`` or more."""
        try:
            found = locate_record(self._segments.pieces(self.session_id), seq)
        except OSError as error:
            raise StorageFailed(self._sentence(error)) from error
        if found is None:
            return self.position()
        piece, offset = found
        foreign = piece.session_id != self.session_id
        return (f"{piece.session_id}/{piece.segment}" if foreign else piece.segment), offset

    def written(self, segment: str, offset: int) -> bytes:
        """Return the session's bytes of one of its own segments from an offset on; nothing for any other."""
        try:
            own = {one.segment: one for one in self._segments.own(self.session_id)}
            if segment not in own:
                return b""
            with open_regular(own[segment].path) as file:
                file.seek(offset)
                return file.read(max(0, own[segment].size() - offset))
        except (OSError, NotFound):
            return b""

    def close(self) -> None:
        """Sync and close the file, and release the session."""
        if not self.closed:
            self.closed = True
            with suppress(OSError):
                os.fsync(self._fd)
            with suppress(OSError):  # a network disk may refuse even this
                os.close(self._fd)
            self._release(self)

    def piece(self, end: int | None = None) -> SegmentRange:
        """Return the range of this writer's own segment, up to a byte offset."""
        header = self._segments.header(self.path)
        start = 0 if header is None else header.length
        return SegmentRange(self.session_id, self.path.name, self.path, start, end)

    def _short(self, record: Record, line: bytes) -> tuple[bytes, "_Base | None"]:
        """Return the line of a record, shortened if it is a request like the base, and the base for the next.

        The first request after a checkpoint is written in full, since a reader may begin there.
        """
        base = self._base
        if isinstance(record.event, Checkpoint):
            return checked_line(line[:-1]) + b"\n", None
        if not isinstance(record.event, StepRequested) or record.event.request.purpose in BESIDE:
            return line, base  # a request outside of the turns shares little with the agent's
        whole = load_line(line) or {}
        request = whole.get("request", {})
        if base is not None and base.uses < REFRESH:
            short = shorten_request(request, base.request, base.seq)
            if short is not None:
                data = {**whole, "request": short}
                text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                return text.encode() + b"\n", replace(base, uses=base.uses + 1)
        return line, _Base(record.seq, request)

    def _refused(self, error: OSError, written: int) -> WriteFailed:
        """Note how much of a line the disk took that it refused, and return what is raised."""
        with suppress(OSError):
            size = os.fstat(self._fd).st_size
            self._torn = self._torn or size != self._size
            self._size = size
        return WriteFailed(self._sentence(error), written=written)

    def _sync(self, *, written: int) -> None:
        try:
            getattr(os, "fdatasync", os.fsync)(self._fd)
            if not self._folder_synced:
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
                self._folder_synced = True
        except OSError as error:
            raise WriteFailed(self._sentence(error), written=written) from error

    def _check_place(self) -> None:
        """Raise WriteFailed if the open file was deleted; reopen it if it was put back unchanged."""
        try:
            fd = reopened(self.path, self._fd, self._size)
        except FileExistsError as error:
            raise WriteFailed(
                f"Another file lies where the log of session {self.session_id!r} was"
                f" ({str(self.path)!r}); what happens now is kept in memory only.",
                written=0,
            ) from error
        except OSError as error:
            why = self.missing()
            raise WriteFailed(
                GONE.format(why=why) if why else self._sentence(error), written=0
            ) from error
        if fd != self._fd:
            os.close(self._fd)
            self._fd = fd

    def _cut(self) -> int:
        """Return the byte up to which our segment counts; waits for the new writer's header."""
        until = time.monotonic() + HEADER_WAIT_SECONDS
        while not self._next.exists():  # a lease was lost, and its new holder is about to begin
            if time.monotonic() > until:
                return self._size
            time.sleep(POLL_SECONDS)
        with suppress(NotFound):
            settle_segments(self._segments, self.path.parent)
            pieces = self._segments.own(self.session_id)
            end = {piece.segment: piece.end for piece in pieces}.get(self.path.name, 0)
            if end is not None:
                return end
        return self._size

    def _stop(self, records: Sequence[Record]) -> TakenOver:
        """Save late records to a fork and release the session; if saving fails, it can be retried."""
        taken = self._refuse(self, self._cut(), records)
        self.closed = True
        with suppress(OSError):
            os.close(self._fd)
        self._release(self)
        return taken

    def _sentence(self, error: OSError) -> str:
        return (
            f"{disk_reason(error)}: {str(self.path.parent)!r} cannot be written. Everything is kept in memory"
            " and will be written as soon as it can."
        )


def missing_reason(path: Path, fd: int, size: int) -> str:
    """Return why a log is no longer found at its path, as a clause; empty where it is.

    ``fd`` is our open file of it and ``size`` what we know to be in it: a file of that size at the path is the log that
    was put back.
    """
    root = path.parents[2]
    try:
        found = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return _gone(root, path.parent)
    except PermissionError:
        return f"The folder {str(root)!r} may not be read any more"
    except OSError as error:
        return f"{disk_reason(error)} ({str(root)!r})"
    ours = os.fstat(fd)
    if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
        return ""
    if stat.S_ISREG(found.st_mode) and found.st_size == size:
        return ""
    return f"Another file lies where the log of this session was ({str(path)!r})"


def _gone(root: Path, folder: Path) -> str:
    if not os.path.lexists(root):
        return f"The folder {str(root)!r} was removed or renamed"
    if not root.is_dir():
        return f"{str(root)!r} is no folder any more"
    return f"The log of this session was removed ({str(folder)!r})"


def reopened(path: Path, fd: int, size: int) -> int:
    """Return the descriptor to write to: the open one, or one of the file that was put back unchanged in its place.

    The caller closes the other one. Raises OSError where the file was removed and is not back.
    """
    ours = os.fstat(fd)
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        if ours.st_nlink > 0:  # the folder was renamed: nothing is lost, so it goes on there
            return fd
        raise
    is_same = (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
    if is_same or (found.st_size != size and ours.st_nlink > 0):
        return fd
    other = os.open(path, os.O_WRONLY | os.O_APPEND | NOFOLLOW)
    if os.fstat(other).st_size == size:
        return other
    os.close(other)
    raise FileExistsError(str(path))
