"""Remove thinking from answers, for models to which it must not be sent back.

The newest version of OpenClaw keeps the latest answer's thinking, which a model needs while it calls
tools; the older version drops that too, but keeps encrypted thinking (``redacted_thinking``).
"""

from palimpsest.context.conversion.part_conversion import is_redacted
from palimpsest.context.message_repair.message_blocks import same_if_unchanged
from palimpsest.transcript.context_values.neutral_messages import (
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    TextBlock,
)

OMITTED = "[assistant reasoning omitted]"
"""Replaces an answer that was thinking only, since providers refuse an empty text."""


def drop_thinking(
    messages: NeutralMessages,
    *,
    keep_latest: bool = True,
    keep_redacted: bool = False,
    replacement_text: str = OMITTED,
) -> NeutralMessages:
    """Remove thinking from every answer; with ``keep_latest`` not from the latest.

    With ``keep_redacted`` blocks of the type ``redacted_thinking`` stay.
    """
    latest_answer_index = max(
        (index for index, message in enumerate(messages) if message.role == "assistant"), default=-1
    )
    reduced_messages = tuple(
        message
        if message.role != "assistant" or (keep_latest and index == latest_answer_index)
        else _without_thinking(message, replacement_text, keep_redacted=keep_redacted)
        for index, message in enumerate(messages)
    )
    return same_if_unchanged(reduced_messages, messages)


def _without_thinking(
    message: NeutralMessage, replacement_text: str, *, keep_redacted: bool
) -> NeutralMessage:
    blocks = tuple(
        block
        for block in message.blocks
        if not isinstance(block, ReasoningBlock) or (keep_redacted and is_redacted(block.metadata))
    )
    if len(blocks) == len(message.blocks):
        return message
    return message.model_copy(update={"blocks": blocks or (TextBlock(text=replacement_text),)})
