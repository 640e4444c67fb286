"""What a front end needs of the application and of pages, and which cell asks."""

from dataclasses import dataclass
from typing import Protocol

from palimpsest.session.engine.thread import EngineThread
from palimpsest.session.interfaces.kernel_session import KernelSession
from palimpsest.session.interfaces.project_sessions import ProjectSessions


class FrontendServices(Protocol):
    """What the front end needs of the application; ``app`` implements it."""

    @property
    def engine(self) -> EngineThread:
        """The engine's thread."""
        ...

    @property
    def workspace(self) -> ProjectSessions:
        """The project's sessions."""
        ...


class Pages(Protocol):
    """The pages that look at this kernel; ``channel`` implements it."""

    def fresh(self, session_id: str) -> bool:
        """Tell whether a page watches the session now."""
        ...

    def present(self, session_id: str) -> bool:
        """Tell whether a page is there that can answer a question; pings it where that is not known."""
        ...

    def expected(self) -> bool:
        """Tell whether a page may be about to watch."""
        ...

    def adopt(self, session: KernelSession) -> None:
        """Note the session that the notebook goes on with."""
        ...

    def forget(self, session_id: str) -> None:
        """Go on without a session that is gone."""
        ...


@dataclass(frozen=True, slots=True)
class CellPlace:
    """Which cell asks."""

    cell_id: str | None = None
    execution_count: int | None = None
    notebook: str | None = None
