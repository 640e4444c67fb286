"""Rows for a project's settings and storage."""

from palimpsest.transcript.values import Value


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
