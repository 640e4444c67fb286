"""The in-memory store, for tests and for a kernel that finds no writable directory.

It keeps the contract of ``Store``; everything is lost when the process ends.
"""

import hashlib
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from palimpsest.store.interface import Owner, Problem, SessionSummary, TakenOver
from palimpsest.store.log.takeover import (
    new_fork_info,
    renumber_records,
    takeover_message,
    with_fork_point,
)
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.errors import NotFound, SessionHeld
from palimpsest.transcript.session_record.events import Record, SessionCreated, SessionDeleted
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo
from palimpsest.transcript.values import BlobRef

SEGMENT = "memory"


@dataclass(slots=True)
class MemoryLog:
    """One session's records and its writer."""

    fork_point: ForkedFrom | None = None
    records: list[Record] = field(default_factory=list)
    epoch: int = 0
    owner: Owner | None = None
    hidden: bool = False
    """Whether it was deleted, and is kept only because a fork needs its records."""


class MemoryWriter:
    """The right to append to one session in memory."""

    def __init__(self, store: "MemoryStore", session_id: str, log: MemoryLog) -> None:
        self.session_id = session_id
        self.epoch = log.epoch
        self._store = store
        self._log = log

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:  # noqa: ARG002
        """Append records in order; ``sync`` changes nothing in memory."""
        with self._store.lock:
            if self._log.epoch == self.epoch:
                self._log.records.extend(records)
                return
            raise self._store.save_to_fork(self.session_id, self._log, records)

    def missing_reason(self) -> str:
        """Return an empty text: a log in memory is never missing."""
        return ""

    def position(self) -> tuple[str, int]:
        """Return the name of the only segment and the number of records in it."""
        return SEGMENT, len(self._log.records)

    def place_of_record(self, seq: int) -> tuple[str, int]:
        """Return the segment's name, and the index in it of the first record numbered ``seq`` or more."""
        return SEGMENT, sum(record.seq < seq for record in self._log.records)

    def written_lines(self, segment: str, offset: int) -> Iterator[bytes]:  # noqa: ARG002
        """Return no lines: records in memory are not encoded."""
        return iter(())

    def close(self) -> None:
        """Release the session, so that another writer can acquire it."""
        if self._log.epoch == self.epoch:
            self._log.owner = None


