"""Add up the tokens of a request by kind: system, tools, user, assistant, output and others.

Border: pure arithmetic over tokens that were counted already. The kinds add up to the estimate
of the whole request, so that a gauge drawn from them agrees with the number beside it.
"""

from collections.abc import Sequence, Set

from palimpsest.context.budget.token_estimate import MESSAGE_TOKENS
from palimpsest.context.engine_text.system_prompt import shared_among_sections
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    MediaBlock,
    NeutralMessage,
    TextBlock,
)

KINDS = (
    "system",
    "tools",
    "instructions",
    "summary",
    "user",
    "notebook",
    "assistant",
    "reasoning",
    "output",
)
"""In the order in which a gauge draws them."""


def tokens_by_kind(
    messages: Sequence[NeutralMessage],
    weights: Sequence[Sequence[int]],
    tools_tokens: int,
    summaries: Set[str],
) -> dict[str, int]:
    """Add up the tokens of each message's blocks; ``summaries`` are messages of compactions."""
    found = dict.fromkeys(KINDS, 0)
    found["tools"] = tools_tokens
    for message, weighed in zip(messages, weights, strict=True):
        frame = "summary" if message.message_id in summaries else _speaker(message)
        found[frame] += MESSAGE_TOKENS
        for block, tokens in zip(message.blocks, weighed, strict=True):
            if message.role == "system" and isinstance(block, TextBlock):
                for section, share in shared_among_sections(block.text, tokens):
                    found[section.kind] += share
            elif block.type == "reasoning" or block.type == "result":
                found[kind_of(message, block, summaries)] += tokens
            else:
                found[_own_kind(block) or frame] += tokens
    return {kind: tokens for kind, tokens in found.items() if tokens}


def kind_of(message: NeutralMessage, block: Block | None, summaries: Set[str]) -> str:
    """Return the kind of a block; without one, that of the message's overhead."""
    if message.message_id in summaries:
        return "summary"
    if block is not None and (own := _own_kind(block)):
        return own
    kind = block.type if block is not None else ""
    if kind == "reasoning":
        return "reasoning"
    return "output" if kind == "result" else _speaker(message)


def _own_kind(block: Block) -> str | None:
    return block.kind if isinstance(block, TextBlock | MediaBlock) else None


def _speaker(message: NeutralMessage) -> str:
    return "output" if message.role == "tool" else message.role
