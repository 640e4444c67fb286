"""Provider-neutral messages, the form of a context between the transcript's parts and a provider's messages.

Here a tool call and its result are separate blocks, so calls without results, duplicates and a wrong order can
occur, and be repaired. Each block has the id of the part it came from.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

from palimpsest.transcript.provider_calls import NATIVE_KEY
from palimpsest.transcript.values import Value


class TextBlock(Value):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str
    part_id: str | None = None
    metadata: dict[str, Any] | None = None
    """Provider data that is sent back with the text."""
    kind: str | None = None
    """The kind as which its tokens are counted, where that is not its message's role."""


class ReasoningBlock(Value):
    """Thinking that is sent back to the model that produced it."""

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
    kind: str | None = None
    """The kind of tokens that it counts as, where that is not its message's role."""


class CallBlock(Value):
    """A tool call by the assistant."""

    type: Literal["call"] = "call"
    call_id: str
    tool: str
    input: dict[str, Any]
    part_id: str | None = None
    metadata: dict[str, Any] | None = None
    incomplete: bool = False
    """Whether the call arrived without an input, or with an input that was cut off."""


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


_BLOCK_TYPES = frozenset({TextBlock, ReasoningBlock, MediaBlock, CallBlock, ResultBlock})


def _accept_blocks(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Accept blocks unchecked: a request is made of hundreds, each validated when it was made."""
    return (
        value
        if type(value) is tuple and _BLOCK_TYPES.issuperset(map(type, value))
        else check(value)
    )


Blocks = Annotated[tuple[Block, ...], WrapValidator(_accept_blocks)]


Stop = Literal["stop", "length", "calls", "paused", "error", "aborted"]
"""Why an answer ended. After ``error`` and ``aborted`` its calls may never have run; after ``paused`` the provider
continues the answer when it is sent back."""


class NeutralMessage(Value):
    """One provider message; ``tool`` messages hold result blocks only."""

    role: Literal["system", "user", "assistant", "tool"]
    blocks: Blocks
    message_id: str | None = None
    """The transcript message it came from."""
    stop: Stop | None = None
    """Why this answer ended, where that is known."""
    plain: bool = False
    """Whether an imported message's content was one string instead of a list of blocks."""
    metadata: dict[str, Any] | None = None
    """Further fields of an imported message, such as ``usage``, ``error`` and ``timestamp``."""


NeutralMessages = tuple[NeutralMessage, ...]


def holds_native(message: NeutralMessage) -> bool:
    """Return whether an answer holds blocks in its provider's own form."""
    return message.role == "assistant" and any(
        block.type == "text" and block.metadata is not None and bool(block.metadata.get(NATIVE_KEY))
        for block in message.blocks
    )