class MemoryStore:
    """Stores sessions and blobs in dictionaries; implements ``Store``."""

    opens_from_checkpoint = False

    def __init__(self, project_id: str | None = None) -> None:
        self.project_id = project_id or uuid4().hex
        self.lock = threading.RLock()
        self._logs_by_session: dict[str, MemoryLog] = {}
        self._blobs: dict[str, bytes] = {}
        self._summaries: dict[str, tuple[int, SessionSummary | None]] = {}
        """The entry of each session in the list, with the number of records from which it was made."""

    def acquire(
        self, session_id: str, owner: Owner, *, create: bool = False, steal: bool = False
    ) -> MemoryWriter:
        """Return a new writer of a session; raises SessionHeld if another kernel writes it, unless ``steal``."""
        with self.lock:
            if create and session_id not in self._logs_by_session:
                self._logs_by_session[session_id] = MemoryLog()
            log = self._log(session_id)
            is_held = log.owner is not None and log.owner.kernel_id != owner.kernel_id
            if is_held and not steal:
                problem = f"Another kernel writes session {session_id!r}."
                raise SessionHeld(f"{problem} It can be read and forked.")
            log.owner, log.epoch = owner, log.epoch + 1
            return MemoryWriter(self, session_id, log)

    def read(self, session_id: str, after: int = 0, only: Collection[str] = ()) -> Iterator[Record]:
        """Yield the records after a sequence number, those of the fork's parent first."""
        with self.lock:
            records = self._records(session_id)
        if after:
            records = tuple(record for record in records if record.seq > after)
        if only:
            records = tuple(record for record in records if record.event.type in only)
        return iter(records)

    def stream(self, session_id: str) -> Iterator[Record]:
        """Yield the records newest first."""
        with self.lock:
            return reversed(self._records(session_id))

    def load(self, session_id: str) -> State:
        """Return the state after all records of the session."""
        return apply_records(self.read(session_id))

    def open_live(self, session_id: str) -> State:
        """Return the same state as ``load``: in memory a checkpoint saves no time."""
        return self.load(session_id)

    def open_messages(self, session_id: str, before_id: str = "", count: int = 0) -> State:  # noqa: ARG002
        """Return the state after all records: in memory reading fewer messages saves no time."""
        return self.load(session_id)

    def open_window(self, session_id: str) -> State:
        """Return the same state as ``load``: in memory nothing is gained by dropping messages."""
        return self.load(session_id)

    def keep_index(self, session_id: str, facts: MessageFacts) -> None:
        """Do nothing: messages in memory need no index."""

    def list(self) -> Sequence[SessionSummary]:
        """List the sessions, newest first."""
        with self.lock:
            summaries = [
                self._summary(session_id, log)
                for session_id, log in self._logs_by_session.items()
                if not log.hidden
            ]
        existing = [summary for summary in summaries if summary is not None and not summary.deleted]
        return sorted(existing, key=lambda summary: summary.updated, reverse=True)

    def _summary(self, session_id: str, log: MemoryLog) -> SessionSummary | None:
        """Return the session's entry in the session list, or None when it has no session record."""
        record_count, summary = self._summaries.get(session_id, (-1, None))
        if record_count != len(log.records):
            state = self.load(session_id)
            message_count = state.older_count + len(state.message_slots())
            if state.session is None:
                summary = None
            else:
                summary = SessionSummary.of(
                    session_id, state.session, messages=message_count, deleted=state.is_deleted
                )
            self._summaries[session_id] = len(log.records), summary
        return summary

    def recent_sessions(self, count: int) -> tuple[Sequence[SessionSummary], int]:  # noqa: ARG002
        """List all sessions: in memory listing fewer saves no time."""
        return self.list(), 0

    def fork(self, parent_id: str, session: SessionInfo, *, seq: int | None = None) -> SessionInfo:
        """Create a session with the parent's records up to ``seq``."""
        with self.lock:
            records = self._records(parent_id)
            if seq is not None:
                records = tuple(record for record in records if record.seq <= seq)
            last_seq = records[-1].seq if records else 0
            fork_info = with_fork_point(session, parent_id, last_seq, SEGMENT, len(records))
            log = MemoryLog(fork_point=fork_info.forked_from)
            created_event = SessionCreated(session=fork_info)
            log.records.append(
                Record(seq=last_seq + 1, ts=fork_info.time.created, event=created_event)
            )
            self._logs_by_session[session.id] = log
            return fork_info

    def save_to_fork(self, session_id: str, log: MemoryLog, records: Sequence[Record]) -> TakenOver:
        """Save records that came after a takeover to a fork; returns the error that reports it."""
        first_seq = records[0].seq if records else 0
        records_before = self._records(session_id)
        state = apply_records(record for record in records_before if record.seq < first_seq)
        if state.session is None:
            raise SessionHeld(f"Another kernel writes session {session_id!r} now.")
        fork_info = self.fork(session_id, new_fork_info(state.session), seq=state.seq)
        owner = log.owner or Owner(host="", pid=0, kernel_id=fork_info.id)
        writer = self.acquire(fork_info.id, owner)
        shift = state.seq + 2 - first_seq
        writer.append(renumber_records(records, shift, fork_info))
        message = takeover_message(session_id, fork_info)
        return TakenOver(message, fork=fork_info, writer=writer, seq_shift=shift)

    def delete(self, session_id: str) -> None:
        """Delete a session and its children; a parent that a fork needs is hidden."""
        with self.lock:
            log = self._log(session_id)
            children = [child.id for child in self.list() if child.parent_id == session_id]
            for child_id in children:
                self.delete(child_id)
            if self._is_needed_by_fork(session_id):
                last_record = log.records[-1] if log.records else None
                seq, ts = (1, 0) if last_record is None else (last_record.seq + 1, last_record.ts)
                if last_record is None or not isinstance(last_record.event, SessionDeleted):
                    session = self.load(session_id).session
                    deleted_event = SessionDeleted(session_id=session_id, session=session)
                    log.records.append(Record(seq=seq, ts=ts, event=deleted_event))
                log.hidden = True
            else:
                self._remove(session_id, log)

    def _remove(self, session_id: str, log: MemoryLog) -> None:
        del self._logs_by_session[session_id]
        self._summaries.pop(session_id, None)
        if log.fork_point is not None:
            parent_id = log.fork_point.session_id
            parent_log = self._logs_by_session.get(parent_id)
            if (
                parent_log is not None
                and parent_log.hidden
                and not self._is_needed_by_fork(parent_id)
            ):
                self._remove(parent_id, parent_log)

    def problems(self, session_id: str) -> Sequence[Problem]:
        """Return an empty tuple: records in memory are always readable."""
        self._log(session_id)
        return ()

    def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:
        """Store content under its SHA-256."""
        sha256 = hashlib.sha256(content).hexdigest()
        self._blobs.setdefault(sha256, content)
        return BlobRef(sha256=sha256, bytes=len(content), mime=mime)

    def get_blob(self, sha256: str) -> bytes:
        """Return the content of a blob."""
        try:
            return self._blobs[sha256]
        except KeyError:
            raise NotFound(f"There is no blob {sha256!r} in this store.") from None

    def clear(self) -> None:
        """Forget all sessions and blobs."""
        with self.lock:
            self._logs_by_session.clear()
            self._blobs.clear()
            self._summaries.clear()

    def _log(self, session_id: str) -> MemoryLog:
        try:
            return self._logs_by_session[session_id]
        except KeyError:
            raise NotFound(f"There is no session {session_id!r} in this store.") from None

    def _is_needed_by_fork(self, session_id: str) -> bool:
        fork_points = (log.fork_point for log in self._logs_by_session.values())
        return any(place is not None and place.session_id == session_id for place in fork_points)

    def _records(self, session_id: str) -> tuple[Record, ...]:
        log = self._log(session_id)
        place = log.fork_point
        if place is None:
            return tuple(log.records)
        parent_records = self._records(place.session_id)
        return (
            *(record for record in parent_records if record.seq <= place.seq),
            *log.records,
        )
