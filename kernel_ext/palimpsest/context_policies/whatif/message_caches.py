"""Caches for the steps of one replay: a message is converted, counted and hashed once, not at each step.

Border: not observable. The results equal those of the uncached functions; a cached message is used only while it is the
same object, and everything is dropped when model or policy change.
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
        self._model_and_policy: tuple[ModelRef, ConvertPolicy] | None = None
        self._converted: dict[str, tuple[Message, NeutralMessages]] = {}

    def __call__(
        self, messages: Messages, model: ModelRef, policy: ConvertPolicy
    ) -> NeutralMessages:
        """Return the result of ``neutral_messages``."""
        if self._model_and_policy != (model, policy):
            self._model_and_policy, self._converted = (model, policy), {}
        converted_messages: list[NeutralMessage] = []
        for message in messages:
            entry = self._converted.get(message.id)
            if entry is None or entry[0] is not message:
                entry = (message, neutral_messages((message,), model, policy))
                self._converted[message.id] = entry
            converted_messages += entry[1]
        return tuple(converted_messages)


class TokenCounts:
    """Tokens of the blocks of neutral messages, by one counter."""

    def __init__(self, count: Count) -> None:
        self._count_tokens = count
        self._counts: dict[int, tuple[NeutralMessage, list[int]]] = {}
        self._counts_before: dict[int, tuple[NeutralMessage, list[int]]] = {}

    def blocks(self, message: NeutralMessage) -> list[int]:
        """Return the tokens of each block."""
        key = id(message)
        entry = self._counts.get(key) or self._counts_before.get(key)
        if entry is None or entry[0] is not message:
            entry = (message, [block_tokens(block, self._count_tokens) for block in message.blocks])
        self._counts[key] = entry
        return entry[1]

    def message(self, message: NeutralMessage) -> int:
        """Return the tokens of a message."""
        return MESSAGE_TOKENS + sum(self.blocks(message))

    def drop_unused(self) -> None:
        """Drop the counts that were not used since the last call."""
        self._counts_before, self._counts = self._counts, {}


class MessageHashes:
    """Hashes of provider messages; most messages are at the same index as in the previous request."""

    def __init__(self) -> None:
        self._previous: list[tuple[Body, str]] = []

    def __call__(self, provider_messages: Sequence[ProviderMessage]) -> tuple[str, ...]:
        """Return the hash of each message."""
        hashes: list[tuple[Body, str]] = []
        for index, message in enumerate(provider_messages):
            body, sha256 = self._previous[index] if index < len(self._previous) else (None, "")
            if not _equal_as_json(body, message.body):
                sha256 = message_hash(message.body)
            hashes.append((message.body, sha256))
        self._previous = hashes
        return tuple(sha256 for _, sha256 in hashes)


def _equal_as_json(value: object, other: object) -> bool:
    """Return whether two values have the same JSON: equal, where 1 is neither 1.0 nor True."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(
            _equal_as_json(value[name], other[name]) for name in value
        )
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal_as_json, value, other))
    return value == other
