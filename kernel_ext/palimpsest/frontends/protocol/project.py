"""A project's settings, storage, hooks and MCP servers."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class ListSettings(CommandBase):
    """List every setting and where it came from."""

    type: Literal["config"] = "config"


class ShowStorage(CommandBase):
    """Weigh the project's folder, and say what may go of it, or delete that first."""

    type: Literal["storage"] = "storage"
    days: float | None = None
    """Not used for so long; the configured number where nothing is said."""
    max_size: int | str | None = None
    """Most that the folder takes: bytes, or words such as ``2GB``."""
    delete: bool = False
    """What may go is deleted, for good."""


class ListExtensions(CommandBase):
    """List the hooks and MCP servers of this kernel, and try its servers again first."""

    type: Literal["extensions"] = "extensions"
    connect: bool = False


class SettingRow(Value):
    """A setting, its value in words, and where that came from."""

    key: str
    value: str
    origin: str


class StorageRow(Value):
    """What a session takes, with those that it began."""

    id: str
    title: str
    bytes: int
    updated: int
    with_children: int = 1
    """How many sessions go together."""
    why: str | None = None
    """Why it is never taken."""


class StorageReport(Value):
    """What the project's folder takes, in bytes, and what may go of it."""

    total: int
    logs: int
    blobs: int
    snapshots: int
    share: int
    other: int
    sessions: tuple[StorageRow, ...] = ()
    due: tuple[StorageRow, ...] = ()
    """What is over the limits of age and size, and may go."""
    spared: tuple[StorageRow, ...] = ()
    """What is over them, and never goes."""
    unneeded: int = 0
    """Of texts that no session needs any more, and that may go."""
    gone: tuple[StorageRow, ...] | None = None
    """What was deleted, where it was asked for."""


class HookRow(Value):
    """A hook as a page lists it."""

    name: str
    label: str
    origin: str
    calls: int
    failures: int
    problem: str = ""


class ServerRow(Value):
    """An MCP server as a page lists it."""

    name: str
    state: Literal["off", "waiting", "connecting", "connected", "failed"]
    origin: str
    tools: tuple[str, ...] = ()
    problem: str = ""
