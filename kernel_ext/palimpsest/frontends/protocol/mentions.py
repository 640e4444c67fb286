"""Ask what a prompt may name with an at sign, and what would go along with it."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase


class ListMentions(CommandBase):
    """List what a prompt may name: the newest error, variables, cells, outputs and files."""

    type: Literal["mentions"] = "mentions"
    session: str | None = None
    agent: str | None = None
    """The agent that would answer, since rules may be its own; None means the session's."""
    query: str = ""
    """Letters of a file's path; the other kinds are listed whole, and the page chooses among them."""


class PreviewMentions(CommandBase):
    """Say what would go along with a prompt that is being typed; nothing is sent."""

    type: Literal["mention-preview"] = "mention-preview"
    session: str | None = None
    agent: str | None = None
    text: str
