"""The file store: sessions as logs of JSON lines below the project's directory.

One append-only log per session is the only source of truth: it survives kill -9, network home
directories and manual edits. Everything else in the folder is derived from it.
"""

import logging
import shutil
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from uuid import uuid4

from palimpsest.store.blobs.blob_storage import BlobFolder
from palimpsest.store.blobs.blob_sweep import note_unneeded
from palimpsest.store.disk import create_file, is_full, storage_errors
from palimpsest.store.interface import Owner, Problem, SessionSummary, TakenOver
from palimpsest.store.log.kept_index import fork_state_from_index, indexed_messages, keep_index
from palimpsest.store.log.late_records import late_records
from palimpsest.store.log.segment_start import POLL_SECONDS, begin_segment
from palimpsest.store.log.segment_writer import JsonlWriter, LayoutWatch
from palimpsest.store.log.segments import (
    SegmentRange,
    Segments,
    full_requests,
    header_line,
    lines_backward,
    lines_forward,
    locate_record,
    segment_epochs,
    segment_name,
    unfinished_line_offset,
)
from palimpsest.store.log.session_index import Index
from palimpsest.store.log.state_loader import live_state, whole_state, window_state
from palimpsest.store.log.takeover import (
    new_fork_info,
    renumber_records,
    takeover_message,
    with_fork_point,
)
from palimpsest.store.log_lines import (
    RecordNumbering,
    UnreadableLine,
    is_intact,
    readable_record,
    record_of,
    seq_of,
    type_of,
)
from palimpsest.store.project_folder.layout import REMADE_NOTICE, Layout, remake_folder
from palimpsest.store.project_folder.lease import (
    HEARTBEAT_SECONDS,
    RUNNING_HOLDER_FACTOR,
    WATCH_SECONDS,
    Heartbeat,
    Lease,
    LeaseFile,
    is_dead,
    is_running,
    process_start_time,
    this_owner,
)
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.state import State
from palimpsest.store.session_state.step_requests import FullRequests
from palimpsest.transcript.errors import NotFound, SessionHeld, StorageFailed
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    Record,
    SessionCreated,
    SessionDeleted,
)
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo
from palimpsest.transcript.strings.disk_words import disk_reason

LOG = logging.getLogger(__name__)

MAX_RESTORE_SECONDS = 1.0
"""How long a deletion may take to find a new fork of the session and to restore its folder."""


