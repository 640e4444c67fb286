"""Convert a projection to a provider's format, and record parts, hash and tokens of each message.

Border: pure. One function for a whole request and for a chunk of one, so that a request joined
from chunks (``loop/run_inputs/request_cache.py``) equals one that is written at once.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from palimpsest.context.budget.token_estimate import MESSAGE_TOKENS, Count, block_tokens
from palimpsest.context.request_assembly.projection import Projection, tokens_by_kind
from palimpsest.model.wire.provider_messages import (
    Body,
    ProviderMessage,
    convert,
    message_hash,
    prompt_text,
)
from palimpsest.transcript.context_values.decisions import ContextItem
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    NeutralMessage,
    NeutralMessages,
)
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.values import ModelInfo


@dataclass(frozen=True, slots=True)
class WrittenMessages:
    """Neutral messages in a provider's format, and what is recorded of them."""

    sent: tuple[Body, ...]
    hashes: tuple[str, ...]
    items: tuple[ContextItem, ...]
    tokens: tuple[int, ...]
    """Estimated tokens of each neutral message."""
    kinds: dict[str, int]
    """Estimated tokens by kind."""


Recorded = Mapping[tuple[str, tuple[str, ...]], ContextItem]
"""What was recorded of the messages of the newest request, by their hash and parts."""

Known = Mapping[tuple[str, tuple[str, ...]], ContextItem]
"""What was recorded of messages that are sent again, by their role and parts."""


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
    """Convert a whole projection of a session to its provider's format."""
    tools = projection.tools_tokens
    found = write_messages(
        projection.messages, model, count, summaries(messages), tools_tokens=tools
    )
    return Assembly(projection, found.sent, found.hashes, found.items, found.kinds)


def write_messages(
    messages: NeutralMessages,
    model: ModelInfo,
    count: Count,
    of_compactions: Set[str],
    *,
    tools_tokens: int = 0,
    recorded: Recorded | None = None,
) -> WrittenMessages:
    """Convert neutral messages; ``of_compactions`` are the transcript messages that hold summaries.

    A message that was sent before, unchanged, has the tokens that were recorded then.
    """
    provider = convert(messages, model)
    hashes = tuple(message_hash(one.body) for one in provider)
    known = _known(provider, hashes, recorded) if recorded else {}
    weights = tuple(_weights(message, known, count) for message in messages)
    items = [
        _recorded_item(one, sha256, known) for one, sha256 in zip(provider, hashes, strict=True)
    ]
    if None in items:
        by_part = _by_part(messages, weights)
        items = [
            item or _item(one, sha256, by_part, count)
            for item, one, sha256 in zip(items, provider, hashes, strict=True)
        ]
    return WrittenMessages(
        sent=tuple(one.body for one in provider),
        hashes=hashes,
        items=tuple(item for item in items if item is not None),
        tokens=tuple(MESSAGE_TOKENS + sum(weighed) for weighed in weights),
        kinds=tokens_by_kind(messages, weights, tools_tokens, of_compactions),
    )


def recorded_items(items: Iterable[ContextItem]) -> Recorded:
    """Return what was recorded of messages that name their parts."""
    return {(item.sha256, item.part_ids): item for item in items if item.part_ids}


def _known(provider: Sequence[ProviderMessage], hashes: Sequence[str], recorded: Recorded) -> Known:
    """Return what was recorded of exactly these messages."""
    found = {}
    for one, sha256 in zip(provider, hashes, strict=True):
        item = recorded.get((sha256, one.part_ids))
        role = str(one.body["role"])
        if item is not None and item.role == role and item.message_id == one.message_id:
            found[role, one.part_ids] = item
    return found


def _weights(message: NeutralMessage, known: Known, count: Count) -> tuple[int, ...]:
    """Return the tokens of each block; those of a recorded answer are all assigned to its first block."""
    blocks = message.blocks
    if known and len(blocks) == 1 and _is_plain(blocks[0]):
        item = known.get((message.role, (str(blocks[0].part_id),)))
        if item is not None:
            return (item.tokens - MESSAGE_TOKENS,)
    elif known and all(map(_is_plain, blocks)):
        parts = tuple(str(block.part_id) for block in blocks)
        if message.role == "tool":
            each = [known.get((message.role, (part,))) for part in parts]
            found = tuple(item.tokens - MESSAGE_TOKENS for item in each if item is not None)
            if len(found) == len(blocks):
                return found
        elif (message.role, parts) in known and len(set(parts)) == len(parts):
            whole = known[message.role, parts].tokens - MESSAGE_TOKENS
            return (whole, *(0 for _ in parts[1:]))
    return tuple(block_tokens(block, count) for block in blocks)


def _is_plain(block: Block) -> bool:
    """Return whether a block is sent as it is, and is of the same kind as its neighbours."""
    if block.part_id is None:
        return False
    if block.type == "text":
        return bool(block.text) and not block.text.isspace()
    return block.type == "call" or (block.type == "result" and not block.media)


def summaries(messages: Messages) -> set[str]:
    """Return the messages that compactions wrote."""
    return {
        message.id
        for message in messages
        if isinstance(message.info, AssistantMessage) and message.info.summary
    }


def _by_part(
    messages: NeutralMessages, weights: Sequence[Sequence[int]]
) -> dict[tuple[bool, str], int]:
    """Return the tokens of each part, its result apart from the rest."""
    found: dict[tuple[bool, str], int] = {}
    for message, weighed in zip(messages, weights, strict=True):
        for block, tokens in zip(message.blocks, weighed, strict=True):
            if block.part_id is not None:
                key = (block.type == "result", block.part_id)
                found[key] = found.get(key, 0) + tokens
    return found


def _recorded_item(one: ProviderMessage, sha256: str, known: Known) -> ContextItem | None:
    """Return what was recorded of exactly this message."""
    same = known.get((str(one.body["role"]), one.part_ids))
    return same if same is not None and same.sha256 == sha256 else None


def _item(
    one: ProviderMessage, sha256: str, by_part: Mapping[tuple[bool, str], int], count: Count
) -> ContextItem:
    """Return the record of a provider message: where it came from, and its tokens."""
    role = str(one.body["role"])
    tokens = sum(by_part.get((role == "tool", part), 0) for part in one.part_ids)
    if role == "system":
        tokens = count(prompt_text((one.body,)))
    return ContextItem(
        role=role,
        message_id=one.message_id,
        part_ids=one.part_ids,
        sha256=sha256,
        tokens=MESSAGE_TOKENS + tokens,
    )
