"""Write a request in a provider's format with parts, hash and tokens of each message, whole or chunk by chunk.

Border: pure. One function converts a projection for a whole request and for a chunk, so that a request joined
from chunks (``loop/run_inputs/request_cache.py``) equals a request that is written at once. Each chunk converts
alone as it would among the others, since every rule of the default policy depends on one message, on a call
and its results, or on two neighbours. So a chunk ends where no neighbours are merged, holds the results of its
calls, and shares no call id with another; where that is impossible, ``NotIncremental`` is raised, and the
request is assembled from the whole session instead.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from palimpsest.context.budget.request_tokens import (
    MESSAGE_TOKENS,
    Count,
    block_tokens,
    tools_tokens,
)
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.message_repair.rule_order import CLOSING_TEXT, repaired_in_order
from palimpsest.context.request_assembly.projection import (
    Projection,
    reaches_model,
    system_messages,
    tokens_by_kind,
)
from palimpsest.model.wire.native_blocks import are_paired
from palimpsest.model.wire.provider_messages import (
    Body,
    ProviderMessage,
    message_hash,
    prompt_text,
    provider_messages,
)
from palimpsest.transcript.context_values.decisions import REQUEST_KINDS, ContextItem
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
    TextBlock,
    holds_native,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Messages, summaries
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ToolSpec

LEAD_ID = "palimpsest-lead"
LEAD_MESSAGES: NeutralMessages = (
    NeutralMessage(role="user", blocks=(TextBlock(text="lead"),)),
    NeutralMessage(role="assistant", blocks=(CallBlock(call_id=LEAD_ID, tool="lead", input={}),)),
    NeutralMessage(role="tool", blocks=(ResultBlock(call_id=LEAD_ID, tool="lead", text="lead"),)),
)
"""Stands for the messages before a chunk, so that it is not repaired as the beginning of a request."""
CLOSING_MESSAGE = NeutralMessage(role="user", blocks=(TextBlock(text=CLOSING_TEXT),))
"""The message that the rules append after a final answer; at the end of a chunk it is removed again."""


@dataclass(frozen=True, slots=True)
class WrittenMessages:
    """Messages in a provider's format, with the record, hash and tokens of each."""

    bodies: tuple[Body, ...]
    hashes: tuple[str, ...]
    items: tuple[ContextItem, ...]
    tokens: tuple[int, ...]
    """Estimated tokens of each neutral message."""
    tokens_by_kind: dict[str, int]
    """Estimated tokens by kind."""


RecordedItems = Mapping[tuple[str, tuple[str, ...]], ContextItem]
"""Records of the newest request's messages, by hash and part ids; where they are compared with messages sent again, by
role and part ids."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A request before its cache marks: the messages to send, and their records."""

    projection: Projection
    bodies: tuple[Body, ...]
    hashes: tuple[str, ...]
    items: tuple[ContextItem, ...]
    tokens_by_kind: dict[str, int]


def assemble_request(
    projection: Projection, model: ModelInfo, count: Count, messages: Messages
) -> Assembly:
    """Convert a whole projection of a session to its provider's format."""
    written_messages = write_messages(
        projection.messages, model, count, summaries(messages), tools_tokens=projection.tools_tokens
    )
    return Assembly(
        projection,
        written_messages.bodies,
        written_messages.hashes,
        written_messages.items,
        written_messages.tokens_by_kind,
    )


def write_messages(
    messages: NeutralMessages,
    model: ModelInfo,
    count: Count,
    summary_ids: Set[str],
    *,
    tools_tokens: int = 0,
    recorded: RecordedItems | None = None,
) -> WrittenMessages:
    """Convert neutral messages; ``summary_ids`` are the ids of summary messages.

    A message that was sent before, unchanged, keeps its recorded tokens.
    """
    sent_messages = provider_messages(messages, model)
    hashes = tuple(message_hash(message.body) for message in sent_messages)
    known_items = _recorded_items(sent_messages, hashes, recorded) if recorded else {}
    items = [
        _recorded_item(message, sha256, known_items)
        for message, sha256 in zip(sent_messages, hashes, strict=True)
    ]
    unrecorded_ids = {
        part_id
        for message, item in zip(sent_messages, items, strict=True)
        if not item
        for part_id in message.part_ids
    }
    weights = tuple(_weights(message, known_items, unrecorded_ids, count) for message in messages)
    if None in items:
        part_tokens = _part_tokens(messages, weights)
        items = [
            item or _context_item(message, sha256, part_tokens, count)
            for item, message, sha256 in zip(items, sent_messages, hashes, strict=True)
        ]
    return WrittenMessages(
        bodies=tuple(message.body for message in sent_messages),
        hashes=hashes,
        items=tuple(item for item in items if item is not None),
        tokens=tuple(
            MESSAGE_TOKENS + sum(block_tokens_of_message) for block_tokens_of_message in weights
        ),
        tokens_by_kind=tokens_by_kind(messages, weights, tools_tokens, summary_ids),
    )


