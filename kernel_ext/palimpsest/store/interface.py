"""The interfaces of a session store: ``Store``, and ``Writer`` for appending to one session's log.

One conformance suite (tests/store/conformance.py) runs over every implementation.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import SessionHeld, StorageFailed
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo
from palimpsest.transcript.values import MAX_TIME_MS, BlobRef


@dataclass(frozen=True, slots=True)
class Owner:
    """The kernel that opens a session for writing."""

    host: str
    pid: int
    kernel_id: str


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One entry of the session list."""

    id: str
    title: str
    notebook: str | None
    created: int
    """In milliseconds since 1970, as are ``updated`` and ``archived``."""
    updated: int
    parent_id: str | None = None
    forked_from: ForkedFrom | None = None
    messages: int = 0
    """Number of its messages."""
    deleted: bool = False
    archived: int | None = None
    """When it was archived; None if it is not archived."""
    shared: bool = False
    """Whether the session has a share page."""
    imported_from: str = ""
    """The agent whose recording it is, such as ``pi``; empty for a session of ours."""
    about: str = ""
    """The beginning of the model-written summary of the session; empty if it has none."""

    @classmethod
    def of(
        cls, session_id: str, session: SessionInfo, *, messages: int, deleted: bool
    ) -> "SessionSummary":
        """Return the entry of a session; times in its log that no date can hold are limited."""
        archived = session.time.archived
        return cls(
            id=session_id,
            title=session.title,
            notebook=session.notebook,
            created=possible_time(session.time.created),
            updated=possible_time(session.time.updated),
            parent_id=session.parent_id,
            forked_from=session.forked_from,
            messages=messages,
            deleted=deleted,
            archived=None if archived is None else possible_time(archived),
            shared=session.shared,
            imported_from=session.imported_from[:MAX_IMPORTED_FROM_CHARS],
            about=session.about[:MAX_ABOUT_CHARS],
        )


def possible_time(milliseconds: int) -> int:
    """Return a time limited to what can be formatted."""
    return min(max(milliseconds, 0), MAX_TIME_MS)


MAX_IMPORTED_FROM_CHARS = 40
"""Maximum characters of ``SessionSummary.imported_from``."""
MAX_ABOUT_CHARS = 200
"""Maximum characters of ``SessionSummary.about``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An unreadable place of a log that was skipped, to be shown to the user."""

    where: str
    """File and byte offset."""
    what: str

    @property
    def sentence(self) -> str:
        """The place and the problem in one line, as every front end shows it."""
        return f"{self.where}: {self.what}" if self.where else self.what


class WriteFailed(StorageFailed):
    """The disk refused a write; the first ``written_count`` records of the batch are stored, the others are not."""

    def __init__(self, message: str, *, written_count: int) -> None:
        super().__init__(message)
        self.written_count = written_count


class TakenOver(SessionHeld):
    """Another kernel has taken over this session; records that its log does not include were saved to a fork.

    ``writer`` appends to the fork, where all refused records have sequence numbers that are ``seq_shift``
    higher than before.
    """

    def __init__(
        self, message: str, *, fork: SessionInfo, writer: "Writer", seq_shift: int
    ) -> None:
        super().__init__(message)
        self.fork = fork
        self.writer = writer
        self.seq_shift = seq_shift


class Writer(Protocol):
    """The right to append to one session's log.

    Contract: exactly one live writer per session. ``append`` writes each record as one line in
    one write and returns when the operating system has the bytes; with ``sync`` when they
    are on the disk. Raises TakenOver once another writer has taken over, and WriteFailed when
    the disk is full or gone; readers then see a record either whole or not at all.
    """

    session_id: str
    epoch: int
    """Number of the writer among those that the session has had; its segment is named by it."""

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:
        """Append records in order."""

    def missing_reason(self) -> str:
        """Return why the log is no longer found where it was opened, as a clause; empty where it is."""

    def position(self) -> tuple[str, int]:
        """Return the current segment's name and its length in bytes."""

    def place_of_record(self, seq: int) -> tuple[str, int]:
        """Return the segment and byte offset of the first record numbered ``seq`` or more."""

    def written_lines(self, segment: str, offset: int) -> Iterator[bytes]:
        """Yield the lines of one of the session's own segments from an offset on; none for any other segment."""

    def close(self) -> None:
        """Release the session, so that another writer can acquire it."""


class Store(Protocol):
    """Stores sessions by id and blobs by hash.

    Contract: ``read`` yields records with ``seq > after`` in rising order, following forks to their parents; ``stream``
    yields newest first, lazily. Unreadable lines are skipped and reported by ``problems``. Nothing is ever truncated.
    """

    project_id: str
    opens_from_checkpoint: bool
    """Whether a checkpoint at the end of a long session lets it be opened faster."""

    def acquire(
        self, session_id: str, owner: Owner, *, create: bool = False, steal: bool = False
    ) -> Writer:
        """Become the writer; raises SessionHeld while another kernel's lease is fresh, unless ``steal``."""

    def read(self, session_id: str, after: int = 0, only: Collection[str] = ()) -> Iterator[Record]:
        """Yield the records after a sequence number; raises NotFound.

        ``only`` names event types; records of other types are skipped, which is faster.
        """

    def stream(self, session_id: str) -> Iterator[Record]:
        """Yield the records newest first."""

    def load(self, session_id: str) -> State:
        """Return the state after all records of the session; raises NotFound."""

    def open_live(self, session_id: str) -> State:
        """Return the state built from the last checkpoint and the records after it; raises NotFound."""

    def open_messages(self, session_id: str, before_id: str = "", count: int = 0) -> State:
        """Return a state with all messages, not parsed yet where an index holds their places; raises NotFound.

        Its other fields are incomplete. With ``before_id`` it may have only that message and ``count`` before it.
        """

    def open_window(self, session_id: str) -> State:
        """Return the state of the live window, built from all records; older messages are dropped on the way."""

    def keep_index(self, session_id: str, facts: MessageFacts) -> None:
        """Store an index of a long session's messages, for ``open_messages`` and forks; ``facts`` are of the whole log."""

    def list(self) -> Sequence[SessionSummary]:
        """List the sessions that are not deleted, newest first."""

    def recent_sessions(self, count: int) -> tuple[Sequence[SessionSummary], int]:
        """Return at least the ``count`` newest sessions, and how many were not read yet; fast at any size."""

    def fork(self, parent_id: str, session: SessionInfo, *, seq: int | None = None) -> SessionInfo:
        """Create ``session`` with the parent's records up to ``seq`` (all when None), by reference."""

    def delete(self, session_id: str) -> None:
        """Delete a session and its children; a parent that a fork needs is hidden instead."""

    def problems(self, session_id: str) -> Sequence[Problem]:
        """Read every record of a session and return what is unreadable."""

    def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:
        """Store content under its SHA-256; storing the same again does nothing."""

    def get_blob(self, sha256: str) -> bytes:
        """Return the content of a blob; raises NotFound."""
