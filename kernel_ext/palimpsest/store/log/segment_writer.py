"""Append records to one segment, and stop when another kernel took the session over.

Each record is one line and one ``os.write`` on a file opened for appending, so a killed process leaves at most one
unfinished line. A higher segment in the directory means that the session has a new writer: its header names the byte up
to which this writer's segment counts. Records after that byte, and records not written yet, are saved to a fork.

The user may remove, rename or replace the project's folder meanwhile. An open file can still be written after its
folder was renamed, so nothing is lost then; ``missing_reason`` reports that the log is not where it was opened.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from palimpsest.store.disk import NOFOLLOW, file_stamp, write_fully
from palimpsest.store.interface import TakenOver, WriteFailed
from palimpsest.store.log.segment_start import (
    MAX_HEADER_WAIT_SECONDS,
    POLL_SECONDS,
    settle_segments,
)
from palimpsest.store.log.segments import (
    SegmentRange,
    Segments,
    line_blocks,
    locate_record,
    segment_name,
)
from palimpsest.store.log_lines import checked_line, load_line
from palimpsest.store.project_folder.layout import Layout
from palimpsest.store.project_folder.layout_file import LAYOUT_FILE_NAME
from palimpsest.store.project_folder.migration_run import refuse_newer, running_migration_sentence
from palimpsest.store.session_state.step_requests import MAX_BASE_USES, shorten_request
from palimpsest.transcript.context_values.decisions import BESIDE_PURPOSES
from palimpsest.transcript.errors import NotFound, StorageFailed
from palimpsest.transcript.session_record.events import Checkpoint, Record, StepRequested
from palimpsest.transcript.strings.disk_words import disk_reason

NOT_WRITTEN = "{why}. What happens now is kept in this kernel's memory, and is written once the folder is put back."

SaveToFork = Callable[["JsonlWriter", int, Sequence[Record]], TakenOver]


@dataclass(frozen=True, slots=True)
class _BaseRequest:
    """A request record that was written in full, and how many later ones refer to it."""

    seq: int
    request: dict[str, Any]
    use_count: int = 0


class LayoutWatch:
    """Detects that a newer version migrated the folder while this kernel has it open.

    Otherwise a kernel that was only suspended would continue to write in the old format.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._checked_stamp: tuple[int, int, int] | None = None

    def check(self) -> None:
        """Raise LayoutTooNew, or StorageFailed while another kernel migrates; fast if nothing changed."""
        # None for a missing folder, or a file that the next opening creates again.
        stamp = file_stamp(self._layout.root / LAYOUT_FILE_NAME)
        if stamp is None or stamp == self._checked_stamp:
            return
        refuse_newer(self._layout.root, self._layout.version)
        if problem := running_migration_sentence(self._layout.root):
            raise StorageFailed(f"{problem}.")
        self._checked_stamp = stamp


