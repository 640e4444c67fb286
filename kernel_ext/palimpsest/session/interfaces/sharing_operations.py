"""The operations that share, export and import sessions; ``Workspace.sharing`` has them.

Border: the interface alone, so that front ends do not depend on the implementation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from palimpsest.store.exchange.importer import ImportControl, ImportReport, never, untold
from palimpsest.store.interface import Store

if TYPE_CHECKING:
    from palimpsest.render.formats.notebook import Prompts

Progress = Callable[[int, int], None]
Form = Literal["md", "ipynb", "json", "html", "opencode", "atif"]
"""Markdown, a notebook, Palimpsest's JSON, an HTML page, OpenCode's storage folder, an ATIF trajectory."""
FORMS: tuple[str, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Exported:
    """The file that an export wrote."""

    path: Path
    form: Form
    bytes: int


class SessionImporter(Protocol):
    """Imports the sessions at a path.

    Contract: blocks; writes logs and nothing else. Raises UserError where there is nothing to import.
    """

    def __call__(
        self,
        store: Store,
        path: Path,
        clock: Callable[[], int],
        control: ImportControl | None = None,
    ) -> ImportReport:
        """Import them."""
        ...


class SharingOperations(Protocol):
    """Shares, exports and imports sessions.

    Contract: every operation may be slow and runs off the engine's loop.
    """

    async def share(self, session_id: str) -> Path:
        """Write the page of a session, or write it again; returns its path.

        Raises UserError where sharing is disabled, or sessions are in memory only.
        """
        ...

    async def unshare(self, session_id: str) -> bool:
        """Delete a session's page; returns False when there was none."""
        ...

    async def shared(self, session_id: str) -> Path | None:
        """Return the path of a session's page; None when it is not shared."""
        ...

    async def export(
        self,
        session_id: str,
        form: Form | None = None,
        path: str | Path | None = None,
        *,
        prompts: "Prompts" = "markdown",
        inside: bool = False,
    ) -> Exported:
        """Write a session to a new file in another format; ``inside`` confines it to the project."""
        ...

    async def import_sessions(
        self,
        path: str | Path,
        *,
        inside: bool = False,
        progress: Progress = untold,
        stopped: Callable[[], bool] = never,
    ) -> ImportReport:
        """Import the sessions at a path, of any agent whose recordings are known; nothing is run.

        ``progress`` is called, on another thread, with the bytes that were read and with all bytes; the import
        ends where ``stopped`` returns True, and what was read stays.
        """
        ...
