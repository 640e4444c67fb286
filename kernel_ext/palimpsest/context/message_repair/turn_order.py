"""Put messages into the order of roles that providers demand.

Gemini and Anthropic refuse two assistant messages, or two user messages, in a row; Gemini also a first
message by the assistant. Nothing is lost: messages are merged, not dropped.
"""

from collections.abc import Iterable, Sequence

from palimpsest.context.message_repair.message_blocks import (
    calls_of,
    has_thinking,
    is_failed,
    is_result,
    merge_neighbours,
    same_if_unchanged,
    with_blocks,
)
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

BOOTSTRAP = "(session bootstrap)"
"""The user message that OpenClaw puts before a first message by the assistant."""
CALLS_OMITTED = "[tool calls omitted]"
ALLOWED_BLOCKS: dict[str, tuple[type, ...]] = {
    "system": (TextBlock,),
    "user": (TextBlock, MediaBlock),
    "assistant": (TextBlock, ReasoningBlock, CallBlock),
    "tool": (ResultBlock,),
}
"""The types of blocks that a message of each role may contain."""
KEPT_FROM_LATER = ("usage", "error")
"""Metadata of merged assistant messages that is taken from the later one."""


def merge_answers(messages: NeutralMessages, *, keep_plain: bool = True) -> NeutralMessages:
    """Merge assistant messages that follow each other."""
    return merge_neighbours(
        messages, "assistant", lambda a, b: _merged_answer(a, b, keep_plain=keep_plain)
    )


def merge_questions(messages: NeutralMessages, *, keep_plain: bool = True) -> NeutralMessages:
    """Merge user messages that follow each other.

    Without ``keep_plain`` content given as one string is lost, a defect of OpenClaw that its preset keeps.
    """
    return merge_neighbours(
        messages, "user", lambda a, b: _merged_question(a, b, keep_plain=keep_plain)
    )


def _merged_answer(
    earlier: NeutralMessage, later: NeutralMessage, *, keep_plain: bool
) -> NeutralMessage:
    later_metadata = later.metadata or {}
    fields = {name: value for name in KEPT_FROM_LATER if (value := later_metadata.get(name))}
    update = {
        "blocks": _mergeable_blocks(earlier, keep_plain=keep_plain)
        + _mergeable_blocks(later, keep_plain=keep_plain),
        "plain": False,
        "stop": later.stop or (None if earlier.stop == "paused" else earlier.stop),
        "metadata": ((earlier.metadata or {}) | fields) or earlier.metadata,
    }
    return earlier.model_copy(update=update)


def _merged_question(
    earlier: NeutralMessage, later: NeutralMessage, *, keep_plain: bool
) -> NeutralMessage:
    metadata = earlier.metadata or {}
    timestamp = {"timestamp": metadata["timestamp"]} if "timestamp" in metadata else {}
    update = {
        "blocks": _mergeable_blocks(earlier, keep_plain=keep_plain)
        + _mergeable_blocks(later, keep_plain=keep_plain),
        "plain": False,
        "metadata": (timestamp | (later.metadata or {})) or later.metadata,
    }
    return later.model_copy(update=update)


def _mergeable_blocks(message: NeutralMessage, *, keep_plain: bool) -> tuple[Block, ...]:
    return () if message.plain and not keep_plain else message.blocks


def user_first(messages: NeutralMessages, opening_text: str = BOOTSTRAP) -> NeutralMessages:
    """Put a user message before a history that begins with an assistant message."""
    if not messages or messages[0].role != "assistant":
        return messages
    opening = NeutralMessage(role="user", blocks=(TextBlock(text=opening_text),), plain=True)
    return (opening, *messages)


def user_last(messages: NeutralMessages, closing_text: str) -> NeutralMessages:
    """Append a user message after a final assistant message, since many models refuse to continue one.

    A paused answer stays last, since the provider continues exactly that.
    """
    if not messages or messages[-1].role != "assistant" or messages[-1].stop == "paused":
        return messages
    return (*messages, NeutralMessage(role="user", blocks=(TextBlock(text=closing_text),)))


def system_first(messages: NeutralMessages) -> NeutralMessages:
    """Put system messages before all others."""
    system_messages = tuple(message for message in messages if message.role == "system")
    if messages[: len(system_messages)] == system_messages:
        return messages
    return system_messages + tuple(message for message in messages if message.role != "system")


def with_allowed_blocks(messages: NeutralMessages) -> NeutralMessages:
    """Remove blocks that a message of its role cannot contain, such as a call by the user."""
    allowed_messages = tuple(_only_allowed_blocks(message) for message in messages)
    return same_if_unchanged(allowed_messages, messages)


def _only_allowed_blocks(message: NeutralMessage) -> NeutralMessage:
    allowed_types = ALLOWED_BLOCKS[message.role]
    blocks = tuple(block for block in message.blocks if isinstance(block, allowed_types))
    return with_blocks(message, blocks)


def without_empty_messages(messages: NeutralMessages) -> NeutralMessages:
    """Remove messages with only thinking and blank text, which providers refuse."""
    return same_if_unchanged(
        tuple(message for message in messages if any(map(_has_content, message.blocks))), messages
    )


def _has_content(block: Block) -> bool:
    match block:
        case TextBlock(text=text):
            return bool(text.strip())
        case ReasoningBlock():
            return False
        case _:
            return True


def drop_dangling_calls(messages: NeutralMessages) -> NeutralMessages:
    """Remove calls without a result before the next answer; an answer with thinking loses all its blocks then."""
    next_answer_indexes = _next_answer_indexes(messages)
    kept_messages = tuple(
        _with_open_calls_dropped(message, messages[index + 1 : next_answer_indexes[index]])
        if message.role == "assistant"
        else message
        for index, message in enumerate(messages)
    )
    return same_if_unchanged(kept_messages, messages)


def _next_answer_indexes(messages: NeutralMessages) -> list[int]:
    """Return for each position the position of the next assistant message."""
    indexes = [len(messages)] * len(messages)
    next_index = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        indexes[index] = next_index
        if messages[index].role == "assistant":
            next_index = index
    return indexes


def _with_open_calls_dropped(
    message: NeutralMessage, next_messages: Sequence[NeutralMessage]
) -> NeutralMessage:
    if not calls_of(message):
        return message
    calls = [block for block in message.blocks if isinstance(block, CallBlock)]
    has_thinking_block = has_thinking(message)
    results = list(_result_blocks(next_messages, are_embedded=not has_thinking_block))
    dangling_calls = [
        call for call in calls if not _has_result(call, results, by_name=has_thinking_block)
    ]
    if not dangling_calls:
        return message
    blocks = (
        () if has_thinking_block else tuple(b for b in message.blocks if b not in dangling_calls)
    )
    if not blocks and not is_failed(message):
        blocks = (TextBlock(text=CALLS_OMITTED),)
    return message.model_copy(update={"blocks": blocks})


def _result_blocks(
    next_messages: Iterable[NeutralMessage], *, are_embedded: bool
) -> Iterable[ResultBlock]:
    for message in next_messages:
        if is_result(message) or are_embedded:
            yield from (block for block in message.blocks if isinstance(block, ResultBlock))


def _has_result(call: CallBlock, results: Iterable[ResultBlock], *, by_name: bool) -> bool:
    return any(
        result.call_id == call.call_id
        and (not by_name or result.tool.strip() in {"", call.tool.strip()})
        for result in results
    )
