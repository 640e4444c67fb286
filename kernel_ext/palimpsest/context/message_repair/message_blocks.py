"""The report that a repair of tool calls and results returns, and small helpers for reading messages.

Pure. A repair loses nothing silently: its report lists everything that it adds and discards.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from palimpsest.context.conversion.part_conversion import is_signed
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
)

FAILED_STOPS = frozenset({"error", "aborted"})
"""Stop reasons of a failed answer."""
UNKNOWN_TOOL = "unknown"
RECORDED_MISSING = (
    "[openclaw] missing tool result in session history; inserted synthetic error result "
    "for transcript repair."
)
"""OpenClaw's text for a missing result, by which a synthetic result is recognised."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """Messages with paired calls and results, and the changes that were made to pair them."""

    messages: NeutralMessages
    """The same object as before where nothing changed."""
    is_changed: bool = False
    added_results: tuple[ResultBlock, ...] = ()
    """Results written for calls that had none."""
    discarded_messages: tuple[NeutralMessage, ...] = ()
    duplicate_count: int = 0
    """Number of results discarded because their call already had a result."""
    orphans: int = 0
    """Number of results discarded because they belong to no call."""


T = TypeVar("T")


def same_if_unchanged(new_items: tuple[T, ...], old_items: tuple[T, ...]) -> tuple[T, ...]:
    """Return the old tuple itself where the new one holds the same objects."""
    is_same = len(new_items) == len(old_items) and all(
        new_item is old_item for new_item, old_item in zip(new_items, old_items, strict=True)
    )
    return old_items if is_same else new_items


def with_blocks(message: NeutralMessage, blocks: tuple[Block, ...]) -> NeutralMessage:
    """Return the message with these blocks; the message itself where they are the same objects."""
    if same_if_unchanged(blocks, message.blocks) is message.blocks:
        return message
    return message.model_copy(update={"blocks": blocks})


def all_calls(messages: NeutralMessages) -> list[CallBlock]:
    """Return the calls in messages, in order."""
    blocks = (block for message in messages for block in message.blocks)
    return [block for block in blocks if isinstance(block, CallBlock)]


def calls_of(message: NeutralMessage) -> tuple[CallBlock, ...]:
    """Return the calls that a result can name; calls without an id are left out."""
    if message.role != "assistant":
        return ()
    return tuple(
        block for block in message.blocks if isinstance(block, CallBlock) and block.call_id
    )


def is_failed(message: NeutralMessage) -> bool:
    """Return whether this answer ended in an error or was stopped."""
    return message.stop in FAILED_STOPS


def has_thinking(message: NeutralMessage) -> bool:
    """Return whether the message holds thinking."""
    return any(isinstance(block, ReasoningBlock) for block in message.blocks)


def holds_signed_thinking(message: NeutralMessage) -> bool:
    """Return whether the message holds thinking that its provider signed."""
    return any(
        isinstance(block, ReasoningBlock) and is_signed(block.metadata) for block in message.blocks
    )


def is_result(message: NeutralMessage) -> bool:
    """Return whether this is a message with the result of a call."""
    return message.role == "tool"


def result_of(message: NeutralMessage) -> ResultBlock | None:
    """Return the result in a message; after ``one_result_per_message`` a tool message has exactly one."""
    return next((block for block in message.blocks if isinstance(block, ResultBlock)), None)


def stand_in(call: CallBlock, text: str) -> ResultBlock:
    """Return an error in place of the result that a call lacks."""
    tool = call.tool or UNKNOWN_TOOL
    return ResultBlock(
        call_id=call.call_id, tool=tool, text=text, is_error=True, part_id=call.part_id
    )


def one_result_per_message(messages: NeutralMessages) -> NeutralMessages:
    """Put each result into a separate message."""
    if all(message.role != "tool" or len(message.blocks) == 1 for message in messages):
        return messages
    split_messages: list[NeutralMessage] = []
    for message in messages:
        copies = (message.model_copy(update={"blocks": (block,)}) for block in message.blocks)
        split_messages += copies if message.role == "tool" else (message,)
    return tuple(split_messages)


def results_joined(messages: NeutralMessages) -> NeutralMessages:
    """Put results that follow each other into one message, as ``neutral_messages`` writes them."""
    return merge_neighbours(
        messages, "tool", lambda a, b: a.model_copy(update={"blocks": a.blocks + b.blocks})
    )


def merge_neighbours(
    messages: NeutralMessages,
    role: str,
    merge: Callable[[NeutralMessage, NeutralMessage], NeutralMessage],
) -> NeutralMessages:
    """Merge the messages of a role that follow each other; without any, returns the messages themselves."""
    merged: list[NeutralMessage] = []
    for message in messages:
        if merged and message.role == merged[-1].role == role:
            merged[-1] = merge(merged[-1], message)
        else:
            merged.append(message)
    return messages if len(merged) == len(messages) else tuple(merged)
