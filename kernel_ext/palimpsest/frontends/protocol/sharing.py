"""Share, export and import sessions."""

from typing import Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class Share(CommandBase):
    """Write a page of the session that can be given to others, or write it anew."""

    type: Literal["share"] = "share"
    session: str | None = None


class Unshare(CommandBase):
    """Delete the session's page."""

    type: Literal["unshare"] = "unshare"
    session: str | None = None


class Export(CommandBase):
    """Write the session to a new file inside the project."""

    type: Literal["export"] = "export"
    session: str | None = None
    form: Literal["md", "ipynb", "json", "html", "opencode", "atif"] | None = None
    path: str | None = Field(default=None, max_length=1000)


class Import(CommandBase):
    """Import sessions from a file or folder inside the project."""

    type: Literal["import"] = "import"
    path: str = Field(min_length=1, max_length=1000)


class StopImport(CommandBase):
    """Stop an import that runs; what was read stays, and importing the same again goes on from there."""

    type: Literal["stop-import"] = "stop-import"
    import_id: str
    """The id of the command that began it."""


class ImportProgressNotice(Value):
    """How far an import is; it comes a few times a second, first with nothing read."""

    kind: Literal["import-progress"] = "import-progress"
    id: str
    """Of the command that began it."""
    bytes: int
    total: int
    """Bytes of the source; 0 while they are not known."""


class ExportedFile(Value):
    """A file that a session was written to."""

    path: str
    shown: str
    """The path relative to the project, if it is inside."""
    bytes: int
    content: str | None = None
    """The HTML of a shared page, if it is small enough to be sent."""
