"""Rewrite the ids of tool calls as strict providers demand, in calls and results alike.

``strict`` allows letters and digits, at most 40; ``strict9`` exactly nine of them. The
newest rule gives every call a unique id, although models reuse ids; the older rule maps
equal ids to equal ids.
"""

import hashlib
import re
from collections import deque
from collections.abc import Iterable
from typing import Literal

from palimpsest.context.message_repair.message_blocks import (
    all_calls,
    holds_signed_thinking,
    with_blocks,
)
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)
from palimpsest.transcript.provider_profile.profile import (
    MAX_SHORT_ID_CHARS,
    NINE_ID_CHARS,
    letters_and_digits,
)

Mode = Literal["strict", "strict9"]

HASH_CHARS = 8
ANTHROPIC_ID = re.compile(r"toolu_[A-Za-z0-9_]+")
"""Ids in the form that Anthropic itself assigns."""


def tool_id(identifier: str, mode: Mode) -> str:
    """Return one id in the alphabet of the mode."""
    plain_id = letters_and_digits(identifier)
    if mode == "strict":
        return plain_id or ("sanitizedtoolid" if identifier else "defaulttoolid")
    if not identifier:
        return "defaultid"
    if len(plain_id) >= NINE_ID_CHARS:
        return plain_id[:NINE_ID_CHARS]
    return _short_hash(plain_id or "sanitized", NINE_ID_CHARS)


def write_tool_ids(
    messages: NeutralMessages,
    mode: Mode,
    *,
    each_use: bool = True,
    keep_native: bool = False,
    keep_signed: bool = False,
) -> NeutralMessages:
    """Rewrite every id, in results as in their calls.

    With ``each_use`` each further use of an id gets another id; with ``keep_native``
    Anthropic's ids stay the first time they are used; with ``keep_signed`` an answer with signed
    thinking keeps the ids of its calls, which no other call is given.
    """
    if not each_use:
        return _all_with_new_ids(messages, _EqualIdWriter(mode))
    signed_ids = _signed_calls(messages) if keep_signed else {}
    reserved_ids = {block.call_id for index in signed_ids for block in signed_ids[index]}
    writer = _UseIdWriter(mode, keep_native=keep_native, reserved_ids=reserved_ids)
    written_messages: list[NeutralMessage] = []
    for index, message in enumerate(messages):
        if index in signed_ids:
            for block in signed_ids[index]:
                writer.register_kept_id(block.call_id)
        written_messages.append(message if index in signed_ids else _with_new_ids(message, writer))
    return tuple(written_messages)


def _signed_calls(messages: NeutralMessages) -> dict[int, list[CallBlock]]:
    """Return by message index the calls of answers with signed thinking whose ids are unique."""
    claimed_ids: set[str] = set()
    signed_calls: dict[int, list[CallBlock]] = {}
    for index, message in enumerate(messages):
        calls = [block for block in message.blocks if isinstance(block, CallBlock)]
        call_ids = {block.call_id for block in calls}
        is_whole = len(call_ids) == len(calls) and "" not in call_ids and not call_ids & claimed_ids
        if message.role == "assistant" and calls and is_whole and holds_signed_thinking(message):
            signed_calls[index] = calls
        claimed_ids |= call_ids
    return signed_calls


def unique_ids(messages: NeutralMessages) -> NeutralMessages:
    """Give each call whose id was used before a unique one, and leave all other ids as they are."""
    identifiers = [call.call_id for call in all_calls(messages)]
    if len(set(identifiers)) == len(identifiers):
        return messages
    return _all_with_new_ids(messages, _NumberedIdWriter(identifiers))


def _all_with_new_ids(messages: NeutralMessages, writer: "_IdWriter") -> NeutralMessages:
    return tuple(_with_new_ids(message, writer) for message in messages)


def _with_new_ids(message: NeutralMessage, writer: "_IdWriter") -> NeutralMessage:
    if message.role not in {"assistant", "tool"}:
        return message
    blocks = tuple(_with_new_id(block, writer) for block in message.blocks)
    return with_blocks(message, blocks)


def _with_new_id(block: Block, writer: "_IdWriter") -> Block:
    if not isinstance(block, CallBlock | ResultBlock) or not block.call_id:
        return block
    is_call = isinstance(block, CallBlock)
    new_id = writer.new_call_id(block.call_id) if is_call else writer.new_result_id(block.call_id)
    return block if new_id == block.call_id else block.model_copy(update={"call_id": new_id})