def recorded_items(items: Iterable[ContextItem]) -> RecordedItems:
    """Return the records of messages with known parts, by hash and parts."""
    return {(item.sha256, item.part_ids): item for item in items if item.part_ids}


def _recorded_items(
    sent_messages: Sequence[ProviderMessage], hashes: Sequence[str], recorded: RecordedItems
) -> RecordedItems:
    """Return the records of exactly these messages, by role and parts."""
    items = {}
    for message, sha256 in zip(sent_messages, hashes, strict=True):
        item = recorded.get((sha256, message.part_ids))
        role = str(message.body["role"])
        if item is not None and item.role == role and item.message_id == message.message_id:
            items[role, message.part_ids] = item
    return items


def _weights(
    message: NeutralMessage, known_items: RecordedItems, unrecorded_ids: Set[str], count: Count
) -> tuple[int, ...]:
    """Return the tokens of each block.

    The tokens of a recorded answer are all assigned to its first block, unless an unrecorded message has one of its
    parts, such as a picture of a result, which some providers get in a user message.
    """
    blocks = message.blocks
    if known_items and len(blocks) == 1 and _is_plain(blocks[0]):
        item = known_items.get((message.role, (str(blocks[0].part_id),)))
        if item is not None:
            return (item.tokens - MESSAGE_TOKENS,)
    elif known_items and all(map(_is_plain, blocks)):
        part_ids = tuple(str(block.part_id) for block in blocks)
        if message.role == "tool":
            result_items = [known_items.get((message.role, (part_id,))) for part_id in part_ids]
            weights = tuple(
                item.tokens - MESSAGE_TOKENS for item in result_items if item is not None
            )
            if len(weights) == len(blocks):
                return weights
        elif (
            (message.role, part_ids) in known_items
            and len(set(part_ids)) == len(part_ids)
            and unrecorded_ids.isdisjoint(part_ids)
        ):
            tokens = known_items[message.role, part_ids].tokens - MESSAGE_TOKENS
            return (tokens, *(0 for _ in part_ids[1:]))
    return tuple(block_tokens(block, count) for block in blocks)


def _is_plain(block: Block) -> bool:
    """Return whether a block is sent unchanged, and its tokens are of its message's kind."""
    if block.part_id is None:
        return False
    if block.type == "text":
        return bool(block.text) and not block.text.isspace()
    return block.type == "call" or (block.type == "result" and not block.media)


def _part_tokens(
    messages: NeutralMessages, weights: Sequence[Sequence[int]]
) -> dict[tuple[bool, str], int]:
    """Return tokens by part id and whether they are those of the part's result."""
    part_tokens: dict[tuple[bool, str], int] = {}
    for message, block_tokens_of_message in zip(messages, weights, strict=True):
        for block, tokens in zip(message.blocks, block_tokens_of_message, strict=True):
            if block.part_id is not None:
                key = (block.type == "result", block.part_id)
                part_tokens[key] = part_tokens.get(key, 0) + tokens
    return part_tokens


def _recorded_item(
    message: ProviderMessage, sha256: str, known_items: RecordedItems
) -> ContextItem | None:
    """Return the record of exactly this message."""
    item = known_items.get((str(message.body["role"]), message.part_ids))
    return item if item is not None and item.sha256 == sha256 else None


def _context_item(
    message: ProviderMessage, sha256: str, part_tokens: Mapping[tuple[bool, str], int], count: Count
) -> ContextItem:
    """Return the record of a provider message: its source and its tokens."""
    role = str(message.body["role"])
    tokens = sum(part_tokens.get((role == "tool", part_id), 0) for part_id in message.part_ids)
    if role == "system":
        tokens = count(prompt_text((message.body,)))
    return ContextItem(
        role=role,
        message_id=message.message_id,
        part_ids=message.part_ids,
        sha256=sha256,
        tokens=MESSAGE_TOKENS + tokens,
    )


