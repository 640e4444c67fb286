"""Share, export and import sessions."""

from typing import Literal

from pydantic import Field

from palimpsest.transcript.values import Value


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
    form: str = Field(default="", exclude=True)
    """Its format; ``html`` for a shared page."""
    content: str | None = None
    """The HTML of a shared page, if it is small enough to be sent."""
