"""What a front end may ask of the sessions of a project, as one kernel sees them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from palimpsest.session.interfaces.kernel_session import KernelSession
from palimpsest.session.interfaces.sharing_operations import SharingOperations
from palimpsest.session.records.retention import PrunePlan, RetentionLimits, SessionTree
from palimpsest.session.records.session_search import Page, Query
from palimpsest.store.blobs.blob_sweep import Sweep, UnneededBlob
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import Event


class ProjectSessions(Protocol):
    """The sessions of one project, as one kernel sees them."""

    project: Path
    warning: str | None
    """One sentence when storage fell back to memory."""
    notice: str
    """One sentence when the sessions were brought to a newer layout; else empty."""

    @property
    def sharing(self) -> SharingOperations:
        """Shares, exports and imports sessions."""
        ...

    async def current(self, notebook: str | None) -> KernelSession:
        """Return the notebook's session: the one used here last, its newest one, or a new one."""
        ...

    async def known(self, notebook: str | None) -> KernelSession | None:
        """Return the notebook's session if it has one; none is begun."""
        ...

    async def new(
        self,
        notebook: str | None,
        *,
        title: str | None = None,
        parent: str | None = None,
        permission: Mapping[str, Any] | str | None = None,
    ) -> KernelSession:
        """Begin a new session for the notebook and make it current; one with a parent does not become that."""
        ...

    async def open(self, session_id: str, notebook: str | None = None) -> KernelSession:
        """Open a session by id or unambiguous beginning of one and make it current; raises NotFound."""
        ...

    async def rename(self, before: str, after: str) -> None:
        """Let the sessions of a notebook go with it to its new name."""
        ...

    async def fork(
        self, session_id: str, message_id: str | None = None, *, notebook: str | None = None
    ) -> KernelSession:
        """Begin a new session with everything of another one before a message (or all).

        It belongs to the notebook that is named, else to the parent's, and is its current one.
        """
        ...

    def sessions(self) -> Sequence[SessionSummary]:
        """List all sessions of the project, newest first."""
        ...

    def current_id(self, notebook: str | None) -> str:
        """Return the id of the notebook's session without opening it; empty when it has none yet."""
        ...

    async def page(self, query: Query) -> Page:
        """Return a page of the sessions that a query finds, newest first."""
        ...

    async def problems(self, session_id: str) -> Sequence[Problem]:
        """Read all of a session's log, and say what of it cannot be read; raises NotFound."""
        ...

    async def family(self, session_id: str) -> tuple[SessionSummary, ...]:
        """Return a session with those that it began: all that goes with it, its own line last."""
        ...

    async def storage(self) -> tuple[DiskUsage, Sequence[SessionSummary]]:
        """Weigh the project's folder; raises UserError where nothing is kept on a disk."""
        ...

    async def plan(self, limits: RetentionLimits) -> PrunePlan:
        """Say which sessions would go under limits of age and size, and which are never taken."""
        ...

    async def prune(self, limits: RetentionLimits) -> tuple[PrunePlan, tuple[SessionTree, ...]]:
        """Delete what may go under limits; returns the plan, and what went of it."""
        ...

    async def children(self, session_id: str) -> Sequence[SessionSummary]:
        """List the sessions that ``task`` calls of a session began, oldest first."""
        ...

    async def retitle(self, session_id: str, title: str) -> str:
        """Call a session otherwise; returns the title as it is kept."""
        ...

    async def archive(self, session_id: str, *, archived: bool = True) -> str:
        """Put a session away, or fetch it back; returns its id."""
        ...

    async def record(self, session_id: str, change: Callable[[State], Sequence[Event]]) -> None:
        """Append what ``change`` makes of a session's whole state to its log.

        Raises SessionBusy while its agent works, and SessionHeld where another kernel writes it.
        """
        ...

    async def delete(self, session_id: str) -> tuple[str, ...]:
        """Delete a session and its children for good; returns their ids, the session's own last.

        Raises SessionHeld when another kernel writes one of them; nothing is deleted then.
        """
        ...

    async def sweep(
        self, days: float, *, delete: bool = False
    ) -> tuple[Sweep, tuple[UnneededBlob, ...]]:
        """Look for long texts that no session has needed for so many days.

        With ``delete`` they are deleted; returns what was found, and what went. Raises UserError
        where nothing is kept on a disk.
        """
        ...

    async def close(self) -> None:
        """Close every open session."""
        ...
