"""Convert a request's blocks into provider-neutral messages, and into a request body in OpenAI's form."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.review.request_contents.request_blocks import UNSEEN_KIND
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import ModelInfo, ModelRef

Role = Literal["system", "user", "assistant", "tool"]
_ROLE_OF_KIND: Mapping[str, Role] = {"system": "system", "assistant": "assistant", "tool": "tool"}


def neutral_messages_of(
    timeline: Timeline, blocks: Sequence[RequestItem], system: str = ""
) -> NeutralMessages:
    """Return a request's blocks as messages: adjacent blocks of one provider message and role form one message."""
    system_blocks = (TextBlock(text=system),) if system else ()
    item_blocks = [
        block
        for block in blocks
        if block.kind not in ("tools", UNSEEN_KIND) and block.item is not None
    ]
    blocks_by_message = groupby(
        item_blocks, key=lambda block: (timeline.items[block.item or 0].block, block.role)
    )
    return (
        *(NeutralMessage(role="system", blocks=(block,)) for block in system_blocks),
        *(
            NeutralMessage(
                role=_ROLE_OF_KIND.get(role, "user"),
                blocks=tuple(_neutral_block(timeline, block) for block in group),
            )
            for (_, role), group in blocks_by_message
        ),
    )


def _neutral_block(timeline: Timeline, block: RequestItem) -> Block:
    item, text = timeline.items[block.item or 0], block.text
    call_id, tool = item.group, item.tool
    match block.kind:
        case "call" if block.state == "whole":
            return CallBlock(call_id=call_id, tool=tool, input=_call_input(text, tool))
        case "output":
            return ResultBlock(call_id=call_id, tool=tool, text=text, is_error=item.is_error)
        case "reasoning":
            return ReasoningBlock(text=text)
        case _:
            return TextBlock(text=text)


def _call_input(text: str, tool: str) -> dict[str, Any]:
    """Return the input of a call from its text, which consists of its tool and its input as JSON."""
    try:
        call_input = json_value(text.removeprefix(tool))
    except ValueError:
        return {}
    return call_input if isinstance(call_input, dict) else {}


def body_of(
    messages: NeutralMessages, model: str, tools: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the body of a request: model, messages in OpenAI's form, and tools as stored."""
    provider, slash, name = model.partition("/")
    ref = ModelRef(provider=provider if slash else "openai", name=name if slash else model)
    info = ModelInfo(ref=ref, window=0, output_limit=0, vision=True)
    return {
        "model": model,
        "messages": list(to_provider(messages, info)),
        "tools": [dict(tool) for tool in tools],
    }
