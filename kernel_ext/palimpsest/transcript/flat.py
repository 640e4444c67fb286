"""Neutral provider messages: the second level of the context.

Here a tool call and its result are separate things, so orphans, duplicates and wrong order can
exist, and be repaired. Each block names the part it came from.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from palimpsest.transcript.base import Value


class TextBlock(Value):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str
    part_id: str | None = None


class ReasoningBlock(Value):
    """Thinking that travels back to the model that thought it."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    metadata: dict[str, Any] | None = None
    part_id: str | None = None


class MediaBlock(Value):
    """An image or document as a ``data:`` url."""

    type: Literal["media"] = "media"
    mime: str
    url: str
    filename: str | None = None
    part_id: str | None = None


class CallBlock(Value):
    """A tool call by the assistant."""

    type: Literal["call"] = "call"
    call_id: str
    tool: str
    input: dict[str, Any]
    part_id: str | None = None
    metadata: dict[str, Any] | None = None


class ResultBlock(Value):
    """The result of a tool call."""

    type: Literal["result"] = "result"
    call_id: str
    tool: str
    text: str
    media: tuple[MediaBlock, ...] = ()
    is_error: bool = False
    part_id: str | None = None


Block = Annotated[
    TextBlock | ReasoningBlock | MediaBlock | CallBlock | ResultBlock, Field(discriminator="type")
]


class FlatMessage(Value):
    """One provider message; ``tool`` messages hold result blocks only."""

    role: Literal["system", "user", "assistant", "tool"]
    blocks: tuple[Block, ...]
    message_id: str | None = None
    """The transcript message it came from."""


FlatMessages = tuple[FlatMessage, ...]
