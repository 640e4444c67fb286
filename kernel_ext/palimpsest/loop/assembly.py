"""Write a projection in a provider's words, and say of each message what it is made of and weighs.

Border: pure. One function for a whole request and for a piece of one, so that what is put
together from pieces (``remembered``) is what would have been written at once.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from palimpsest.context.estimate import MESSAGE_TOKENS, Count, block_tokens
from palimpsest.context.kinds import by_kind
from palimpsest.context.projection import Projection
from palimpsest.model.wire import Body, ProviderMessage, convert, message_hash, prompt_text
from palimpsest.transcript.decisions import ContextItem
from palimpsest.transcript.flat import FlatMessages, ResultBlock
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.values import ModelInfo


@dataclass(frozen=True, slots=True)
class Written:
    """Neutral messages in a provider's words, and what is recorded of them."""

    sent: tuple[Body, ...]
    hashes: tuple[str, ...]
    items: tuple[ContextItem, ...]
    tokens: tuple[int, ...]
    """Estimated tokens of each neutral message."""
    kinds: dict[str, int]
    """The same by kind."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A request before its cache marks: what is sent, and what is recorded of it."""

    projection: Projection
    sent: tuple[Body, ...]
    hashes: tuple[str, ...]
    items: tuple[ContextItem, ...]
    kinds: dict[str, int]


def assemble(
    projection: Projection, model: ModelInfo, count: Count, messages: Messages
) -> Assembly:
    """Write a whole projection of a session."""
    tools = projection.tools_tokens
    found = write(projection.messages, model, count, summaries(messages), tools_tokens=tools)
    return Assembly(projection, found.sent, found.hashes, found.items, found.kinds)


def write(
    messages: FlatMessages,
    model: ModelInfo,
    count: Count,
    of_compactions: Set[str],
    *,
    tools_tokens: int = 0,
) -> Written:
    """Write neutral messages; ``of_compactions`` are the transcript messages that hold summaries."""
    provider = convert(messages, model)
    hashes = tuple(message_hash(one.body) for one in provider)
    weights = tuple(
        tuple(block_tokens(block, count) for block in message.blocks) for message in messages
    )
    return Written(
        sent=tuple(one.body for one in provider),
        hashes=hashes,
        items=_items(provider, hashes, messages, weights, count),
        tokens=tuple(MESSAGE_TOKENS + sum(weighed) for weighed in weights),
        kinds=by_kind(messages, weights, tools_tokens, of_compactions),
    )


def summaries(messages: Messages) -> set[str]:
    """Return the messages that compactions wrote."""
    return {
        message.id
        for message in messages
        if isinstance(message.info, AssistantMessage) and message.info.summary
    }


def _items(
    provider: Sequence[ProviderMessage],
    hashes: Sequence[str],
    messages: FlatMessages,
    weighed: Sequence[Sequence[int]],
    count: Count,
) -> tuple[ContextItem, ...]:
    """Say of each provider message where it came from and what it weighs."""
    weights: dict[tuple[bool, str], int] = {}
    for message, tokens_of in zip(messages, weighed, strict=True):
        for block, tokens in zip(message.blocks, tokens_of, strict=True):
            if block.part_id is not None:
                key = (isinstance(block, ResultBlock), block.part_id)
                weights[key] = weights.get(key, 0) + tokens
    items = []
    for one, sha256 in zip(provider, hashes, strict=True):
        role = str(one.body["role"])
        tokens = sum(weights.get((role == "tool", part), 0) for part in one.part_ids)
        if role == "system":
            tokens = count(prompt_text((one.body,)))
        items.append(
            ContextItem(
                role=role,
                message_id=one.message_id,
                part_ids=one.part_ids,
                sha256=sha256,
                tokens=MESSAGE_TOKENS + tokens,
            )
        )
    return tuple(items)
