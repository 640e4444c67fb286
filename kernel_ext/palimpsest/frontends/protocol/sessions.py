"""List, open, rename, archive, fork, revert and delete sessions."""

from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase


class ListSessions(CommandBase):
    """List the sessions of the project, newest first, or those that contain all given words."""

    type: Literal["sessions"] = "sessions"
    words: str = Field(default="", max_length=1_000)
    archived: bool | None = False
    """Whether to list archived sessions; None lists both kinds."""
    cursor: str | None = None
    """The cursor that the page before returned."""
    limit: int | None = Field(default=None, ge=1, le=1_000)


class ListChildren(CommandBase):
    """List the sessions that ``task`` calls of a session began."""

    type: Literal["children"] = "children"
    session: str


class Retitle(CommandBase):
    """Change a session's title."""

    type: Literal["title"] = "title"
    session: str
    title: str = Field(min_length=1, max_length=1_000)


class Archive(CommandBase):
    """Archive a session, or unarchive it."""

    type: Literal["archive"] = "archive"
    session: str
    archived: bool = True


class Delete(CommandBase):
    """Delete a session and those that it began, for good."""

    type: Literal["delete"] = "delete"
    session: str


class Fork(CommandBase):
    """Begin a session in this notebook as a copy of another one, whole or up to a message."""

    type: Literal["fork"] = "fork"
    session: str
    message: str | None = Field(default=None, max_length=200)


class OpenSession(CommandBase):
    """Make another session the current one of this notebook."""

    type: Literal["open"] = "open"
    session: str


class NewSession(CommandBase):
    """Begin a new session in this notebook; one with a parent does not become the current session."""

    type: Literal["new"] = "new"
    title: str | None = None
    parent: str | None = None
    permission: dict[str, Any] | str | None = None
    """Permission rules in the form of the settings, for this session alone."""


class RenameNotebook(CommandBase):
    """Note that the notebook was renamed, and move its sessions to the new name.

    Both paths are those that the server reports. If the kernel's notebook is another one, or was
    renamed already, nothing happens.
    """

    type: Literal["rename"] = "rename"
    was: str
    notebook: str


class Revert(CommandBase):
    """Revert a message and what follows, undo that, make it final, or only preview it."""

    type: Literal["revert"] = "revert"
    session: str | None = None
    action: Literal["preview", "revert", "unrevert", "cleanup", "diff"]
    target: str = Field(default="", max_length=200)
    """The id of a message or part; none means the newest prompt, and for ``diff`` the whole session."""
    overwrite: tuple[str, ...] = ()
    """Files to overwrite although they were changed outside the session."""
