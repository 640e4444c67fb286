"""List, open, name, put away, fork and delete sessions, and take turns back."""

from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class ListSessions(CommandBase):
    """List the sessions of the project, newest first, or those that hold all of some words."""

    type: Literal["sessions"] = "sessions"
    words: str = Field(default="", max_length=1_000)
    archived: bool | None = False
    """Those that were put away; None asks for both."""
    cursor: str | None = None
    """Where the page before ended, as it said."""
    limit: int | None = Field(default=None, ge=1, le=1_000)


class ListChildren(CommandBase):
    """List the sessions that ``task`` calls of a session began."""

    type: Literal["children"] = "children"
    session: str


class Retitle(CommandBase):
    """Call a session otherwise."""

    type: Literal["title"] = "title"
    session: str
    title: str = Field(min_length=1, max_length=1_000)


class Archive(CommandBase):
    """Put a session away, or fetch it back."""

    type: Literal["archive"] = "archive"
    session: str
    archived: bool = True


class Delete(CommandBase):
    """Delete a session and those that it began, for good."""

    type: Literal["delete"] = "delete"
    session: str


class Fork(CommandBase):
    """Begin a session in this notebook with all of another one, or all before a message."""

    type: Literal["fork"] = "fork"
    session: str
    message: str | None = Field(default=None, max_length=200)


class OpenSession(CommandBase):
    """Go on with another session in this notebook."""

    type: Literal["open"] = "open"
    session: str


class NewSession(CommandBase):
    """Begin a new session in this notebook; one with a parent belongs to that, and is not its current one."""

    type: Literal["new"] = "new"
    title: str | None = None
    parent: str | None = None
    permission: dict[str, Any] | str | None = None
    """Rules as the settings write them, for this session alone."""


class RenameNotebook(CommandBase):
    """The notebook is called otherwise now, and its sessions go with it.

    Both paths are as the server tells them. Where the kernel's notebook is another one, or was
    renamed already, nothing happens.
    """

    type: Literal["rename"] = "rename"
    was: str
    notebook: str


class Revert(CommandBase):
    """Take back a message and what follows, undo that, make it final, or only look."""

    type: Literal["revert"] = "revert"
    session: str | None = None
    action: Literal["preview", "revert", "unrevert", "cleanup", "diff"]
    target: str = Field(default="", max_length=200)
    """The id of a message or part; none means the newest prompt, and for ``diff`` the whole session."""
    overwrite: tuple[str, ...] = ()
    """Files that are overwritten though somebody else changed them."""


class SessionRow(Value):
    """One line of the session list."""

    id: str
    title: str
    notebook: str | None = None
    created: int
    updated: int
    messages: int = 0
    archived: int | None = None
    """When it was put away."""
    parent: str | None = None
    """The session whose ``task`` call began it."""
    forked: bool | None = None
    shared: bool | None = None
    about: str | None = None
    """The beginning of what a model noted of it."""
