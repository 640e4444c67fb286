"""Compact, choose the context policy, pin or leave out a part, and say what fills the window."""

from typing import Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class Compact(CommandBase):
    """Put a summary in the place of what was said; one that runs already is joined."""

    type: Literal["compact"] = "compact"
    session: str | None = None
    focus: str | None = Field(default=None, max_length=2_000)
    """What the summary keeps above all."""
    model: str | None = Field(default=None, max_length=200)
    """Writes this one summary."""
    auto: bool = False
    """The agent goes on by itself after it."""


class UsePolicy(CommandBase):
    """Choose the context policy, from the next request on."""

    type: Literal["policy"] = "policy"
    session: str | None = None
    words: tuple[str, ...] = Field(min_length=1)
    """The name of a preset, ``name=value`` for one number, or ``default``."""


class ShowContext(CommandBase):
    """Draw what fills the model's window, and what is gone from it."""

    type: Literal["context"] = "context"
    session: str | None = None


class ApplyContextEdit(CommandBase):
    """Edit what the model sees of a part or message, from the next request on."""

    type: Literal["context-edit"] = "context-edit"
    session: str | None = None
    action: Literal["pin", "unpin", "exclude", "restore", "undo"]
    target: str = Field(default="", max_length=200)
    """The id of a part or message; none for ``undo``, which is about the newest compaction."""


class ContextFill(Value):
    """What the newest request was full of."""

    tokens: int
    """Estimated, as the kinds are."""
    kinds: dict[str, int] = {}
    window: int
    """0 where the model has no limit."""
    reserve: int
    message_id: str | None = None
    """The answer that the request was for; its numbers are the provider's."""
