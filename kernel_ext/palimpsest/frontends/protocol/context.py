"""Compact, choose the context policy, pin or exclude a part, and report what fills the context window."""

from typing import Literal

from pydantic import Field

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class Compact(CommandBase):
    """Replace older messages by a summary; a compaction that runs already is joined."""

    type: Literal["compact"] = "compact"
    session: str | None = None
    focus: str | None = Field(default=None, max_length=2_000)
    """What the summary should keep above all."""
    model: str | None = Field(default=None, max_length=200)
    """The model that writes this one summary."""
    auto: bool = False
    """The agent goes on by itself after the summary."""


class UsePolicy(CommandBase):
    """Choose the context policy, from the next request on."""

    type: Literal["policy"] = "policy"
    session: str | None = None
    hold: str | None = Field(default=None, max_length=100)
    """A held request whose own session is meant, such as a subagent's."""
    words: tuple[str, ...] = Field(min_length=1)
    """The name of a preset, ``name=value`` for one number, or ``default``."""


class ShowContext(CommandBase):
    """Draw what fills the model's context window, and what was removed from it."""

    type: Literal["context"] = "context"
    session: str | None = None


class ApplyContextEdit(CommandBase):
    """Edit what the model sees of a part or message, from the next request on."""

    type: Literal["context-edit"] = "context-edit"
    session: str | None = None
    hold: str | None = Field(default=None, max_length=100)
    """A held request whose own session is meant, such as a subagent's."""
    action: Literal["pin", "unpin", "exclude", "restore", "undo"]
    target: str = Field(default="", max_length=200)
    """The id of a part or message; empty for ``undo``, which undoes the newest compaction."""


class ContextFill(Value):
    """What filled the context window in the newest request."""

    tokens: int
    """Estimated, like the numbers in ``kinds``."""
    kinds: dict[str, int] = {}
    window: int
    """0 where the model has no limit."""
    reserve: int
    message_id: str | None = None
    """The message that answers the request; it has the numbers that the provider reported."""
