"""Count what a request will cost the window, before it is sent.

Counts are those of a real tokenizer, corrected by what the provider reported for this session.
"""

import json
from collections.abc import Callable, Sequence

from palimpsest.transcript.flat import Block, CallBlock, FlatMessage, MediaBlock, ResultBlock
from palimpsest.transcript.values import ToolSpec

Count = Callable[[str], int]

MESSAGE_TOKENS = 4
"""Role and separators of one message, in OpenAI's published chat format."""

MEDIA_TOKENS = 1_600
"""One image at the size that providers scale to: Anthropic counts width x height / 750, at most about 1,600."""

CALL_TOKENS = 8
"""The frame around a call's name and arguments, found by comparing with reported usage."""


CHARS_PER_TOKEN = 4


def quarter_chars(text: str) -> int:
    """Estimate as the recorded agents do: a quarter of the UTF-16 length, rounded half up.

    It sees about a quarter of the tokens of Chinese text (spec/session-engine.md 1.16).
    """
    units = len(text) + sum(char > "\uffff" for char in text)
    return (units + CHARS_PER_TOKEN // 2) // CHARS_PER_TOKEN


def block_tokens(block: Block, count: Count) -> int:
    """Estimate the tokens of one block."""
    match block:
        case MediaBlock():
            return MEDIA_TOKENS
        case CallBlock(tool=tool, input=given):
            return CALL_TOKENS + count(tool) + count(json.dumps(given, ensure_ascii=False))
        case ResultBlock(text=text, media=media):
            return CALL_TOKENS + count(text) + MEDIA_TOKENS * len(media)
        case _:
            return count(block.text)


def message_tokens(message: FlatMessage, count: Count) -> int:
    """Estimate the tokens of one message."""
    return MESSAGE_TOKENS + sum(block_tokens(block, count) for block in message.blocks)


def tools_tokens(tools: Sequence[ToolSpec], count: Count) -> int:
    """Estimate the tokens of the tool descriptions."""
    return sum(
        CALL_TOKENS
        + count(tool.name)
        + count(tool.description)
        + count(json.dumps(tool.parameters))
        for tool in tools
    )
