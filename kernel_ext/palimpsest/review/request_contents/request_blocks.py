"""The blocks of a request: of its items as they are shown, or of its rebuilt messages mapped to items."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from palimpsest.review.reconstruction.requests import Rebuilt
from palimpsest.review.request_contents.shown_items import ShownItem, shown_text
from palimpsest.review.timeline.item_texts import RESULT, call_text
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

ROLES: Mapping[str, str] = {
    "system": "system",
    "tools": "system",
    "instructions": "system",
    "assistant": "assistant",
    "reasoning": "assistant",
    "call": "assistant",
    "output": "tool",
}
"""The speaker of each kind of item; the others are the user's."""
UNSEEN = "unseen"
"""Kind of what every request held and the recording does not show."""
UNSEEN_TEXT = "[What every request held and the recording does not show{}.]"
CHARS_PER_TOKEN = 4


def item_blocks(
    timeline: Timeline, shown: Iterable[ShownItem], *, recorded: bool
) -> tuple[RequestItem, ...]:
    """Return one block for each item that is shown."""
    return tuple(_of_item(one, shown_text(timeline, one, recorded=recorded)) for one in shown)


def tokens_beside(system: str, tools: str) -> int:
    """Return the estimated tokens of the system prompt and the tools that came with a recording."""
    return sum(-(-len(one) // CHARS_PER_TOKEN) for one in (tools, system))


def recorded_blocks(system: str, tools: str, tokens: float) -> tuple[RequestItem, ...]:
    """Return the blocks of the tools and the system prompt that came with a recording.

    They are no items of it: ``tokens`` is what every request held beside the items, and they take at most all of it.
    """
    share = min(tokens / (tokens_beside(system, tools) or 1), 1.0)
    return tuple(
        _block("system", kind, text, tokens_beside(text, "") * share)
        for kind, text in (("tools", tools), ("system", system))
        if text
    )


def unseen_blocks(system: str, tools: str, tokens: float) -> tuple[RequestItem, ...]:
    """Return the block of what a recording does not show of ``tokens`` beside the items; none where it shows all."""
    rest = tokens - tokens_beside(system, tools)
    if rest <= 0:
        return ()
    lacking = " and ".join(
        name for name, text in (("system prompt", system), ("tools", tools)) if not text
    )
    text = UNSEEN_TEXT.format(f": {lacking}" if lacking else "")
    return (_block("system", UNSEEN, text, rest),)


def sent_blocks(
    timeline: Timeline, request: int, shown: Sequence[ShownItem], rebuilt: Rebuilt
) -> tuple[tuple[RequestItem, ...], tuple[RequestItem, ...]]:
    """Return the blocks of a rebuilt request, and those of items that are counted and were not sent.

    Tools come first; an item that was sent in several blocks has its tokens shared by their lengths.
    """
    known = {one.item.index: one for one in shown}
    places = _places(timeline, shown)
    found = list(_tools(shown, rebuilt))
    for message in rebuilt.neutral:
        for block, kind, text in _contents(message):
            index = _index(places, timeline, message, block)
            if index is None:
                found.append(_block(message.role, kind, text))
                continue
            # What is pinned is quoted after a summary that replaced it; the replay counts it with that.
            gone = ShownItem(timeline.items[index], timeline.at(index, request), 0)
            found.append(_of_item(known.get(index, gone), text, message.role))
    sent = {one.item for one in found}
    missing = [one for one in shown if one.item.index not in sent]
    return _shared(found), item_blocks(timeline, missing, recorded=True)


def stored_blocks(rebuilt: Rebuilt) -> tuple[RequestItem, ...]:
    """Return the blocks of a request that a hook wrote: it is stored whole, and which items it holds is not known."""
    return tuple(
        _block(role, kind, text)
        for message in rebuilt.request.messages
        for role in (str(message.get("role", "user")),)
        for kind, text in _stored_texts(message, role)
    )


def _stored_texts(message: Mapping[str, Any], role: str) -> Iterator[tuple[str, str]]:
    content = message.get("content")
    for one in content if isinstance(content, list) else [content]:
        text = one.get("text") if isinstance(one, dict) else one
        if isinstance(text, str) and text:
            yield ("output" if role == "tool" else role), text
    for call in message.get("tool_calls") or ():
        about = call.get("function") if isinstance(call, dict) else None
        if isinstance(about, dict):
            yield "call", f"{about.get('name', '')}{about.get('arguments', '')}"


def _block(role: str, kind: str, text: str, tokens: float = 0, **more: Any) -> RequestItem:
    return RequestItem(role=role, kind=kind, text=text, chars=len(text), tokens=tokens, **more)


def _of_item(shown: ShownItem, text: str, role: str = "") -> RequestItem:
    item = shown.item
    return _block(
        role or ROLES.get(item.kind, "user"),
        item.kind,
        text,
        shown.tokens,
        item=item.index,
        state=shown.state,
        name=item.tool,
        words=item.label,
        pinned=item.pinned,
        is_error=item.is_error,
    )


def _tools(shown: Sequence[ShownItem], rebuilt: Rebuilt) -> Iterator[RequestItem]:
    for one in shown:
        if one.item.kind == "tools":
            specs = [spec.model_dump(mode="json") for spec in rebuilt.request.tools]
            yield _of_item(one, json.dumps(specs, ensure_ascii=False))


def _places(timeline: Timeline, shown: Sequence[ShownItem]) -> dict[str, int]:
    """Return the item of each part, each result and each summary's message, by their ids."""
    found: dict[str, int] = {}
    for item in timeline.items:
        found[item.id.removeprefix(f"{item.message}/")] = item.index
        if item.kind == "summary":
            found[item.message] = item.index
    system = next((one.item.index for one in shown if one.item.kind == "system"), None)
    return found if system is None else {**found, "system": system}


def _index(
    places: Mapping[str, int], timeline: Timeline, message: NeutralMessage, block: Block
) -> int | None:
    if message.role == "system":
        return places.get("system")
    if (summary := places.get(message.message_id or "")) is not None:
        return summary
    part = block.part_id or ""
    if isinstance(block, ResultBlock):
        return places.get(part + RESULT)
    found = places.get(part)
    is_quoted = found is not None and timeline.items[found].kind == "call"
    if is_quoted and not isinstance(block, CallBlock):
        return places.get(part + RESULT)  # a pinned result that is quoted after a summary
    return found if found is not None else places.get(part + RESULT)


def _contents(message: NeutralMessage) -> Iterator[tuple[Block, str, str]]:
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


def _shared(blocks: Sequence[RequestItem]) -> tuple[RequestItem, ...]:
    """Return the blocks with the tokens of an item that has several shared among them."""
    chars: dict[int | None, int] = {}
    for one in blocks:
        chars[one.item] = chars.get(one.item, 0) + one.chars + 1
    return tuple(
        one
        if one.item is None
        else one.model_copy(update={"tokens": one.tokens * (one.chars + 1) / chars[one.item]})
        for one in blocks
    )
