"""Carry a provider's own blocks through litellm, which would lose their order and citations.

Each block passes through litellm as a text that begins with a random mark of this process, and is restored in the
finished body. Where the user imported litellm first, it stays unpatched: then only the blocks that it passes on by
itself are sent.
"""

import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from palimpsest.model.wire.native_blocks import NATIVE_ITEM, has_native

BLOCK_MARK = f"provider block {secrets.token_hex(16)}: "
"""Prefix of the text that stands for a block; valid in this process."""
PASSED_UNCHANGED = frozenset({"thinking", "server_tool_use"})
"""Types of blocks that litellm passes on unchanged, beside results."""

Body = dict[str, Any]


def translatable_messages(messages: list[Body], *, restores_blocks: bool) -> list[Body]:
    """Return messages that litellm can translate; without ``restores_blocks`` blocks that it cannot translate are left out."""
    convert_block = _carried_blocks if restores_blocks else _translatable_blocks
    return [
        {
            **message,
            "content": [item for block in message["content"] for item in convert_block(block)],
        }
        if has_native(message)
        else message
        for message in messages
    ]


def _carried_blocks(item: Body) -> list[Body]:
    if item.get("type") != NATIVE_ITEM:
        return [item]
    return [{"type": "text", "text": BLOCK_MARK + json.dumps(item["block"])}]


def _translatable_blocks(item: Body) -> list[Body]:
    if item.get("type") != NATIVE_ITEM:
        return [item]
    block = item["block"]
    block_type = str(block.get("type") or "")
    if block_type == "text":
        return [{"type": "text", "text": block["text"]}]
    is_passed = block_type in PASSED_UNCHANGED or (
        block_type.endswith("_tool_result") and not block_type.startswith("mcp_")
    )
    return [block] if is_passed else []


def patch_to_restore_blocks(litellm: Any) -> None:
    """Patch litellm so that a translated body contains the original blocks.

    In another version of litellm the patched functions may be missing; then ``restored_body`` is not called,
    and a test of the body fails.
    """
    with suppress(AttributeError):
        config = litellm.AnthropicConfig
        config.transform_request = _restoring_translation(config.transform_request)
    with suppress(AttributeError):
        gemini = litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini
        translate = gemini.async_transform_request_body
        gemini.async_transform_request_body = _restoring_async_translation(translate)


def _restoring_translation(translate: Callable[..., Body]) -> Callable[..., Body]:
    def translate_and_restore(*arguments: Any, **keywords: Any) -> Body:
        return restored_body(translate(*arguments, **keywords))

    return translate_and_restore


def _restoring_async_translation(
    translate: Callable[..., Awaitable[Body]],
) -> Callable[..., Awaitable[Body]]:
    async def translate_and_restore(*arguments: Any, **keywords: Any) -> Body:
        return restored_body(await translate(*arguments, **keywords))

    return translate_and_restore


def restored_body(body: Body) -> Body:
    """Return a body in which the original blocks replace their texts."""
    for messages_key, blocks_key in (("messages", "content"), ("contents", "parts")):
        for message in body.get(messages_key) or ():
            items = message.get(blocks_key) if isinstance(message, dict) else None
            if isinstance(items, list):
                message[blocks_key] = [_restored_block(item) for item in items]
    return body


def _restored_block(item: Any) -> Any:
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str) or not text.startswith(BLOCK_MARK):
        return item
    return json.loads(text.removeprefix(BLOCK_MARK))
