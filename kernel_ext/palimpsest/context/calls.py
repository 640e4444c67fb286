"""Leave out tool calls that no provider would take: without input, id or a usable name.

Imported sessions and models that break off in the middle of a call leave them behind. Thinking
that its provider signed is replayed as it was or not at all, never half.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from palimpsest.context.frames import answered
from palimpsest.context.repair import thinks
from palimpsest.transcript.flat import Block, CallBlock, FlatMessage, FlatMessages

MAX_NAME_CHARS = 64
"""The longest name of a function that the providers document."""
NAME = re.compile(r"[A-Za-z0-9_:.\-]+")
STRICT_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Calls:
    """Messages with usable calls only, and how much was left out."""

    messages: FlatMessages
    dropped_calls: int = 0
    dropped_messages: int = 0


@dataclass(frozen=True, slots=True)
class CallRule:
    """Which calls are usable."""

    strict_names: bool = False
    """No padding, no colon and no dot in a name (the recorded agent of early 2026)."""
    allowed: Collection[str] = ()
    """The tools that are offered; none means any."""
    keep_answered: bool = True
    """A call that has its result stays, though its tool is no longer offered."""
    whole_thinking: bool = False
    """An answer with thinking and calls is replayed whole or not at all."""


def repair_calls(messages: FlatMessages, rule: CallRule) -> Calls:
    """Leave out unusable calls, and the messages of which nothing is left."""
    repairing = _Repairing(rule, answered(messages) if _looks_at_answers(rule) else frozenset())
    kept: list[FlatMessage] = []
    for message in messages:
        left = repairing.message(message)
        if left is not None:
            kept.append(left)
    if len(kept) == len(messages) and all(
        new is old for new, old in zip(kept, messages, strict=True)
    ):
        return Calls(messages)
    return Calls(tuple(kept), repairing.dropped_calls, repairing.dropped_messages)


def _looks_at_answers(rule: CallRule) -> bool:
    return bool(rule.allowed) and rule.keep_answered


class _Repairing:
    def __init__(self, rule: CallRule, answered: frozenset[int]) -> None:
        self._rule = rule
        self._answered = answered
        self._allowed = {name.strip().lower() for name in rule.allowed}
        self._claimed: set[str] = set()
        self.dropped_calls = 0
        self.dropped_messages = 0

    def message(self, message: FlatMessage) -> FlatMessage | None:
        """Return what is left of the message, or None."""
        if message.role == "system" and not message.blocks and not self._rule.strict_names:
            return None
        calls = [block for block in message.blocks if isinstance(block, CallBlock)]
        if message.role != "assistant" or not calls:
            return message
        if self._rule.whole_thinking and thinks(message):
            return self._whole(message, calls)
        blocks = tuple(left for block in message.blocks if (left := self._block(block)) is not None)
        self._claimed.update(block.call_id for block in blocks if isinstance(block, CallBlock))
        if not blocks:
            self.dropped_messages += 1
            return None
        if len(blocks) == len(message.blocks) and all(
            new is old for new, old in zip(blocks, message.blocks, strict=True)
        ):
            return message
        return message.model_copy(update={"blocks": blocks})

    def _whole(self, message: FlatMessage, calls: list[CallBlock]) -> FlatMessage | None:
        identifiers = [call.call_id for call in calls]
        usable = all(self._usable(call) and call.tool == call.tool.strip() for call in calls)
        if (
            usable
            and len(set(identifiers)) == len(identifiers)
            and self._claimed.isdisjoint(identifiers)
        ):
            self._claimed.update(identifiers)
            return message
        self.dropped_calls += len(calls)
        self.dropped_messages += 1
        return None

    def _block(self, block: Block) -> Block | None:
        if not isinstance(block, CallBlock):
            return block
        if not self._usable(block):
            self.dropped_calls += 1
            return None
        name = block.tool.strip()
        return block if name == block.tool else block.model_copy(update={"tool": name})

    def _usable(self, call: CallBlock) -> bool:
        if call.incomplete or not call.call_id.strip():
            return False
        name = call.tool if self._rule.strict_names else call.tool.strip()
        pattern = STRICT_NAME if self._rule.strict_names else NAME
        if len(name) > MAX_NAME_CHARS or not pattern.fullmatch(name):
            return False
        return not self._allowed or name.lower() in self._allowed or id(call) in self._answered
