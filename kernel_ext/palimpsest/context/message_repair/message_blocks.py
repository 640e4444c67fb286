"""What a repair of tool calls and their results gives back, and small looks at messages it needs.

Pure. A repair never loses silently: what it adds and what it discards is in its report.
"""

from dataclasses import dataclass
from typing import TypeVar

from palimpsest.context.conversion.part_conversion import is_signed
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    FlatMessage,
    FlatMessages,
    ReasoningBlock,
    ResultBlock,
)

FAILED_STOPS = frozenset({"error", "aborted"})
UNKNOWN_TOOL = "unknown"
RECORDED_MISSING = (
    "[openclaw] missing tool result in session history; inserted synthetic error result "
    "for transcript repair."
)
"""What the recorded agent puts where a result is missing: known so that a real result can replace it."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Messages in which calls and results belong together, and what was done for it."""

    messages: FlatMessages
    """The very same value when nothing had to be done."""
    changed: bool = False
    added: tuple[ResultBlock, ...] = ()
    """Results written for calls that had none."""
    discarded: tuple[FlatMessage, ...] = ()
    duplicates: int = 0
    """Results discarded because their call had one."""
    orphans: int = 0
    """Results discarded because nobody had called."""


T = TypeVar("T")


def settled(new: tuple[T, ...], old: tuple[T, ...]) -> tuple[T, ...]:
    """Return the old tuple itself where the new one holds the very same things."""
    same = len(new) == len(old) and all(one is other for one, other in zip(new, old, strict=True))
    return old if same else new


def with_blocks(message: FlatMessage, blocks: tuple[Block, ...]) -> FlatMessage:
    """Return the message with these blocks; itself where they are the very same."""
    if settled(blocks, message.blocks) is message.blocks:
        return message
    return message.model_copy(update={"blocks": blocks})


def calls_of(message: FlatMessage) -> tuple[CallBlock, ...]:
    """Return the calls that a result can name; a call without an id is none of them."""
    if message.role != "assistant":
        return ()
    return tuple(
        block for block in message.blocks if isinstance(block, CallBlock) and block.call_id
    )


def failed(message: FlatMessage) -> bool:
    """Say whether this answer ended in an error or was stopped."""
    return message.stop in FAILED_STOPS


def thinks(message: FlatMessage) -> bool:
    """Say whether the message holds thinking."""
    return any(isinstance(block, ReasoningBlock) for block in message.blocks)


def is_signed_thinking(message: FlatMessage) -> bool:
    """Say whether the message holds thinking that its provider signed."""
    return any(
        isinstance(block, ReasoningBlock) and is_signed(block.metadata) for block in message.blocks
    )


def is_result(message: FlatMessage) -> bool:
    """Say whether this is a message with the result of a call."""
    return message.role == "tool"


def result_of(message: FlatMessage) -> ResultBlock | None:
    """Return the result in a message that holds one result, as they do after ``spread``."""
    return next((block for block in message.blocks if isinstance(block, ResultBlock)), None)


def spread(messages: FlatMessages) -> FlatMessages:
    """Give each result a message of its own."""
    if all(message.role != "tool" or len(message.blocks) == 1 for message in messages):
        return messages
    return tuple(
        one
        for message in messages
        for one in (
            (message.model_copy(update={"blocks": (block,)}) for block in message.blocks)
            if message.role == "tool"
            else (message,)
        )
    )


def gather(messages: FlatMessages) -> FlatMessages:
    """Put results that follow each other into one message, as ``convert`` writes them."""
    gathered: list[FlatMessage] = []
    for message in messages:
        last = gathered[-1] if gathered else None
        if last is not None and last.role == message.role == "tool":
            gathered[-1] = last.model_copy(update={"blocks": last.blocks + message.blocks})
        else:
            gathered.append(message)
    return tuple(gathered)