class NotIncremental(Exception):
    """A chunk cannot be converted alone."""


@dataclass(frozen=True, slots=True)
class RequestTerms:
    """The settings under which all chunks of a request are written; when one changes, no chunk is kept."""

    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    model: ModelInfo
    policy: Policy
    count: Count

    @property
    def is_local(self) -> bool:
        """Whether every rule depends on neighbouring messages at most."""
        policy = self.policy
        return (
            policy.hygiene.rule == "palimpsest"
            and policy.transform.rule == "writer"
            and policy.history_limit is None
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive messages of a session in the forms from journal to provider."""

    messages: Messages
    """The messages as journaled."""
    decided_messages: Messages
    """The messages with decisions applied."""
    neutral_messages: NeutralMessages
    written_messages: WrittenMessages
    call_ids: tuple[str, ...]
    sent_part_ids: tuple[str, ...]
    """Ids of the parts whose content is sent, at least in part."""


class RequestChunks:
    """The stack of a request's chunks, the newest on top."""

    def __init__(
        self, terms: RequestTerms, recorded: RecordedItems, tools: int | None = None
    ) -> None:
        """Begin with the system prompt; ``tools`` are the tokens of the tools, where those are known."""
        self.sent_part_ids: set[str] = set()
        """Ids of the parts whose content is sent, at least in part."""
        self._terms = terms
        self._recorded = recorded
        self._profile = profile(terms.model.ref)
        self._chunks: list[Chunk] = []
        self._used_call_ids: set[str] = {LEAD_ID}
        self._message_count = 0
        self._tools_tokens = tools_tokens(terms.tools, terms.count) if tools is None else tools
        first_messages = system_messages(terms.system)
        # A user message follows, or a provider's placeholder for an empty conversation would be appended.
        written_messages = write_messages(
            first_messages + LEAD_MESSAGES[:1], terms.model, terms.count, frozenset()
        )
        self._system_count = len(first_messages)
        self._sent_system_count = len(written_messages.bodies) - 1
        self._neutral_messages: list[NeutralMessage] = list(first_messages)
        self._tokens: list[int] = list(written_messages.tokens[:-1])
        self._bodies: list[Body] = list(written_messages.bodies[:-1])
        self._hashes: list[str] = list(written_messages.hashes[:-1])
        self._context_items: list[ContextItem] = list(written_messages.items[:-1])
        weights = [(tokens - MESSAGE_TOKENS,) for tokens in self._tokens]
        self._tokens_by_kind = dict.fromkeys(REQUEST_KINDS, 0)
        self._tokens_by_kind |= tokens_by_kind(
            first_messages, weights, self._tools_tokens, frozenset()
        )

    def keep_first(self, max_messages: int) -> int:
        """Remove chunks until at most the first ``max_messages`` messages are left; return their number.

        A removed message that is put back unchanged is not counted again.
        """
        removed_items: list[ContextItem] = []
        while self._message_count > max_messages:
            removed_items += self._pop_chunk().written_messages.items
        if removed_items:
            self._recorded = recorded_items(removed_items)
        return self._message_count

    def put(self, messages: Messages, decided_messages: Messages) -> None:
        """Add a chunk at the end; ``decided_messages`` are its messages with decisions applied. Raises NotIncremental."""
        new_messages = neutral_messages(
            decided_messages, self._terms.model.ref, self._terms.policy.convert
        )
        call_ids = self._call_ids(new_messages)
        repaired_messages = self._repair(new_messages)
        terms = self._terms
        written_messages = write_messages(
            repaired_messages,
            terms.model,
            terms.count,
            summaries(messages),
            recorded=self._recorded,
        )
        sent_call_ids = {
            call["id"] for body in written_messages.bodies for call in body.get("tool_calls", ())
        }
        if sent_call_ids != {
            block.call_id
            for message in repaired_messages
            for block in message.blocks
            if block.type == "call"
        }:
            raise NotIncremental
        if self._chunks and not self._may_follow(repaired_messages, written_messages):
            previous = self._pop_chunk()
            self.put(previous.messages + messages, previous.decided_messages + decided_messages)
            return
        sent_part_ids = tuple(
            {
                b.part_id
                for message in new_messages
                for b in message.blocks
                if b.part_id and reaches_model(b)
            }
        )
        self._push_chunk(
            Chunk(
                messages,
                decided_messages,
                repaired_messages,
                written_messages,
                call_ids,
                sent_part_ids,
            )
        )

    def assembly(self) -> Assembly | None:
        """Return the whole request; None where a closing message must be appended."""
        if (
            (self._ends_with_role("assistant") and self._profile.must_end_with_user)
            or len(self._neutral_messages) == self._system_count
            or len(self._bodies) == self._sent_system_count
        ):
            return None
        projection = Projection(
            tuple(self._neutral_messages), tuple(self._tokens), self._tools_tokens
        )
        return Assembly(
            projection,
            tuple(self._bodies),
            tuple(self._hashes),
            tuple(self._context_items),
            {kind: tokens for kind, tokens in self._tokens_by_kind.items() if tokens},
        )

    def _push_chunk(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._message_count += len(chunk.messages)
        self._used_call_ids.update(chunk.call_ids)
        self.sent_part_ids.update(chunk.sent_part_ids)
        self._neutral_messages += chunk.neutral_messages
        self._tokens += chunk.written_messages.tokens
        self._bodies += chunk.written_messages.bodies
        self._hashes += chunk.written_messages.hashes
        self._context_items += chunk.written_messages.items
        for kind, tokens in chunk.written_messages.tokens_by_kind.items():
            self._tokens_by_kind[kind] = self._tokens_by_kind.get(kind, 0) + tokens

    def _pop_chunk(self) -> Chunk:
        chunk = self._chunks.pop()
        self._message_count -= len(chunk.messages)
        self._used_call_ids.difference_update(chunk.call_ids)
        self.sent_part_ids.difference_update(chunk.sent_part_ids)
        del self._neutral_messages[len(self._neutral_messages) - len(chunk.neutral_messages) :]
        del self._tokens[len(self._tokens) - len(chunk.neutral_messages) :]
        first_removed = len(self._bodies) - len(chunk.written_messages.bodies)
        del (
            self._bodies[first_removed:],
            self._hashes[first_removed:],
            self._context_items[first_removed:],
        )
        for kind, tokens in chunk.written_messages.tokens_by_kind.items():
            self._tokens_by_kind[kind] -= tokens
        return chunk

    def _call_ids(self, new_messages: NeutralMessages) -> tuple[str, ...]:
        """Return the ids of the calls; raises NotIncremental unless they are unique, with results here."""
        blocks = [block for message in new_messages for block in message.blocks]
        ordered_call_ids = tuple(block.call_id for block in blocks if block.type == "call")
        results = {block.call_id for block in blocks if block.type == "result"}
        call_ids = set(ordered_call_ids)
        if (
            len(call_ids) < len(ordered_call_ids)
            or not results <= call_ids
            or not call_ids.isdisjoint(self._used_call_ids)
            or any(not call_id.strip() for call_id in call_ids)
            or (any(map(holds_native, new_messages)) and not are_paired(new_messages))
        ):
            raise NotIncremental
        return ordered_call_ids

    def _repair(self, new_messages: NeutralMessages) -> NeutralMessages:
        if not new_messages:
            return new_messages
        lead_messages = LEAD_MESSAGES if len(self._neutral_messages) > self._system_count else ()
        rule = self._terms.policy.hygiene.rule
        repaired_with_lead = repaired_in_order(
            lead_messages + new_messages, lambda messages: messages, rule, self._profile
        )
        if repaired_with_lead[: len(lead_messages)] != lead_messages:
            raise NotIncremental
        if repaired_with_lead and repaired_with_lead[-1] == CLOSING_MESSAGE:
            repaired_with_lead = repaired_with_lead[:-1]
        return repaired_with_lead[len(lead_messages) :]

    def _may_follow(self, new_messages: NeutralMessages, written_messages: WrittenMessages) -> bool:
        """Return whether the messages can follow the top chunk without a merge or a message between them."""
        if not new_messages:
            return True
        first_role = new_messages[0].role
        if self._ends_with_role(first_role) and (
            (first_role == "assistant" and self._profile.merges_answers)
            or (first_role == "user" and self._profile.merges_questions)
        ):
            return False
        if (
            not self._profile.needs_answer_after_results
            or not written_messages.bodies
            or not self._bodies
        ):
            return True
        is_after_result = self._bodies[-1]["role"] == "tool"
        return not is_after_result or bool(written_messages.bodies[0]["role"] != "user")

    def _ends_with_role(self, role: str) -> bool:
        return (
            len(self._neutral_messages) > self._system_count
            and self._neutral_messages[-1].role == role
        )
