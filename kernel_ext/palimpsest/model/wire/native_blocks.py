"""Write the blocks of calls that a provider ran itself back into their answer, unchanged.

A provider accepts them only complete: a call with its result, citations with their text, all in their order between
the thinking. A block without its other half, which a reduction removed or the answer never reached, is sent as text.
Border: pure; the adapter carries the blocks through litellm.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from palimpsest.model.wire.tool_call_text import json_value
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
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
"""The type of an item of a message's content with a provider's own block."""


def is_native(block: Any) -> TypeGuard[TextBlock]:
    """Return whether a block is sent in the provider's own form."""
    return isinstance(block, TextBlock) and bool(block.metadata) and bool(native_of(block.metadata))


def with_accepted_blocks(
    messages: NeutralMessages, target_profile: ProviderProfile
) -> NeutralMessages:
    """Return messages with only those native blocks that this server accepts back."""
    continued_index = _continued_answer(messages)
    call_ids = _ids(messages, "id")
    answered_ids = _ids(messages, "tool_use_id")

    def is_accepted(block: TextBlock, *, is_continued: bool) -> bool:
        natives = native_of(block.metadata)
        if (block.metadata or {}).get(DIALECT) != target_profile.wire:
            return False
        # A block that JSON would change cannot be sent back.
        if any(json_value(native) != native for native in natives):
            return False
        own_calls, own_results = _text_fields(natives, "id"), _text_fields(natives, "tool_use_id")
        return (is_continued or own_calls <= answered_ids) and own_results <= call_ids

    def accepted_form(block: Block, *, is_continued: bool) -> Block:
        if not is_native(block) or is_accepted(block, is_continued=is_continued):
            return block
        return block.model_copy(update={"metadata": without_native(block.metadata)})

    return tuple(
        message.model_copy(
            update={
                "blocks": tuple(
                    accepted_form(block, is_continued=index == continued_index)
                    for block in message.blocks
                )
            }
        )
        if any(map(is_native, message.blocks))
        else message
        for index, message in enumerate(messages)
    )


def are_paired(messages: NeutralMessages) -> bool:
    """Return whether each call that a provider ran has its result in these messages, and each result its call."""
    return _ids(messages, "id") == _ids(messages, "tool_use_id")


def _continued_answer(messages: NeutralMessages) -> int:
    """Return the position of the answer that the provider will continue, whose calls it may still run; else -1."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant":
            return index
        if messages[index].role != "tool":
            return -1
    return -1


def _ids(messages: NeutralMessages, name: str) -> set[str]:
    """Return the ids in the field ``name`` of all native blocks."""
    native_blocks = (b for message in messages for b in message.blocks if is_native(b))
    return _text_fields((n for block in native_blocks for n in native_of(block.metadata)), name)


def _text_fields(natives: Iterable[Body], name: str) -> set[str]:
    return {native[name] for native in natives if isinstance(native.get(name), str)}


def native_content(
    message: NeutralMessage, target_profile: ProviderProfile, thinking_blocks: list[Body]
) -> list[Body]:
    """Return the content of an answer with the provider's own blocks, in their order.

    ``thinking_blocks`` are the thinking blocks of the answer that may be sent back; where the wire has them in the content, they
    keep their place.
    """
    inline_thinking = thinking_blocks if target_profile.wire == "anthropic" else []
    return [item for block in message.blocks for item in _block_items(block, inline_thinking)]


def _block_items(block: Any, inline_thinking: list[Body]) -> Iterator[Body]:
    if isinstance(block, ReasoningBlock):
        for thinking in (block.metadata or {}).get("thinking_blocks", ()):
            if thinking in inline_thinking:
                yield {"type": NATIVE_ITEM, "block": thinking}
    elif is_native(block):
        for native in native_of(block.metadata):
            yield {"type": NATIVE_ITEM, "block": native}
    elif isinstance(block, TextBlock) and block.text.strip():
        yield {"type": "text", "text": joined_surrogates(block.text)}


def has_native(body: Body) -> bool:
    """Return whether a message contains the provider's own blocks."""
    content = body.get("content")
    return isinstance(content, list) and any(item.get("type") == NATIVE_ITEM for item in content)


def has_signed_thinking(body: Body) -> bool:
    """Return whether a message holds signed thinking, beside its content or in it."""
    if body.get("thinking_blocks"):
        return True
    return has_native(body) and any(
        item.get("block", {}).get("type") in {"thinking", "redacted_thinking"}
        for item in body["content"]
    )
