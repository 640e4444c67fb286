"""Notices and answers about shared, exported and imported sessions."""

from typing import Literal

from pydantic import Field

from palimpsest.transcript.values import Value


class ImportProgressNotice(Value):
    """The progress of an import, sent a few times a second, first with 0 bytes."""

    kind: Literal["import-progress"] = "import-progress"
    id: str
    """The id of the import's command."""
    bytes: int
    total: int
    """Bytes of the source; 0 while they are not known."""


class ExportedFile(Value):
    """A file to which a session was written."""

    path: str
    shown: str
    """The path relative to the project, if it is inside."""
    bytes: int
    form: str = Field(default="", exclude=True)
    """Its format; ``html`` for a shared page."""
    content: str | None = None
    """The HTML of a shared page, if it is small enough to be sent."""
