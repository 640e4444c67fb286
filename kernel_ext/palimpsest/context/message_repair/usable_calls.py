"""Remove tool calls that no provider would accept: without input, id or a usable name.

Such calls come from imported sessions, and from models that stop in the middle of a call. Thinking
that its provider signed is sent back unchanged or not at all, never in part.
"""

import itertools
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from palimpsest.context.message_repair.frame_pairing import answered_calls
from palimpsest.context.message_repair.message_blocks import (
    UNKNOWN_TOOL,
    all_calls,
    has_thinking,
    same_if_unchanged,
    with_blocks,
)
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)

MAX_NAME_CHARS = 64
"""The longest name of a function that the providers document."""
LENIENT_NAME = re.compile(r"[A-Za-z0-9_:.\-]+")
REFUSED_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
STRICT_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class UsableCalls:
    """Messages with usable calls only, and the number of removed calls and messages."""

    messages: NeutralMessages
    dropped_calls: int = 0
    dropped_messages: int = 0


@dataclass(frozen=True, slots=True)
class UsableCallRule:
    """Which calls are usable."""

    strict_names: bool = False
    """Whether a name may have no padding, no colon and no dot (as in OpenClaw of early 2026)."""
    offered_tools: Collection[str] = ()
    """The offered tools; empty for any tool."""
    keep_answered: bool = True
    """Whether a call with a result stays even where its tool is no longer offered."""
    whole_thinking: bool = False
    """Whether an answer with thinking and calls is sent back whole or not at all."""


def with_ids(messages: NeutralMessages) -> NeutralMessages:
    """Give an id to calls that came without one."""
    calls = all_calls(messages)
    if all(block.call_id.strip() for block in calls):
        return messages
    taken_ids = {block.call_id for block in calls}
    numbered_ids = (f"call_{number}" for number in itertools.count(1))
    free_ids = (name for name in numbered_ids if name not in taken_ids)

    def with_id(block: CallBlock) -> CallBlock:
        if block.call_id.strip():
            return block
        return block.model_copy(update={"call_id": next(free_ids)})

    return _with_changed_calls(messages, with_id)


def with_accepted_names(messages: NeutralMessages) -> NeutralMessages:
    """Rewrite the names of tools in the characters that every provider accepts."""

    def renamed(block: CallBlock) -> CallBlock:
        name = REFUSED_IN_NAME.sub("_", block.tool.strip())[:MAX_NAME_CHARS] or UNKNOWN_TOOL
        return block if name == block.tool else block.model_copy(update={"tool": name})

    return _with_changed_calls(messages, renamed)


def with_called_names(messages: NeutralMessages) -> NeutralMessages:
    """Give each result the tool name of its call; expects calls and results in pairs."""
    tool_by_call_id = {block.call_id: block.tool for block in all_calls(messages)}
    named_messages = tuple(_named_as_called(message, tool_by_call_id) for message in messages)
    return same_if_unchanged(named_messages, messages)


def _named_as_called(message: NeutralMessage, tool_by_call_id: dict[str, str]) -> NeutralMessage:
    blocks = tuple(
        block.model_copy(update={"tool": tool_by_call_id[block.call_id]})
        if isinstance(block, ResultBlock)
        and tool_by_call_id.get(block.call_id, block.tool) != block.tool
        else block
        for block in message.blocks
    )
    return with_blocks(message, blocks)


def _with_changed_calls(
    messages: NeutralMessages, change: Callable[[CallBlock], CallBlock]
) -> NeutralMessages:
    changed_messages: list[NeutralMessage] = []
    for message in messages:
        blocks = tuple(
            change(block) if isinstance(block, CallBlock) else block for block in message.blocks
        )
        changed_messages.append(with_blocks(message, blocks))
    return same_if_unchanged(tuple(changed_messages), messages)


def repair_calls(messages: NeutralMessages, rule: UsableCallRule) -> UsableCalls:
    """Remove unusable calls, and messages that become empty."""
    needs_answers = bool(rule.offered_tools) and rule.keep_answered
    repair = _CallRepair(rule, answered_calls(messages) if needs_answers else frozenset())
    repaired_messages = tuple(
        usable for message in messages if (usable := repair.repaired_message(message)) is not None
    )
    if same_if_unchanged(repaired_messages, messages) is messages:
        return UsableCalls(messages)
    return UsableCalls(repaired_messages, repair.dropped_calls, repair.dropped_messages)


class _CallRepair:
    """Removes the unusable calls of messages, and counts them."""

    def __init__(self, rule: UsableCallRule, answered_identities: frozenset[int]) -> None:
        self._rule = rule
        self._answered_ids = answered_identities
        self._offered_names = {name.strip().lower() for name in rule.offered_tools}
        self._claimed_ids: set[str] = set()
        self.dropped_calls = 0
        self.dropped_messages = 0

    def repaired_message(self, message: NeutralMessage) -> NeutralMessage | None:
        """Return the message with its usable calls; None where nothing is left."""
        if message.role == "system" and not message.blocks and not self._rule.strict_names:
            return None
        calls = [block for block in message.blocks if isinstance(block, CallBlock)]
        if message.role != "assistant" or not calls:
            return message
        if self._rule.whole_thinking and has_thinking(message):
            return self._whole_or_none(message, calls)
        blocks = tuple(
            usable for block in message.blocks if (usable := self._usable_block(block)) is not None
        )
        self._claimed_ids.update(block.call_id for block in blocks if isinstance(block, CallBlock))
        if not blocks:
            self.dropped_messages += 1
            return None
        return with_blocks(message, blocks)

    def _whole_or_none(
        self, message: NeutralMessage, calls: list[CallBlock]
    ) -> NeutralMessage | None:
        identifiers = [call.call_id for call in calls]
        is_usable = all(self._is_usable(call) and call.tool == call.tool.strip() for call in calls)
        is_unique = len(set(identifiers)) == len(identifiers)
        if is_usable and is_unique and self._claimed_ids.isdisjoint(identifiers):
            self._claimed_ids.update(identifiers)
            return message
        self.dropped_calls += len(calls)
        self.dropped_messages += 1
        return None

    def _usable_block(self, block: Block) -> Block | None:
        if not isinstance(block, CallBlock):
            return block
        if not self._is_usable(block):
            self.dropped_calls += 1
            return None
        name = block.tool.strip()
        return block if name == block.tool else block.model_copy(update={"tool": name})

    def _is_usable(self, call: CallBlock) -> bool:
        if call.incomplete or not call.call_id.strip():
            return False
        name = call.tool if self._rule.strict_names else call.tool.strip()
        pattern = STRICT_NAME if self._rule.strict_names else LENIENT_NAME
        if len(name) > MAX_NAME_CHARS or not pattern.fullmatch(name):
            return False
        is_offered = not self._offered_names or name.lower() in self._offered_names
        return is_offered or id(call) in self._answered_ids
