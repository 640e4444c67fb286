"""What a front end may ask of what leaves a project and comes into it; ``Workspace.giving`` has it.

Border: the interface alone, so that ``api`` knows nothing of who implements it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

from palimpsest.render.formats.notebook import Prompts
from palimpsest.store.exchange.importer import ImportReport

Form = Literal["md", "ipynb", "json", "html", "opencode"]
"""Markdown, a notebook, our JSON, a page, OpenCode's folder."""
FORMS: tuple[str, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    path: Path
    form: Form
    bytes: int


class SharingOperations(Protocol):
    """What leaves a project and what comes into it.

    Contract: every operation may take its time and runs beside the engine.
    """

    async def share(self, session_id: str) -> Path:
        """Make a page of a session, or make it anew; returns where it is.

        Raises UserError where sharing is switched off, or nothing is kept on a disk.
        """
        ...

    async def unshare(self, session_id: str) -> bool:
        """Delete a session's page; false when there was none."""
        ...

    async def shared(self, session_id: str) -> Path | None:
        """Return where a session's page is; None when it is not shared."""
        ...

    async def export(
        self,
        session_id: str,
        form: Form | None = None,
        path: str | Path | None = None,
        *,
        prompts: Prompts = "markdown",
        inside: bool = False,
    ) -> Exported:
        """Write a session to a new file in another form; ``inside`` confines it to the project."""
        ...

    async def import_sessions(self, path: str | Path, *, inside: bool = False) -> ImportReport:
        """Bring sessions in from OpenCode's storage folder or an exported file; nothing is run."""
        ...
