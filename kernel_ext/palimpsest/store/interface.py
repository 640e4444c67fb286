"""What a store promises, whatever keeps the bytes.

One conformance suite (tests/store/conformance.py) runs over every implementation.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import SessionHeld, StorageFailed
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo
from palimpsest.transcript.values import BlobRef


@dataclass(frozen=True, slots=True)
class Owner:
    """Who wants to write: one kernel."""

    host: str
    pid: int
    kernel_id: str


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line of the session list."""

    id: str
    title: str
    notebook: str | None
    created: int
    updated: int
    parent_id: str | None = None
    forked_from: ForkedFrom | None = None
    messages: int = 0
    deleted: bool = False
    archived: int | None = None
    """When it was put away, in milliseconds since 1970."""
    shared: bool = False
    """There is a page of it that others were given."""
    about: str = ""
    """The beginning of what a model noted of it; empty where none did."""


ABOUT_CHARS = 200
"""Of what a model noted of a session, in its line of the list."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something unreadable that was skipped, for a person to see."""

    where: str
    """File and byte offset."""
    what: str


class WriteFailed(StorageFailed):
    """The disk refused; ``written`` records of the batch are kept, the others are not."""

    def __init__(self, message: str, *, written: int) -> None:
        super().__init__(message)
        self.written = written


class TakenOver(SessionHeld):
    """Another kernel writes this session now; what could not be kept there went to a fork.

    ``writer`` goes on in the fork, whose sequence numbers are ``shift`` higher than those that
    the refused records had; all of them are in the fork.
    """

    def __init__(self, message: str, *, fork: SessionInfo, writer: "Writer", shift: int) -> None:
        super().__init__(message)
        self.fork = fork
        self.writer = writer
        self.shift = shift


class Writer(Protocol):
    """The right to append to one session's log.

    Contract: exactly one live writer per session. ``append`` writes each record as one line in
    one write and returns when the bytes are with the operating system; with ``sync`` when they
    are on the disk. Raises TakenOver once another writer took over, and WriteFailed when
    the disk is full or gone; a record is then wholly written or wholly absent for readers.
    """

    session_id: str
    epoch: int

    def append(self, records: Sequence[Record], *, sync: bool = False) -> None:
        """Append records in order."""
        ...

    def position(self) -> tuple[str, int]:
        """Return the current segment's name and its length in bytes."""
        ...

    def locate(self, seq: int) -> tuple[str, int]:
        """Return the segment and byte offset at or before the record with this number."""
        ...

    def close(self) -> None:
        """Give the session back."""
        ...


class Store(Protocol):
    """Sessions by id, blobs by hash.

    Contract: ``read`` yields records with ``seq > after`` in rising order, following forks to
    their parents; ``stream`` yields newest first, lazily. Unreadable lines are skipped and
    reported by ``problems``. Nothing is ever truncated.
    """

    project_id: str

    def acquire(
        self, session_id: str, owner: Owner, *, create: bool = False, steal: bool = False
    ) -> Writer:
        """Become the writer; raises SessionHeld while another kernel's lease is fresh, unless ``steal``."""
        ...

    def read(self, session_id: str, after: int = 0, only: Collection[str] = ()) -> Iterator[Record]:
        """Yield the records after a sequence number; raises NotFound.

        ``only`` names types of records; the others are passed over, which is faster.
        """
        ...

    def stream(self, session_id: str) -> Iterator[Record]:
        """Yield the records newest first."""
        ...

    def load(self, session_id: str) -> State:
        """Fold the whole session; raises NotFound."""
        ...

    def open_live(self, session_id: str) -> State:
        """Fold the live window: the last checkpoint and what follows; raises NotFound."""
        ...

    def list(self) -> Sequence[SessionSummary]:
        """List the sessions, newest first, without those that were deleted."""
        ...

    def recent(self, count: int) -> tuple[Sequence[SessionSummary], int]:
        """List at least the newest sessions, and say how many were not looked at yet; quick at any size."""
        ...

    def fork(self, parent_id: str, session: SessionInfo, *, seq: int | None = None) -> SessionInfo:
        """Begin ``session`` with everything of the parent up to ``seq`` (all when None), by reference."""
        ...

    def delete(self, session_id: str) -> None:
        """Delete a session and its children; a parent that a fork needs is hidden instead."""
        ...

    def problems(self, session_id: str) -> Sequence[Problem]:
        """Read every record of a session and return what is unreadable."""
        ...

    def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:
        """Keep content under its hash; a repeat is free."""
        ...

    def get_blob(self, sha256: str) -> bytes:
        """Return the content of a blob; raises NotFound."""
        ...