class JsonlWriter:
    """Appends to one session's log; implements ``Writer``."""

    def __init__(
        self,
        session_id: str,
        epoch: int,
        path: Path,
        segments: Segments,
        *,
        save_to_fork: SaveToFork,
        on_close: Callable[["JsonlWriter"], None],
        is_lease_lost: Callable[[], bool],
        check_layout: Callable[[], None],
    ) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self.path = path
        self.is_closed = False
        self._segments = segments
        self._next_segment = path.parent / segment_name(epoch + 1)
        self._save_to_fork = save_to_fork
        self._on_close = on_close
        self._is_lease_lost = is_lease_lost
        self._check_layout = check_layout
        """Raises UserError if the folder has another layout by now."""
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | NOFOLLOW)
        self._written_bytes = os.fstat(self._fd).st_size
        self._is_torn = False
        self._is_folder_synced = False
        self._base_request: _BaseRequest | None = None
        """The full request to which later requests of this segment may refer."""

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:
        """Append records in order; with ``sync`` they are on the disk when it returns."""
        if self.is_closed:
            raise StorageFailed(f"The log of session {self.session_id!r} was closed.")
        self._check_layout()
        if self._next_segment.exists() or self._is_lease_lost():
            raise self._hand_over(records)
        self._reopen_if_replaced()
        for index, line in enumerate([record.encoded() for record in records]):
            base_request = self._base_request
            if isinstance(records[index].event, Checkpoint | StepRequested):
                line, base_request = self._shortened_line(records[index], line)
            # A space before the newline: a torn line can never look like a complete line of this format.
            content = (b" \n" if self._is_torn else b"") + line
            try:
                write_fully(self._fd, content)
            except OSError as error:
                raise self._write_failure(error, index) from error
            self._is_torn, self._base_request = False, base_request
            self._written_bytes += len(content)
        if sync:
            self._sync(written_count=len(records))
        if self._next_segment.exists() and self._await_cut_offset() < os.fstat(self._fd).st_size:
            raise self._hand_over(())

    def missing_reason(self) -> str:
        """Return why the log is no longer found where it was opened, as a clause; empty where it is."""
        with suppress(OSError):  # it may be closed just now
            if not self.is_closed:
                return missing_reason(self.path, self._fd, self._written_bytes)
        return ""

    def position(self) -> tuple[str, int]:
        """Return the current segment's name and its length in bytes."""
        return self.path.name, self._written_bytes

    def place_of_record(self, seq: int) -> tuple[str, int]:
        """Return the segment and byte offset of the first record numbered ``seq`` or more."""
        try:
            range_and_offset = locate_record(self._segments.segment_ranges(self.session_id), seq)
        except OSError as error:
            raise StorageFailed(self._refusal_sentence(error)) from error
        if range_and_offset is None:
            return self.position()
        segment_range, offset = range_and_offset
        return segment_range.name_in(self.session_id), offset

    def written_lines(self, segment: str, offset: int) -> Iterator[bytes]:
        """Yield the lines of one of the session's own segments from an offset on; none for any other segment."""
        with suppress(OSError, NotFound):
            for segment_range in self._segments.own_ranges(self.session_id):
                if segment_range.segment == segment:
                    for lines in line_blocks(segment_range, offset):
                        yield from lines

    def close(self) -> None:
        """Sync and close the file, and release the session."""
        if not self.is_closed:
            self.is_closed = True
            with suppress(OSError):
                os.fsync(self._fd)
            with suppress(OSError):  # a network disk may refuse even this
                os.close(self._fd)
            self._on_close(self)

    def own_range(self) -> SegmentRange:
        """Return the range of this writer's own segment."""
        header = self._segments.header(self.path)
        start = 0 if header is None else header.line_bytes
        return SegmentRange(self.session_id, self.path.name, self.path, start, None)

    def _shortened_line(self, record: Record, line: bytes) -> tuple[bytes, "_BaseRequest | None"]:
        """Return the line of a record, for a request like the base request a shortened one; and the next base request.

        The first request after a checkpoint is written in full, since a reader may begin there.
        """
        base_request = self._base_request
        event = record.event
        if isinstance(event, Checkpoint):
            return checked_line(line[:-1]) + b"\n", None
        if not isinstance(event, StepRequested) or event.request.purpose in BESIDE_PURPOSES:
            # A request outside of the turns shares little with the agent's.
            return line, base_request
        fields = load_line(line) or {}
        request = fields.get("request", {})
        if base_request is not None and base_request.use_count < MAX_BASE_USES:
            short_request = shorten_request(request, base_request.request, base_request.seq)
            if short_request is not None:
                short_fields = {**fields, "request": short_request}
                text = json.dumps(short_fields, ensure_ascii=False, separators=(",", ":"))
                base_request = replace(base_request, use_count=base_request.use_count + 1)
                return text.encode() + b"\n", base_request
        return line, _BaseRequest(record.seq, request)

    def _write_failure(self, error: OSError, written_count: int) -> WriteFailed:
        """Record how much of a line was written before the disk refused it, and return the error to raise."""
        with suppress(OSError):
            size = os.fstat(self._fd).st_size
            self._is_torn = self._is_torn or size != self._written_bytes
            self._written_bytes = size
        return WriteFailed(self._refusal_sentence(error), written_count=written_count)

    def _sync(self, *, written_count: int) -> None:
        try:
            getattr(os, "fdatasync", os.fsync)(self._fd)
            if not self._is_folder_synced:
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
                self._is_folder_synced = True
        except OSError as error:
            raise WriteFailed(self._refusal_sentence(error), written_count=written_count) from error

    def _reopen_if_replaced(self) -> None:
        """Reopen the log if it was put back unchanged; raises WriteFailed if it was deleted."""
        try:
            fd = reopened_descriptor(self.path, self._fd, self._written_bytes)
        except FileExistsError as error:
            raise WriteFailed(
                f"Another file lies where the log of session {self.session_id!r} was"
                f" ({str(self.path)!r}); what happens now is kept in memory only.",
                written_count=0,
            ) from error
        except OSError as error:
            why = self.missing_reason()
            raise WriteFailed(
                NOT_WRITTEN.format(why=why) if why else self._refusal_sentence(error),
                written_count=0,
            ) from error
        if fd != self._fd:
            os.close(self._fd)
            self._fd = fd

    def _await_cut_offset(self) -> int:
        """Return the byte up to which this writer's segment counts; waits for the new writer's header."""
        deadline = time.monotonic() + MAX_HEADER_WAIT_SECONDS
        while not self._next_segment.exists():
            # A lease was lost, and its new holder is about to begin.
            if time.monotonic() > deadline:
                return self._written_bytes
            time.sleep(POLL_SECONDS)
        with suppress(NotFound):
            settle_segments(self._segments, self.path.parent)
            ranges = self._segments.own_ranges(self.session_id)
            ends = {segment_range.segment: segment_range.end for segment_range in ranges}
            end = ends.get(self.path.name, 0)
            if end is not None:
                return end
        return self._written_bytes

    def _hand_over(self, records: Sequence[Record]) -> TakenOver:
        """Save late records to a fork and release the session; if saving fails, it can be retried."""
        takeover = self._save_to_fork(self, self._await_cut_offset(), records)
        self.is_closed = True
        with suppress(OSError):
            os.close(self._fd)
        self._on_close(self)
        return takeover

    def _refusal_sentence(self, error: OSError) -> str:
        return (
            f"{disk_reason(error)}: {str(self.path.parent)!r} cannot be written. Everything is kept in memory"
            " and will be written as soon as it can."
        )


