"""Estimate how many tokens of the context window a request takes, before it is sent.

Counts are those of a real tokenizer, corrected by what the provider reported for this session.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.values import ToolSpec

Count = Callable[[str], int]

MESSAGE_TOKENS = 4
"""Role and separators of one message, in OpenAI's published chat format."""

MEDIA_TOKENS = 1_600
"""One image at the size that providers scale to: Anthropic counts width x height / 750, at most about 1,600."""

CALL_TOKENS = 8
"""Overhead around a call's name and arguments, measured by comparing with reported usage."""


CHARS_PER_TOKEN = 4

_JSON = json.JSONEncoder(ensure_ascii=False)
"""Created once, since a long session has hundreds of calls."""


def quarter_chars(text: str) -> int:
    """Estimate tokens as OpenCode does: a quarter of the UTF-16 length, rounded half up.

    For Chinese text it finds only about a quarter of the tokens (spec/session-engine.md 1.16).
    """
    wide = 0 if text.isascii() else sum(char > "\uffff" for char in text)
    units = len(text) + wide
    return (units + CHARS_PER_TOKEN // 2) // CHARS_PER_TOKEN


WIDE = re.compile(r"[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f]")
WIDE_CHARS = 4
"""English characters that cost as many tokens as one Chinese, Japanese or Korean character."""


def weigh_chars(text: str, *, wide: bool = True) -> int:
    """Return the length of a text with each wide character counted as ``WIDE_CHARS``, or its plain length."""
    if not wide or text.isascii():
        return len(text)
    return len(text) + (WIDE_CHARS - 1) * sum(1 for _ in WIDE.finditer(text))


def block_tokens(block: Block, count: Count) -> int:
    """Estimate the tokens of one block."""
    match block:
        case MediaBlock():
            return MEDIA_TOKENS
        case CallBlock(tool=tool, input=given):
            return CALL_TOKENS + count(tool) + count(_JSON.encode(given))
        case ResultBlock(text=text, media=media):
            return CALL_TOKENS + count(text) + MEDIA_TOKENS * len(media)
        case _:
            return count(block.text)


def message_tokens(message: NeutralMessage, count: Count) -> int:
    """Estimate the tokens of one message."""
    return MESSAGE_TOKENS + sum(block_tokens(block, count) for block in message.blocks)


def tools_tokens(tools: Sequence[ToolSpec], count: Count) -> int:
    """Estimate the tokens of the tool descriptions."""
    return sum(
        CALL_TOKENS
        + count(tool.name)
        + count(tool.description)
        # Sorted, as the journal stores them, so that a review counts what the live loop counted.
        + count(json.dumps(tool.parameters, sort_keys=True))
        for tool in tools
    )


def json_tokens(messages: NeutralMessages) -> int:
    """Estimate messages as OpenCode does: a quarter of their JSON (spec/session-engine.md 1.14)."""
    shaped = [
        {"role": message.role, "content": [_shaped(block) for block in message.blocks]}
        for message in messages
    ]
    return quarter_chars(json.dumps(shaped, ensure_ascii=False, separators=(",", ":")))


def _shaped(block: Block) -> dict[str, Any]:
    """Return a block in the JSON shape of the AI SDK, whose length is counted."""
    match block:
        case TextBlock(text=text):
            return {"type": "text", "text": text}
        case ReasoningBlock(text=text, metadata=metadata):
            return {"type": "reasoning", "text": text, "providerOptions": metadata}
        case MediaBlock(mime=mime, url=url, filename=filename):
            named = {"filename": filename} if filename else {}
            return {"type": "file", "mediaType": mime, **named, "data": url}
        case CallBlock(call_id=call_id, tool=tool, input=given):
            return {"type": "tool-call", "toolCallId": call_id, "toolName": tool, "input": given}
        case ResultBlock(call_id=call_id, tool=tool, text=text, is_error=is_error):
            output = {"type": "error-text" if is_error else "text", "value": text}
            return {
                "type": "tool-result",
                "toolCallId": call_id,
                "toolName": tool,
                "output": output,
            }
