"""Carry a provider's own blocks past litellm, which knows neither their order nor their citations.

Each one goes through litellm as a text that begins with a mark of this process, and takes its place again
when the body is whole; nobody can write the mark, since it is drawn when the process starts. Where a person imported
litellm first, nothing of it is changed: then what it passes on by itself is sent, and the rest is left out.
"""

import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from palimpsest.model.wire.native_blocks import NATIVE_ITEM, has_native

MARK = f"provider block {secrets.token_hex(16)}: "
"""How the text begins that stands for a block; as long as the process lives."""
PASSED = frozenset({"thinking", "server_tool_use"})
"""Types of blocks that litellm passes on unchanged, beside results."""

Body = dict[str, Any]


def translatable(messages: list[Body], *, put_back: bool) -> list[Body]:
    """Return messages that litellm can translate; without ``put_back`` its own translation is all there is."""
    write = _carried if put_back else _passed
    return [
        {**one, "content": [item for each in one["content"] for item in write(each)]}
        if has_native(one)
        else one
        for one in messages
    ]


def _carried(item: Body) -> list[Body]:
    if item.get("type") != NATIVE_ITEM:
        return [item]
    return [{"type": "text", "text": MARK + json.dumps(item["block"])}]


def _passed(item: Body) -> list[Body]:
    if item.get("type") != NATIVE_ITEM:
        return [item]
    block = item["block"]
    kind = str(block.get("type") or "")
    if kind == "text":
        return [{"type": "text", "text": block["text"]}]
    is_passed = kind in PASSED or (kind.endswith("_tool_result") and not kind.startswith("mcp_"))
    return [block] if is_passed else []


def put_blocks_back(litellm: Any) -> None:
    """Patch litellm so that the blocks take their place again in a translated body.

    Another version of litellm may have the places elsewhere; then ``restored`` is not called, and a
    test of the body fails.
    """
    with suppress(AttributeError):
        config = litellm.AnthropicConfig
        config.transform_request = _restoring(config.transform_request)
    with suppress(AttributeError):
        gemini = litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini
        gemini.async_transform_request_body = _restoring_later(gemini.async_transform_request_body)


def _restoring(translate: Callable[..., Body]) -> Callable[..., Body]:
    def translated(*arguments: Any, **keywords: Any) -> Body:
        return restored(translate(*arguments, **keywords))

    return translated


def _restoring_later(translate: Callable[..., Awaitable[Body]]) -> Callable[..., Awaitable[Body]]:
    async def translated(*arguments: Any, **keywords: Any) -> Body:
        return restored(await translate(*arguments, **keywords))

    return translated


def restored(body: Body) -> Body:
    """Return a body in which each carried block stands in its place."""
    for messages, inner in (("messages", "content"), ("contents", "parts")):
        for message in body.get(messages) or ():
            items = message.get(inner) if isinstance(message, dict) else None
            if isinstance(items, list):
                message[inner] = [_block(item) for item in items]
    return body


def _block(item: Any) -> Any:
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str) or not text.startswith(MARK):
        return item
    return json.loads(text.removeprefix(MARK))