def missing_reason(path: Path, fd: int, known_bytes: int) -> str:
    """Return why a log is no longer found at its path, as a clause; empty where it is.

    ``fd`` is the open file and ``known_bytes`` its known size: a file of that size at the path is the log that was put back.
    """
    root = path.parents[2]
    try:
        file_stat = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return _missing_folder_clause(root, path.parent)
    except PermissionError:
        return f"The folder {str(root)!r} may not be read any more"
    except OSError as error:
        return f"{disk_reason(error)} ({str(root)!r})"
    own_stat = os.fstat(fd)
    if (file_stat.st_dev, file_stat.st_ino) == (own_stat.st_dev, own_stat.st_ino):
        return ""
    if stat.S_ISREG(file_stat.st_mode) and file_stat.st_size == known_bytes:
        return ""
    return f"Another file lies where the log of this session was ({str(path)!r})"


def _missing_folder_clause(root: Path, folder: Path) -> str:
    if not os.path.lexists(root):
        return f"The folder {str(root)!r} was removed or renamed"
    if not root.is_dir():
        return f"{str(root)!r} is no folder any more"
    return f"The log of this session was removed ({str(folder)!r})"


def reopened_descriptor(path: Path, fd: int, known_bytes: int) -> int:
    """Return the descriptor to write to: the open one, or a new one of the file that was put back unchanged.

    The caller closes the old descriptor then. Raises OSError where the file was removed and is not back.
    """
    own_stat = os.fstat(fd)
    try:
        file_stat = path.stat(follow_symlinks=False)
    except OSError:
        if own_stat.st_nlink > 0:  # the folder was renamed: the open file is still the log
            return fd
        raise
    is_same = (file_stat.st_dev, file_stat.st_ino) == (own_stat.st_dev, own_stat.st_ino)
    if is_same or (file_stat.st_size != known_bytes and own_stat.st_nlink > 0):
        return fd
    new_fd = os.open(path, os.O_WRONLY | os.O_APPEND | NOFOLLOW)
    if os.fstat(new_fd).st_size == known_bytes:
        return new_fd
    os.close(new_fd)
    raise FileExistsError(str(path))
