"""Caches for the steps of one replay: a message is converted, counted and hashed once, not at each step.

Border: not observable. The results are those of the uncached functions; a cached message is used
only while it is the same object, and everything is dropped when model or policy change.
"""

from collections.abc import Sequence

from palimpsest.context.budget.request_tokens import MESSAGE_TOKENS, Count, block_tokens
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.model.wire.provider_messages import Body, ProviderMessage, message_hash
from palimpsest.transcript.context_values.neutral_messages import NeutralMessage, NeutralMessages
from palimpsest.transcript.context_values.policies import ConvertPolicy
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.values import ModelRef


class ConvertedMessages:
    """Neutral messages, each converted once for the same model and policy."""

    def __init__(self) -> None:
        self._terms: tuple[ModelRef, ConvertPolicy] | None = None
        self._known: dict[str, tuple[Message, NeutralMessages]] = {}

    def __call__(
        self, messages: Messages, model: ModelRef, policy: ConvertPolicy
    ) -> NeutralMessages:
        """Return what ``neutral_messages`` returns."""
        if self._terms != (model, policy):
            self._terms, self._known = (model, policy), {}
        flat: list[NeutralMessage] = []
        for message in messages:
            known = self._known.get(message.id)
            if known is None or known[0] is not message:
                known = (message, neutral_messages((message,), model, policy))
                self._known[message.id] = known
            flat += known[1]
        return tuple(flat)


class TokenCounts:
    """Tokens of the blocks of neutral messages, by one counter."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._known: dict[int, tuple[NeutralMessage, list[int]]] = {}
        self._before: dict[int, tuple[NeutralMessage, list[int]]] = {}

    def blocks(self, message: NeutralMessage) -> list[int]:
        """Return the tokens of each block."""
        key = id(message)
        known = self._known.get(key) or self._before.get(key)
        if known is None or known[0] is not message:
            known = (message, [block_tokens(block, self._count) for block in message.blocks])
        self._known[key] = known
        return known[1]

    def message(self, message: NeutralMessage) -> int:
        """Return the tokens of a message."""
        return MESSAGE_TOKENS + sum(self.blocks(message))

    def turn_over(self) -> None:
        """Drop the counts that were not used since the last call."""
        self._before, self._known = self._known, {}


class MessageHashes:
    """Hashes of provider messages; most messages are at the same index as in the previous request."""

    def __init__(self) -> None:
        self._before: list[tuple[Body, str]] = []

    def __call__(self, written: Sequence[ProviderMessage]) -> tuple[str, ...]:
        """Return the hash of each message."""
        now: list[tuple[Body, str]] = []
        for at, one in enumerate(written):
            known = self._before[at] if at < len(self._before) else None
            same = known is not None and _alike(known[0], one.body)
            now.append((one.body, known[1] if known and same else message_hash(one.body)))
        self._before = now
        return tuple(sha256 for _, sha256 in now)


def _alike(one: object, other: object) -> bool:
    """Return whether two values have the same JSON: equal, where 1 is neither 1.0 nor True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return one == other
