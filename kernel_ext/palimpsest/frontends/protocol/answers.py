"""Answers that pages receive from more than one operation, their rows, and the progress of an import."""

from typing import Literal

from pydantic import Field

from palimpsest.transcript.values import Value


class ApprovalRow(Value):
    """A standing approval."""

    number: int
    """The number by which it is revoked."""
    permission: str
    pattern: str
    scope: Literal["session", "project"]
    where: str
    """Where and when it was allowed, as text."""


class RuleRow(Value):
    """A rule that holds for every agent; of those that match a call, the last one decides."""

    permission: str
    pattern: str
    action: Literal["allow", "ask", "deny"]
    origin: str


class SettingRow(Value):
    """A setting, its value as text, and the value's origin."""

    key: str
    value: str
    origin: str


class StorageRow(Value):
    """The disk usage of a session, with the sessions that it began."""

    id: str
    title: str
    bytes: int
    updated: int
    """When it was last used, in milliseconds since 1970."""
    with_children: int = 1
    """Number of sessions that are deleted together."""
    why: str | None = None
    """Why it is never deleted."""


class StorageReport(Value):
    """The disk usage of the project's folder, in bytes, and the sessions that may be deleted."""

    total: int
    logs: int
    blobs: int
    snapshots: int
    share: int
    other: int
    sessions: tuple[StorageRow, ...] = ()
    due: tuple[StorageRow, ...] = ()
    """Sessions over the limits of age and size that may be deleted."""
    spared: tuple[StorageRow, ...] = ()
    """Sessions over the limits that are never deleted."""
    unneeded: int = 0
    """Bytes of texts that no session needs any more, and that may be deleted."""
    gone: tuple[StorageRow, ...] | None = None
    """The sessions that were deleted; None when deleting was not requested."""


class ImportProgressNotice(Value):
    """The progress of an import, sent a few times a second, first with 0 bytes."""

    kind: Literal["import-progress"] = "import-progress"
    id: str
    """The id of the import's command."""
    bytes: int
    """Bytes that were read so far."""
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
