"""Write the blocks of calls that a provider ran itself into the answer that held them, as they came.

A provider takes them back only whole: a call with its result, the citations with their text, all in their
order between the thinking. What was separated from its other half, by a reduction or by the end of an answer, is sent
as text. Border: pure; the adapter carries the blocks past litellm.
"""

from collections.abc import Iterator
from typing import Any, TypeGuard

from palimpsest.model.wire.tool_call_text import json_value
from palimpsest.transcript.context_values.neutral_messages import (
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    TextBlock,
)
from palimpsest.transcript.provider_calls import DIALECT, native_of, without_native
from palimpsest.transcript.provider_profile.profile import ProviderProfile
from palimpsest.transcript.strings.surrogates import joined_surrogates

Body = dict[str, Any]

NATIVE_ITEM = "native"
"""The type of an item of a message's content that holds a provider's own block."""


def is_native(block: Any) -> TypeGuard[TextBlock]:
    """Return whether a block is sent in the provider's own form."""
    return isinstance(block, TextBlock) and bool(block.metadata) and bool(native_of(block.metadata))


def whole_blocks(messages: NeutralMessages, target: ProviderProfile) -> NeutralMessages:
    """Return messages in which only those blocks are the provider's own that this server takes back."""
    pending = _pending(messages)
    called = _ids(messages, "id")
    answered = _ids(messages, "tool_use_id")

    def kept(block: TextBlock, *, newest: bool) -> bool:
        natives = native_of(block.metadata)
        if (block.metadata or {}).get(DIALECT) != target.wire:
            return False
        # A block that no JSON can carry unchanged cannot be sent back as it came.
        if any(json_value(one) != one for one in natives):
            return False
        uses = {one["id"] for one in natives if isinstance(one.get("id"), str)}
        results = {one["tool_use_id"] for one in natives if isinstance(one.get("tool_use_id"), str)}
        return (newest or uses <= answered) and results <= called

    return tuple(
        message
        if not any(map(is_native, message.blocks))
        else message.model_copy(
            update={
                "blocks": tuple(
                    block
                    if not is_native(block) or kept(block, newest=at == pending)
                    else block.model_copy(update={"metadata": without_native(block.metadata)})
                    for block in message.blocks
                )
            }
        )
        for at, message in enumerate(messages)
    )


def are_paired(messages: NeutralMessages) -> bool:
    """Return whether each call of a provider's own has its result among these messages, and each result its call."""
    return _ids(messages, "id") == _ids(messages, "tool_use_id")


def _pending(messages: NeutralMessages) -> int:
    """Return the position of the answer that the provider goes on with, whose calls it may still run; else -1."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "assistant":
            return at
        if messages[at].role != "tool":
            return -1
    return -1


def _ids(messages: NeutralMessages, name: str) -> set[str]:
    return {
        one[name]
        for message in messages
        for block in message.blocks
        if is_native(block)
        for one in native_of(getattr(block, "metadata", None))
        if isinstance(one.get(name), str)
    }


def native_content(
    message: NeutralMessage, target: ProviderProfile, signed: list[Body]
) -> list[Body]:
    """Return the content of an answer that holds blocks of the provider's own, in their order.

    ``signed`` are the thinking blocks of the answer that may be sent back; where the wire has them in the content, they
    stand where they came.
    """
    inline = target.wire == "anthropic"
    return [item for block in message.blocks for item in _items(block, signed if inline else [])]


def _items(block: Any, signed: list[Body]) -> Iterator[Body]:
    if isinstance(block, ReasoningBlock):
        for one in (block.metadata or {}).get("thinking_blocks", ()):
            if one in signed:
                yield {"type": NATIVE_ITEM, "block": one}
    elif is_native(block):
        for one in native_of(block.metadata):
            yield {"type": NATIVE_ITEM, "block": one}
    elif isinstance(block, TextBlock) and block.text.strip():
        yield {"type": "text", "text": joined_surrogates(block.text)}


def has_native(body: Body) -> bool:
    """Return whether a message holds blocks of the provider's own."""
    content = body.get("content")
    return isinstance(content, list) and any(one.get("type") == NATIVE_ITEM for one in content)


def holds_thinking(body: Body) -> bool:
    """Return whether a message holds signed thinking, beside its content or in it."""
    if body.get("thinking_blocks"):
        return True
    return has_native(body) and any(
        one.get("block", {}).get("type") in {"thinking", "redacted_thinking"}
        for one in body["content"]
    )
