"""The page command that asks an inspector's question about a session or a recorded file."""

from typing import Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.review.timeline_view.view_queries import ViewQuery


class Inspect(CommandBase):
    """Ask one question about a session, or about a recording that lies in a file; nothing is written."""

    type: Literal["inspect"] = "inspect"
    session: str | None = None
    """None for the notebook's; with ``path`` one of the recording's, or None for its first."""
    path: str | None = Field(default=None, max_length=4_096)
    """A recorded file or folder, from the kernel's start directory; none of it is imported."""
    query: ViewQuery
    client: str = Field(default="", max_length=200)
    """The page that asks: of its questions for a track that wait, only the newest is answered."""