class JsonlStore(BlobFolder):
    """Stores sessions and blobs in one ``.palimpsest`` folder; implements ``Store``."""

    opens_from_checkpoint = True

    def __init__(
        self,
        layout: Layout,
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        watch_seconds: float = WATCH_SECONDS,
    ) -> None:
        super().__init__(layout.blobs)
        self.layout = layout
        self.project_id = layout.project_id
        self.segments = Segments(layout)
        self._layout_watch = LayoutWatch(layout)
        self._index = Index(layout, self.segments)
        self._heartbeat = Heartbeat(heartbeat_seconds)
        self._watch_seconds = watch_seconds
        self._lock = threading.RLock()
        self._leases: dict[JsonlWriter, tuple[LeaseFile, Lease]] = {}
        self._list_thread: threading.Thread | None = None
        self._was_folder_remade = False

    # Writing

    def acquire(
        self, session_id: str, owner: Owner, *, create: bool = False, steal: bool = False
    ) -> JsonlWriter:
        """Become the writer of a session; raises SessionHeld while another kernel writes it.

        May watch another kernel's lease for a few seconds before it takes the session over.
        """
        with storage_errors(self.layout.session(session_id)):
            directory = self.layout.session(session_id)
            if create:
                self._was_folder_remade = remake_folder(self.layout) or self._was_folder_remade
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                return self._begin_writer(session_id, directory, owner, steal=steal)
            except OSError:
                if create:
                    with suppress(OSError):  # A folder in which another kernel wrote stays.
                        directory.rmdir()
                raise

    def _begin_writer(
        self, session_id: str, directory: Path, owner: Owner, *, steal: bool
    ) -> JsonlWriter:
        epoch = max(segment_epochs(directory), default=0) + 1
        lease = Lease(owner.host, owner.pid, owner.kernel_id, epoch, process_start_time(owner.pid))
        lease_file = LeaseFile(directory)
        is_first = self._take_lease(lease_file, lease, steal=steal)
        if not lease_file.lock() and is_first:
            raise _held_error(session_id, lease_file.current_lease())
        path: Path | None = None
        try:
            # After the lease: a migrating kernel records the migration first, and then checks leases.
            self._layout_watch.check()
            path = begin_segment(self.segments, directory, epoch, owner)
        finally:
            if path is None:
                lease_file.remove(lease)
                lease_file.unlock()
        if path is None:
            raise _held_error(session_id, lease_file.current_lease())
        lost_event = self._heartbeat.add(lease_file, lease)
        writer = JsonlWriter(
            session_id,
            epoch,
            path,
            self.segments,
            save_to_fork=partial(self._save_to_fork, owner),
            on_close=self._release_lease,
            is_lease_lost=lost_event.is_set,
            check_layout=self._layout_watch.check,
        )
        with self._lock:
            self._leases[writer] = lease_file, lease
        return writer

    def take_notice(self) -> str:
        """Return, once, a notice that the project's folder was gone and was made again; else empty."""
        was_remade, self._was_folder_remade = self._was_folder_remade, False
        return REMADE_NOTICE.format(root=repr(str(self.layout.root))) if was_remade else ""

    def _take_lease(self, lease_file: LeaseFile, lease: Lease, *, steal: bool) -> bool:
        """Write our lease; True when there was no lease before."""
        other_lease = lease_file.current_lease()
        if other_lease is None and not lease_file.path.exists():
            if lease_file.create(lease):
                return True
            other_lease = lease_file.current_lease()
        if other_lease is not None and not steal and other_lease.kernel_id != lease.kernel_id:
            self._watch_lease(lease_file, other_lease)
        lease_file.write(lease)
        return False

    def _watch_lease(self, lease_file: LeaseFile, lease: Lease) -> None:
        """Raise SessionHeld unless the holder is gone, or its lease does not change while we watch."""
        seconds = self._watch_seconds * (RUNNING_HOLDER_FACTOR if is_running(lease) else 1)
        if not is_dead(lease) and lease_file.is_fresh(seconds):
            raise _held_error(lease_file.path.parent.name, lease)

    def _release_lease(self, writer: JsonlWriter) -> None:
        with self._lock:
            lease_file, lease = self._leases.pop(writer, (None, None))
        if lease_file is not None and lease is not None:
            self._heartbeat.remove(lease_file)
            lease_file.remove(lease)
            lease_file.unlock()

    def _save_to_fork(
        self, owner: Owner, writer: JsonlWriter, cut_offset: int, records: Sequence[Record]
    ) -> TakenOver:
        """Save to a fork the records that a writer wrote after the cut, and those it still holds."""
        fork_point, session, fork_records = late_records(self.segments, writer, cut_offset, records)
        if session is None:
            raise _held_error(writer.session_id, None)
        fork = new_fork_info(session)
        fork_writer: JsonlWriter | None = None
        try:
            fork = self._write_fork(fork, fork_point)
            fork_writer = self.acquire(fork.id, owner)
            fork_writer.append(renumber_records(fork_records, 1, fork), sync=True)
        except (OSError, StorageFailed) as refusal:
            # Half a fork would be read as a whole one: it is deleted, and everything is retried later.
            if fork_writer is not None:
                fork_writer.close()
            shutil.rmtree(self.layout.session(fork.id), ignore_errors=True)
            reason = disk_reason(refusal) if isinstance(refusal, OSError) else str(refusal)
            raise StorageFailed(reason) from refusal
        message = takeover_message(writer.session_id, fork)
        return TakenOver(message, fork=fork, writer=fork_writer, seq_shift=1)

    def fork(self, parent_id: str, session: SessionInfo, *, seq: int | None = None) -> SessionInfo:
        """Create a session with the parent's records up to ``seq``, by reference."""
        with storage_errors(self.layout.session(session.id)):
            self._layout_watch.check()
            return self._write_fork(session, self._new_fork_point(parent_id, seq))

    def _new_fork_point(self, parent_id: str, seq: int | None) -> ForkedFrom:
        ranges = self.segments.segment_ranges(parent_id)
        if not ranges:
            raise NotFound(f"There is no session {parent_id!r} in this project.")
        stop_place = None if seq is None else locate_record(ranges, seq + 1)
        last_range, end_offset = stop_place or (ranges[-1], ranges[-1].end_offset())
        shared_ranges = [*ranges[: ranges.index(last_range)], replace(last_range, end=end_offset)]
        for segment_range in reversed(shared_ranges):
            for offset, line in lines_backward(segment_range):
                number = seq_of(line)
                if number is not None:
                    return ForkedFrom(
                        session_id=parent_id,
                        seq=number,
                        segment=segment_range.name_in(parent_id),
                        offset=offset + len(line) + 1,
                    )
        raise NotFound(f"Session {parent_id!r} has no record to fork from.")

    def _write_fork(self, session: SessionInfo, fork_point: ForkedFrom) -> SessionInfo:
        fork = with_fork_point(
            session, fork_point.session_id, fork_point.seq, fork_point.segment, fork_point.offset
        )
        directory = self.layout.session(session.id)
        directory.mkdir(mode=0o700, parents=True)
        created_event = SessionCreated(session=fork)
        record = Record(seq=fork_point.seq + 1, ts=fork.time.created, event=created_event)
        owner = replace(this_owner("fork"), kernel_id="")
        header = header_line(session.id, 1, None, None, owner)
        try:
            create_file(directory / segment_name(1), header + record.encoded())
        except OSError:  # half a fork would be listed as a session
            shutil.rmtree(directory, ignore_errors=True)
            raise
        deadline = time.monotonic() + MAX_RESTORE_SECONDS
        while not self.layout.session(fork_point.session_id).exists():
            if time.monotonic() > deadline:
                shutil.rmtree(self.layout.session(session.id), ignore_errors=True)
                raise NotFound(f"Session {fork_point.session_id!r} was deleted a moment ago.")
            time.sleep(POLL_SECONDS)
        return fork

    def delete(self, session_id: str) -> None:
        """Delete a session and its children; a parent that a fork needs is hidden instead.

        On a full disk, which takes no record of it, a session that no fork needs is deleted all the same. Raises
        SessionHeld while another kernel writes it.
        """
        self.segments.own_ranges(session_id)
        for child in self._index.summaries().values():
            if child.parent_id == session_id and not child.deleted:
                self.delete(child.id)
        folder = self.layout.review(session_id)
        if not folder.parent.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
        with storage_errors(self.layout.session(session_id)):
            try:
                kernel_id = f"delete-{uuid4().hex[:8]}"
                with self._lock:
                    leases = list(self._leases.items())
                for writer, (_, lease) in leases:
                    if writer.session_id == session_id:
                        kernel_id = lease.kernel_id
                        writer.close()
                writer = self.acquire(session_id, this_owner(kernel_id))
                state = self.open_live(session_id)
                try:
                    if not state.is_deleted:
                        last_seq = self._last_seq(session_id)
                        deleted_event = SessionDeleted(session_id=session_id, session=state.session)
                        ts = writer.path.stat().st_mtime_ns // 1_000_000
                        writer.append(
                            [Record(seq=last_seq + 1, ts=ts, event=deleted_event)], sync=True
                        )
                finally:
                    writer.close()
            except StorageFailed as refusal:
                if not is_full(refusal) or self._is_needed_by_fork(session_id):
                    raise
                self._remove_without_lease(session_id, refusal)
                return
            if not self._is_needed_by_fork(session_id):
                self._remove_folder(session_id)

    def _remove_without_lease(self, session_id: str, refusal: StorageFailed) -> None:
        """Remove a session where no lease can be written; raises ``refusal`` while another kernel may write it."""
        lease_file = LeaseFile(self.layout.session(session_id))
        lease = lease_file.current_lease()
        if lease is not None and not is_dead(lease) and lease_file.is_fresh(self._watch_seconds):
            raise refusal
        if not lease_file.lock():
            raise refusal
        try:
            self._remove_folder(session_id)
        finally:
            lease_file.unlock()

    def _last_seq(self, session_id: str) -> int:
        ranges = reversed(self.segments.segment_ranges(session_id))
        lines = (line for segment_range in ranges for _, line in lines_backward(segment_range))
        return next((seq for seq in map(seq_of, lines) if seq is not None), 0)

    def _is_needed_by_fork(self, session_id: str) -> bool:
        fork_points = (summary.forked_from for summary in self._index.summaries().values())
        return any(
            session_id in {fork_point.session_id, fork_point.segment.rpartition("/")[0]}
            for fork_point in fork_points
            if fork_point is not None
        )

    def _remove_folder(self, session_id: str) -> None:
        directory = self.layout.session(session_id)
        fork_point = self.segments.forked_from(session_id, self.segments.own_ranges(session_id))
        note_unneeded(self.layout, directory, time.time())
        tombstone = directory.with_name(f".{session_id}.{uuid4().hex[:8]}")
        directory.rename(tombstone)
        if self._is_needed_by_fork(session_id):  # it was forked meanwhile
            tombstone.rename(directory)
            return
        shutil.rmtree(tombstone, ignore_errors=True)
        self.segments.forget_session(session_id)
        if fork_point is not None:
            parent_id = fork_point.session_id
            parent = self._index.summaries().get(parent_id)
            if parent is not None and parent.deleted and not self._is_needed_by_fork(parent_id):
                self._remove_folder(parent_id)

    # Reading

    def read(self, session_id: str, after: int = 0, only: Collection[str] = ()) -> Iterator[Record]:
        """Yield the records after a sequence number, with ``only`` those of these event types."""
        ranges = self.segments.segment_ranges(session_id)
        if after <= 0:
            return _records(ranges, None, after, only)
        place = locate_record(ranges, after + 1)
        if place is None:
            return iter(())
        return _records(ranges[ranges.index(place[0]) :], place[1], after, only)

    def stream(self, session_id: str) -> Iterator[Record]:
        """Yield the records newest first, reading the log lazily."""
        ranges = self.segments.segment_ranges(session_id)
        return chain.from_iterable(map(_records_backward, reversed(ranges)))

    def load(self, session_id: str) -> State:
        """Return the state after all records of the session."""
        return whole_state(self.segments.segment_ranges(session_id))

    def open_live(self, session_id: str) -> State:
        """Return the state built from the last checkpoint and the records after it."""
        return live_state(self.segments.segment_ranges(session_id), self._fork_from_index)

    def open_window(self, session_id: str) -> State:
        """Return the state of the live window, built from all records; older messages are dropped on the way."""
        return window_state(self.segments.segment_ranges(session_id))

    def open_messages(self, session_id: str, before_id: str = "", count: int = 0) -> State:
        """Return a state with all messages, or the requested ones; an index that is missing is stored."""
        ranges, folder = self.segments.segment_ranges(session_id), self.layout.session(session_id)
        with suppress(OSError):
            state = indexed_messages(folder, ranges, before_id, count)
            if state is not None:
                return state
        state = whole_state(ranges)
        with suppress(OSError):
            keep_index(folder, ranges)
        return state

    def keep_index(self, session_id: str, facts: MessageFacts) -> None:
        """Store an index of a long session's messages; ``facts`` are of the whole log."""
        with suppress(OSError):
            ranges = self.segments.segment_ranges(session_id)
            keep_index(self.layout.session(session_id), ranges, facts)

    def _fork_from_index(self, shared_ranges: Sequence[SegmentRange]) -> State | None:
        """Return the state of a fork at its fork point, by the parent's index; None without an index.

        ``shared_ranges`` are the ranges of the parent's log that the fork shares.
        """
        parent_id = shared_ranges[-1].session_id
        with suppress(NotFound, OSError):
            folder = self.layout.session(parent_id)
            parent_ranges = self.segments.segment_ranges(parent_id)
            return fork_state_from_index(folder, parent_ranges, shared_ranges)
        return None

    def may_contain(self, session_id: str, *byte_strings: bytes) -> bool:
        """Return whether any line of a session, its fork's parents included, contains any of these bytes."""
        return any(
            byte_string in line
            for segment_range in self.segments.segment_ranges(session_id)
            for _, line in lines_forward(segment_range)
            for byte_string in byte_strings
        )

    def list(self) -> Sequence[SessionSummary]:
        """List the sessions, newest first."""
        return _newest_first(self._index.summaries())

    def recent_sessions(self, count: int) -> tuple[Sequence[SessionSummary], int]:
        """Return at least the newest sessions and how many are missing; a thread reads the missing ones meanwhile."""
        summaries, missing_count = self._index.recent_summaries(count)
        with self._lock:
            if missing_count and (self._list_thread is None or not self._list_thread.is_alive()):
                self._list_thread = threading.Thread(
                    target=self._list_all, name="palimpsest-list", daemon=True
                )
                self._list_thread.start()
        return _newest_first(summaries), missing_count

    def _list_all(self) -> None:
        try:
            self._index.summaries()
        except Exception:
            LOG.exception("The list of sessions could not be made.")

    def problems(self, session_id: str) -> Sequence[Problem]:
        """Read every record of a session and return the problems of its log."""
        problems = []
        ranges = self.segments.segment_ranges(session_id)
        numbering = RecordNumbering()
        for segment_range in ranges:
            location = f"{segment_range.session_id}/{segment_range.segment}"
            header = self.segments.header(segment_range.path)
            if header is not None and header.is_damaged:
                problems.append(Problem(f"{location}, byte 0", "The first line is no header."))
            requests = full_requests(segment_range)
            for offset, line in lines_forward(segment_range):
                problem = _line_problem(line, requests, numbering)
                if problem is not None:
                    problems.append(Problem(f"{location}, byte {offset}", problem))
            unfinished_offset = unfinished_line_offset(segment_range)
            if unfinished_offset is not None and not self._has_writer(segment_range):
                place = f"{location}, byte {unfinished_offset}"
                problems.append(Problem(place, "The last line was never finished."))
        return problems

    def _has_writer(self, segment_range: SegmentRange) -> bool:
        lease_file = LeaseFile(segment_range.path.parent)
        return segment_range.end is None and lease_file.current_lease() is not None


