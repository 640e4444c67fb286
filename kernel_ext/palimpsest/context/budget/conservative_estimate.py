"""Estimate the tokens of a request before it is sent, on the safe side, as OpenClaw's precheck does.

Four characters count as one token, in a tool result two, since code and numbers take more tokens; each message and
result adds a fixed overhead, and the sum is multiplied by a margin. The numbers are fitted to recordings; the default
policy counts with a tokenizer instead.
"""

import json
import math

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)
from palimpsest.transcript.context_values.policies import OverflowPolicy
from palimpsest.transcript.values import CHARS_PER_TOKEN

MESSAGE_TOKENS = 12
"""Role and separators of one message."""
RESULT_TOKENS = 15
"""Overhead around the text of a tool result: ids, names, quotes."""
MEDIA_TOKENS = 2_000
"""One picture or document."""
RESULT_CHARS_PER_TOKEN = 2


def conservative_tokens(messages: NeutralMessages, policy: OverflowPolicy) -> int:
    """Return the estimated tokens of a request, system messages and margin included."""
    tokens = sum(_message_tokens(message) for message in messages)
    return math.ceil(tokens * policy.safety_margin)


def _message_tokens(message: NeutralMessage) -> int:
    text_tokens = math.ceil(sum(map(_block_chars, message.blocks)) / CHARS_PER_TOKEN)
    results = [block for block in message.blocks if isinstance(block, ResultBlock)]
    media_tokens = sum(block.type == "media" for block in message.blocks) * MEDIA_TOKENS
    # Here the results of one answer share a message; in OpenClaw's recordings each has its own message.
    frame_tokens = max(1, len(results)) * MESSAGE_TOKENS
    return frame_tokens + text_tokens + sum(map(_result_tokens, results)) + media_tokens


def _block_chars(block: Block) -> int:
    match block:
        case CallBlock(tool=tool, input=arguments):
            arguments_json = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
            return len(tool) + _utf16_length(arguments_json)
        case ResultBlock():
            return 0
        case _:
            return _utf16_length(getattr(block, "text", ""))


def _result_tokens(block: ResultBlock) -> int:
    text_tokens = math.ceil(_utf16_length(block.text) / RESULT_CHARS_PER_TOKEN)
    return RESULT_TOKENS + text_tokens + MEDIA_TOKENS * len(block.media)


def _utf16_length(text: str) -> int:
    """Return the UTF-16 length, which OpenClaw counts."""
    # Measured by encoding, since a loop over the characters of a long session takes seconds.
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
