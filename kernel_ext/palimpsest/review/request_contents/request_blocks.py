"""The blocks of a request: one for each shown item, or one for each part of its rebuilt messages, with its item where it is known."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from palimpsest.recordings.timeline.item_texts import RESULT_SUFFIX, call_text
from palimpsest.review.request_contents.shown_items import ShownItem, shown_text
from palimpsest.review.request_contents.tool_definitions import tool_definitions
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from palimpsest.recordings.reconstruction.requests import Rebuilt

ROLE_OF_KIND: Mapping[str, str] = {
    "system": "system",
    "tools": "system",
    "instructions": "system",
    "assistant": "assistant",
    "reasoning": "assistant",
    "call": "assistant",
    "output": "tool",
}
"""The role of each kind of item; other kinds have the role ``user``."""
UNSEEN_KIND = "unseen"
"""Kind of the block for tokens that the recording does not show."""
UNSEEN_TEXT = "[What every request held and the recording does not show{}.]"


def item_blocks(
    timeline: Timeline, shown_items: Iterable[ShownItem], *, is_recorded: bool
) -> tuple[RequestItem, ...]:
    """Return a block for each shown item, and for each tool definition."""
    blocks: list[RequestItem] = []
    for shown_item in shown_items:
        text = shown_text(timeline, shown_item, is_recorded=is_recorded)
        blocks.extend(_blocks_of_item(shown_item, text))
    return _divide_tokens(blocks)


def _blocks_of_item(shown_item: ShownItem, text: str) -> Iterator[RequestItem]:
    """Yield the block of an item; of tools one for each definition, each with the tokens of all."""
    definitions = tool_definitions(text) if shown_item.item.kind == "tools" else ()
    if not definitions:
        yield _block_of_item(shown_item, text)
    for tool in definitions:
        block = _block_of_item(shown_item, tool.text)
        yield block.model_copy(update={"name": tool.name, "words": tool.words})


def separate_tokens(system: str, tools: str) -> int:
    """Return the estimated tokens of a recording's separate system prompt and tools."""
    return sum(-(-len(text) // CHARS_PER_TOKEN) for text in (tools, system))


def recorded_blocks(system: str, tools: str, tokens: float) -> tuple[RequestItem, ...]:
    """Return the blocks of a recording's separate tools and system prompt.

    They are no items of the timeline: ``tokens`` are the tokens of every request besides its items, of which the blocks
    together have at most all.
    """
    share = min(tokens / (separate_tokens(system, tools) or 1), 1.0)
    blocks = [*_separate_tools(tools, separate_tokens("", tools) * share)]
    if system:
        blocks.append(_new_block("system", "system", system, separate_tokens(system, "") * share))
    return tuple(blocks)


def _separate_tools(tools: str, tokens: float) -> Iterator[RequestItem]:
    """Yield a block for each definition of a recording's separate tools, or one for a text that has none."""
    definitions = tool_definitions(tools)
    total_chars = sum(len(tool.text) + 1 for tool in definitions)
    for tool in definitions:
        tool_tokens = tokens * (len(tool.text) + 1) / total_chars
        yield _new_block(
            "system", "tools", tool.text, tool_tokens, name=tool.name, words=tool.words
        )
    if tools and not definitions:
        yield _new_block("system", "tools", tools, tokens)


def unseen_blocks(system: str, tools: str, tokens: float) -> tuple[RequestItem, ...]:
    """Return the block for the remaining ``tokens``, which the recording does not show; none where it shows all."""
    remaining_tokens = tokens - separate_tokens(system, tools)
    if remaining_tokens <= 0:
        return ()
    missing_text = " and ".join(
        name
        for name, text_of_part in (("system prompt", system), ("tools", tools))
        if not text_of_part
    )
    text = UNSEEN_TEXT.format(f": {missing_text}" if missing_text else "")
    return (_new_block("system", UNSEEN_KIND, text, remaining_tokens),)


def sent_blocks(
    timeline: Timeline, request: int, shown_items: Sequence[ShownItem], rebuilt: "Rebuilt"
) -> tuple[tuple[RequestItem, ...], tuple[RequestItem, ...]]:
    """Return a rebuilt request's blocks, tools first, and the blocks of counted items that were not sent."""
    shown_by_index = {shown_item.item.index: shown_item for shown_item in shown_items}
    index_by_id = _index_by_id(timeline, shown_items)
    specs = [spec.model_dump(mode="json") for spec in rebuilt.request.tools]
    tools_text = json.dumps(specs, ensure_ascii=False)
    blocks = [
        block
        for shown_item in shown_items
        if shown_item.item.kind == "tools"
        for block in _blocks_of_item(shown_item, tools_text)
    ]
    for message in rebuilt.neutral:
        for block, kind, text in _block_contents(message):
            index = _item_index(index_by_id, timeline, message, block)
            if index is None:
                blocks.append(_new_block(message.role, kind, text))
                continue
            # Pinned items are quoted after the summary that replaced them; the replay counts them with the summary.
            uncounted_item = ShownItem(
                timeline.items[index], timeline.transition_at(index, request), 0
            )
            blocks.append(
                _block_of_item(shown_by_index.get(index, uncounted_item), text, message.role)
            )
    sent_items = {sent_block.item for sent_block in blocks}
    missing_items = [
        shown_item for shown_item in shown_items if shown_item.item.index not in sent_items
    ]
    return _divide_tokens(blocks), item_blocks(timeline, missing_items, is_recorded=True)


def stored_blocks(rebuilt: "Rebuilt") -> tuple[RequestItem, ...]:
    """Return the blocks of a request that a hook wrote: it is stored whole, and its items are not known."""
    return tuple(
        block for message in rebuilt.request.messages for block in _blocks_of_message(message)
    )


def _blocks_of_message(message: Mapping[str, Any]) -> Iterator[RequestItem]:
    role, content = str(message.get("role", "user")), message.get("content")
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str) and text:
            yield _new_block(role, "output" if role == "tool" else role, text)
    for call in message.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            text = f"{function.get('name', '')}{function.get('arguments', '')}"
            yield _new_block(role, "call", text)


def _new_block(role: str, kind: str, text: str, tokens: float = 0, **fields: Any) -> RequestItem:
    return RequestItem(role=role, kind=kind, text=text, chars=len(text), tokens=tokens, **fields)


def _block_of_item(shown_item: ShownItem, text: str, role: str = "") -> RequestItem:
    item = shown_item.item
    return _new_block(
        role or ROLE_OF_KIND.get(item.kind, "user"),
        item.kind,
        text,
        shown_item.tokens,
        item=item.index,
        state=shown_item.state,
        name=item.tool,
        words=item.label,
        pinned=item.pinned,
        is_error=item.is_error,
    )


def _index_by_id(timeline: Timeline, shown_items: Sequence[ShownItem]) -> dict[str, int]:
    """Return the item index of each part, each result and each summary's message, by their ids."""
    index_by_id: dict[str, int] = {}
    for item in timeline.items:
        index_by_id[item.id.removeprefix(f"{item.message}/")] = item.index
        if item.kind == "summary":
            index_by_id[item.message] = item.index
    system_index = next(
        (shown_item.item.index for shown_item in shown_items if shown_item.item.kind == "system"),
        None,
    )
    return index_by_id if system_index is None else {**index_by_id, "system": system_index}


def _item_index(
    index_by_id: Mapping[str, int], timeline: Timeline, message: NeutralMessage, block: Block
) -> int | None:
    if message.role == "system":
        return index_by_id.get("system")
    if (summary_index := index_by_id.get(message.message_id or "")) is not None:
        return summary_index
    part_id = block.part_id or ""
    index = None if isinstance(block, ResultBlock) else index_by_id.get(part_id)
    is_call = index is not None and timeline.items[index].kind == "call"
    # Another block with the id of a call is its pinned result, quoted after a summary.
    if index is None or (is_call and not isinstance(block, CallBlock)):
        return index_by_id.get(part_id + RESULT_SUFFIX)
    return index


def _block_contents(message: NeutralMessage) -> Iterator[tuple[Block, str, str]]:
    """Yield each block of a message with its kind and its text."""
    for block in message.blocks:
        match block:
            case TextBlock():
                yield block, block.kind or message.role, block.text
            case ReasoningBlock():
                yield block, "reasoning", block.text
            case ResultBlock():
                yield block, "output", block.text
            case MediaBlock():
                yield block, "media", block.filename or block.mime
            case CallBlock():
                yield block, "call", call_text(block.tool, block.input)
            case _:
                assert_never(block)


def _divide_tokens(blocks: Sequence[RequestItem]) -> tuple[RequestItem, ...]:
    """Return the blocks with the tokens of an item divided among its blocks."""
    chars_by_item: Counter[int | None] = Counter()
    for block in blocks:
        chars_by_item[block.item] += block.chars + 1

    def with_share(block: RequestItem) -> RequestItem:
        tokens = block.tokens * (block.chars + 1) / chars_by_item[block.item]
        return block.model_copy(update={"tokens": tokens})

    return tuple(block if block.item is None else with_share(block) for block in blocks)
