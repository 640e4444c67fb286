"""Protocols of what a front end needs from the application and from pages, and a cell's identity."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from palimpsest.session.engine import EngineThread
from palimpsest.session.open_sessions.followed_session import KernelSession

if TYPE_CHECKING:
    from palimpsest.review.timeline_view.view_queries import ViewAnswer, ViewQuery
    from palimpsest.session.open_sessions.workspace import Workspace


class FrontendServices(Protocol):
    """What the front end needs from the application; ``app`` implements it."""

    @property
    def engine(self) -> EngineThread:
        """The engine's thread."""
        ...

    @property
    def workspace(self) -> "Workspace":
        """The project's sessions."""
        ...

    @property
    def inspections(self) -> "InspectorAnswers":
        """Answers inspectors' questions; made when it is first asked."""
        ...


class InspectorAnswers(Protocol):
    """What answers inspectors' questions; ``frontends/inspector/inspections.py`` implements it.

    Contract: called on the engine's loop; never raises for what a person can mend.
    """

    async def answer_session(
        self, session: str, query: "ViewQuery", asker: str = ""
    ) -> "ViewAnswer":
        """Answer a question about a session of the project."""
        ...

    async def answer_recording(
        self, path: str, session: str, query: "ViewQuery", asker: str = ""
    ) -> "ViewAnswer":
        """Answer a question about a session of a recording, its first one where ``session`` is empty."""
        ...


class Pages(Protocol):
    """The browser pages connected to this kernel; ``frontends/page_channel/channel.py`` implements it."""

    def fresh(self, session_id: str) -> bool:
        """Tell whether a page watches the session now."""
        ...

    def present(self, session_id: str) -> bool:
        """Tell whether a page can answer a question now; pings it where that is not known."""
        ...

    def expected(self) -> bool:
        """Tell whether a page may be about to watch."""
        ...

    def adopt(self, session: KernelSession) -> None:
        """Make a session the one that the notebook continues."""
        ...

    def insert_cells(self, sources: Sequence[str], below: str | None) -> bool:
        """Have a page insert new cells below a cell; false where no page can."""
        ...

    def forget(self, session_id: str) -> None:
        """Drop a session that was deleted."""
        ...


@dataclass(frozen=True, slots=True)
class CellPlace:
    """Which cell sent the prompt."""

    cell_id: str | None = None
    execution_count: int | None = None
    notebook: str | None = None
