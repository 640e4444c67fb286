"""The operations on a project's sessions that front ends use."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from palimpsest.session.interfaces.kernel_session import KernelSession
from palimpsest.session.interfaces.recorded_answers import ReplayOperations
from palimpsest.session.interfaces.sharing_operations import SharingOperations
from palimpsest.session.records.retention import PrunePlan, RetentionLimits, SessionTree
from palimpsest.session.records.session_search import Page, Query
from palimpsest.store.blobs.blob_sweep import Sweep, UnneededBlob
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import Event, Record


class ProjectSessions(Protocol):
    """The sessions of one project, as one kernel sees them; implemented by ``Workspace``."""

    project: Path
    warning: str | None
    """One sentence when storage fell back to memory; else None."""
    notice: str
    """One sentence when the sessions were migrated to a newer layout; else empty."""

    @property
    def sharing(self) -> SharingOperations:
        """Shares, exports and imports sessions."""
        ...

    @property
    def replay(self) -> ReplayOperations:
        """Finds the recorded answers of cells."""
        ...

    async def current(self, notebook: str | None) -> KernelSession:
        """Return the notebook's session: the one used here last, its newest one, or a new one."""
        ...

    async def recognise(self, notebook: str | None) -> None:
        """Compare a notebook's file with what sessions recorded, once in a kernel; a moved one keeps its sessions."""
        ...

    async def known(self, notebook: str | None) -> KernelSession | None:
        """Return the notebook's session if it has one; none is created."""
        ...

    async def new(
        self,
        notebook: str | None,
        *,
        title: str | None = None,
        parent: str | None = None,
        permission: Mapping[str, Any] | str | None = None,
    ) -> KernelSession:
        """Create a session for the notebook and make it current, unless it has a parent; raises UserError."""
        ...

    async def open(self, session_id: str, notebook: str | None = None) -> KernelSession:
        """Open a session by its id, or a piece that names only it, and make it current; raises NotFound."""
        ...

    async def rename(self, before: str, after: str) -> None:
        """Move the sessions of a renamed notebook to its new name."""
        ...

    async def fork(
        self,
        session_id: str,
        message_id: str | None = None,
        *,
        request: int | str | None = None,
        model: str | None = None,
        notebook: str | None = None,
    ) -> KernelSession:
        """Create a fork: a new session with what came before a message or a request, or with all of it.

        It belongs to the notebook that is named, else to the parent's, and becomes its current one. ``model`` is to
        answer its newest prompt, and those that follow. Raises NotFound, and ConfigError for an unknown model.
        """
        ...

    async def records(self, session_id: str) -> Sequence[Record]:
        """Return all records of a session, also of one that is not open; raises NotFound."""
        ...

    def sessions(self) -> Sequence[SessionSummary]:
        """List the sessions of the project, newest first; while the list is built, only the newest ones."""
        ...

    def current_id(self, notebook: str | None) -> str:
        """Return the id of the notebook's session without opening it; empty when it has none yet."""
        ...

    async def page(self, query: Query) -> Page:
        """Return a page of the sessions that a query finds, newest first."""
        ...

    async def problems(self, session_id: str) -> Sequence[Problem]:
        """Read all of a session's log, and return its unreadable records; raises NotFound."""
        ...

    async def family(self, session_id: str) -> tuple[SessionSummary, ...]:
        """Return a session and its descendants, which are deleted together, the session's own row last."""
        ...

    async def storage(self) -> tuple[DiskUsage, Sequence[SessionSummary]]:
        """Measure the project's folder; raises UserError where sessions are in memory only."""
        ...

    async def plan(self, limits: RetentionLimits) -> PrunePlan:
        """Return which sessions would be deleted under limits of age and size, and which never are."""
        ...

    async def prune(self, limits: RetentionLimits) -> tuple[PrunePlan, tuple[SessionTree, ...]]:
        """Delete what the limits allow; returns the plan, and the sessions that were deleted."""
        ...

    async def children(self, session_id: str) -> Sequence[SessionSummary]:
        """List the child sessions that ``task`` calls of a session created, oldest first."""
        ...

    async def retitle(self, session_id: str, title: str) -> str:
        """Rename a session; returns the title as it is stored."""
        ...

    async def archive(self, session_id: str, *, archived: bool = True) -> str:
        """Archive a session, or unarchive it; returns its id."""
        ...

    async def record(self, session_id: str, change: Callable[[State], Sequence[Event]]) -> None:
        """Append the events that ``change`` makes of a session's whole state to its log.

        Raises SessionBusy while its agent works, and SessionHeld where another kernel writes it.
        """
        ...

    async def delete(self, session_id: str) -> tuple[str, ...]:
        """Delete a session and its child sessions permanently; returns their ids, the session's own last.

        Raises SessionHeld when another kernel writes one of them; nothing is deleted then.
        """
        ...

    async def sweep(
        self, days: float, *, delete: bool = False
    ) -> tuple[Sweep, tuple[UnneededBlob, ...]]:
        """Find long stored texts that no session has needed for so many days.

        With ``delete`` they are deleted; returns what was found, and what was deleted. Raises UserError
        where sessions are in memory only.
        """
        ...

    async def close(self) -> None:
        """Close every open session."""
        ...