def _newest_first(summaries: Mapping[str, SessionSummary]) -> Sequence[SessionSummary]:
    existing = [summary for summary in summaries.values() if not summary.deleted]
    return sorted(existing, key=lambda summary: summary.updated, reverse=True)


def _held_error(session_id: str, lease: Lease | None) -> SessionHeld:
    holder = "" if lease is None else f" (process {lease.pid} on {lease.host.partition(':')[0]})"
    return SessionHeld(
        f"Another kernel{holder} writes session {session_id!r}. Here it can be read, followed and forked;"
        " to go on with it, close that kernel; to begin another, use %agent --new."
    )


def _line_problem(line: bytes, requests: FullRequests, numbering: RecordNumbering) -> str | None:
    """Return one sentence about why a line is not read, or None."""
    try:
        record = record_of(line, requests.filled_record)
    except UnreadableLine as problem:
        return str(problem)
    if record is None:
        numbering.note_if_new(seq_of(line) or 0)
        return None
    if not numbering.note_if_new(record.seq):
        return f"Its number, {record.seq}, is a wrong one or was said before, so it is passed over."
    if isinstance(record.event, Checkpoint) and not is_intact(line):
        return "The checkpoint is not as it was written, so an older one or the whole log is read."
    return None


def _records_backward(segment_range: SegmentRange) -> Iterator[Record]:
    requests = full_requests(segment_range)
    for _, line in lines_backward(segment_range):
        record = readable_record(line, requests.filled_record)
        if record is not None:
            yield record


def _records(
    ranges: Sequence[SegmentRange], start: int | None, after: int, only: Collection[str]
) -> Iterator[Record]:
    numbering = RecordNumbering(after)
    types = frozenset(only)
    for segment_range in ranges:
        requests = full_requests(segment_range)
        for _, line in lines_forward(segment_range, start):
            if types and type_of(line) not in types:
                numbering.note_if_new(seq_of(line) or 0)
                continue
            record = readable_record(line, requests.filled_record)
            if record is not None and numbering.note_if_new(record.seq):
                yield record
        start = None
