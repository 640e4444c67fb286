"""Estimate the tokens of a request before it is sent, on the safe side, as OpenClaw's precheck does.

Four characters count as one token, in a tool result two, since code and numbers take more tokens; each
message and result adds a fixed overhead, and the sum is multiplied by a margin. The numbers are fitted to
recordings (spec/context-stability.md 1.10); the default policy counts with a tokenizer instead.
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

MESSAGE_TOKENS = 12
"""Role and separators of one message."""
RESULT_TOKENS = 15
"""Overhead around the text of a tool result: ids, names, quotes."""
MEDIA_TOKENS = 2_000
CHARS_PER_TOKEN = 4
RESULT_CHARS_PER_TOKEN = 2


def conservative_tokens(messages: NeutralMessages, policy: OverflowPolicy) -> int:
    """Return the estimated tokens of a request, system messages and margin included."""
    tokens = sum(_message(message) for message in messages)
    return math.ceil(tokens * policy.safety_margin)


def _message(message: NeutralMessage) -> int:
    chars = sum(_chars(block) for block in message.blocks)
    results = sum(_result(block) for block in message.blocks if isinstance(block, ResultBlock))
    media = sum(block.type == "media" for block in message.blocks) * MEDIA_TOKENS
    # Here the results of one answer share a message; in OpenClaw's recordings each has its own message.
    frames = max(1, sum(isinstance(block, ResultBlock) for block in message.blocks))
    return frames * MESSAGE_TOKENS + math.ceil(chars / CHARS_PER_TOKEN) + results + media


def _chars(block: Block) -> int:
    match block:
        case CallBlock(tool=tool, input=given):
            written = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
            return len(tool) + _units(written)
        case ResultBlock():
            return 0
        case _:
            return _units(getattr(block, "text", ""))


def _result(block: ResultBlock) -> int:
    text = math.ceil(_units(block.text) / RESULT_CHARS_PER_TOKEN)
    return RESULT_TOKENS + text + MEDIA_TOKENS * len(block.media)


def _units(text: str) -> int:
    """Return the UTF-16 length, which OpenClaw counts."""
    # Measured by encoding, since a loop over the characters of a long session takes seconds.
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