class _UniqueIds:
    """Makes ids that are not taken yet, and takes them."""

    def __init__(self, mode: Mode, taken_ids: Iterable[str] = ()) -> None:
        self._mode = mode
        self._taken_ids = set(taken_ids)

    def unique_id(self, identifier: str) -> str:
        self._taken_ids.add(identifier)
        return identifier

    def is_free(self, identifier: str) -> bool:
        return identifier not in self._taken_ids

    def make(self, seed: str) -> str:
        digest_input = tool_id(seed, self._mode)
        if self._mode == "strict":
            digest_input = digest_input[:MAX_SHORT_ID_CHARS]
        if self.is_free(digest_input):
            return self.unique_id(digest_input)
        if self._mode == "strict9":
            return self._make_nine(seed)
        return self._make_hashed(digest_input, seed)

    def _make_nine(self, seed: str) -> str:
        number = 0
        while not self.is_free(new_id := _short_hash(f"{seed}:{number}", NINE_ID_CHARS)):
            number += 1
        return self.unique_id(new_id)

    def _make_hashed(self, digest_input: str, seed: str) -> str:
        new_id = hashed = digest_input[: MAX_SHORT_ID_CHARS - HASH_CHARS] + _short_hash(
            seed, HASH_CHARS
        )
        number = 2
        while not self.is_free(new_id):
            ending = f"x{number}"
            new_id = hashed[: MAX_SHORT_ID_CHARS - len(ending)] + ending
            number += 1
        return self.unique_id(new_id)


class _EqualIdWriter:
    """Maps equal ids to equal new ids, even where they belong to different calls."""

    def __init__(self, mode: Mode) -> None:
        self._unique_ids = _UniqueIds(mode)
        self._new_ids: dict[str, str] = {}

    def new_call_id(self, identifier: str) -> str:
        if identifier not in self._new_ids:
            self._new_ids[identifier] = self._unique_ids.make(identifier)
        return self._new_ids[identifier]

    def new_result_id(self, identifier: str) -> str:
        return self.new_call_id(identifier)


class _UseIdWriter:
    """Treats each use of an id as another call; results are assigned to the calls in order."""

    def __init__(self, mode: Mode, *, keep_native: bool, reserved_ids: Iterable[str] = ()) -> None:
        self._unique_ids = _UniqueIds(mode, reserved_ids)
        self._keep_native = keep_native
        self._use_counts: dict[str, int] = {}
        self._orphan_counts: dict[str, int] = {}
        self._waiting_ids: dict[str, deque[str]] = {}

    def new_call_id(self, identifier: str) -> str:
        use = self._use_counts[identifier] = self._use_counts.get(identifier, 0) + 1
        if self._keeps_native_id(identifier, use):
            new_id = self._unique_ids.unique_id(identifier)
        else:
            new_id = self._unique_ids.make(identifier if use == 1 else f"{identifier}:{use}")
        self._waiting_ids.setdefault(identifier, deque()).append(new_id)
        return new_id

    def register_kept_id(self, identifier: str) -> None:
        """Register a call that keeps its id, which was reserved for it."""
        self._use_counts[identifier] = self._use_counts.get(identifier, 0) + 1
        self._waiting_ids.setdefault(identifier, deque()).append(identifier)

    def _keeps_native_id(self, identifier: str, use: int) -> bool:
        is_native = self._keep_native and ANTHROPIC_ID.fullmatch(identifier) is not None
        return is_native and use == 1 and self._unique_ids.is_free(identifier)

    def new_result_id(self, identifier: str) -> str:
        waiting = self._waiting_ids.get(identifier)
        if waiting:
            return waiting.popleft()
        number = self._orphan_counts[identifier] = self._orphan_counts.get(identifier, 0) + 1
        return self._unique_ids.make(f"{identifier}:tool_result:{number}")


class _NumberedIdWriter:
    """Keeps an id at its first use, and appends the number of the use at later ones."""

    def __init__(self, identifiers: Iterable[str]) -> None:
        self._taken_ids = set(identifiers)
        self._use_counts: dict[str, int] = {}
        self._waiting_ids: dict[str, deque[str]] = {}

    def new_call_id(self, identifier: str) -> str:
        use = self._use_counts[identifier] = self._use_counts.get(identifier, 0) + 1
        new_id = identifier
        while use > 1 and new_id in self._taken_ids:
            new_id = f"{identifier}_{use}"
            use += 1
        self._taken_ids.add(new_id)
        self._waiting_ids.setdefault(identifier, deque()).append(new_id)
        return new_id

    def new_result_id(self, identifier: str) -> str:
        waiting = self._waiting_ids.get(identifier)
        return waiting.popleft() if waiting else identifier


_IdWriter = _EqualIdWriter | _UseIdWriter | _NumberedIdWriter
"""The kinds of writers; each is called for every call and every result in the order of the messages."""


def _short_hash(text: str, chars: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:chars]
