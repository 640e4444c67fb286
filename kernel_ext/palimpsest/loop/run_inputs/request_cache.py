"""Assemble the next request incrementally, from cached chunks of the last request and from new messages.

Border: not observable. The result equals that of ``project``, which starts from the whole
session and is the fallback wherever this cache cannot be sure. Chunks that changed since the last
request are removed and written again, so that the cost of a step grows with its new messages and not
with the size of the context. One cache belongs to one session and holds its newest request.
"""

from collections.abc import Callable, Iterator
from operator import is_

from palimpsest.context.reduction.applied_decisions import apply_decisions, newest_visible_prompt
from palimpsest.context.visible_messages import CONTINUES_KEY, Read, View, marker, read_texts
from palimpsest.loop.run_inputs.request_chunks import (
    Assembly,
    NotIncremental,
    RecordedItems,
    RequestChunks,
    RequestTerms,
)
from palimpsest.transcript.context_values.decisions import (
    Decision,
    EffectiveDecisions,
    is_marked_pinned,
)
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.values import BlobRef

NEWEST_COMPARED_MESSAGES = 64
"""Number of newest messages that are compared one by one: two states of a session nearly always differ among them."""

MIN_CHUNK_MESSAGES = 16
"""Minimum messages of a chunk that ends with a turn: smaller chunks cost more to write, larger ones more to change."""

WHOLE_REQUESTS_AFTER_FAILURE = 20
"""Number of requests that are assembled from the whole session after one could not be made of chunks."""


class RequestCache:
    """Caches the chunks of a session's newest request."""

    def __init__(self) -> None:
        self._newest_request: _CachedRequest | None = None
        self._whole_requests_left = 0
        self._stored_blobs: dict[str, tuple[object, BlobRef]] = {}

    @property
    def is_filled(self) -> bool:
        """Whether the newest request is known."""
        return self._newest_request is not None

    def stored_blob(self, name: str, value: object, store_value: Callable[[], BlobRef]) -> BlobRef:
        """Return the blob that stores a value; it is stored again only when it changed."""
        stored_pair = self._stored_blobs.get(name)
        if stored_pair is None or (stored_pair[0] is not value and stored_pair[0] != value):
            stored_pair = self._stored_blobs[name] = (value, store_value())
        return stored_pair[1]

    def assembly(
        self,
        messages: Messages,
        decisions: tuple[Decision, ...],
        terms: RequestTerms,
        read_text: Read,
        recorded_items: Callable[[], RecordedItems] = dict,
        known_tools_tokens: Callable[[], int | None] = lambda: None,
    ) -> Assembly | None:
        """Return the request of a session; None where it must be assembled from the whole session.

        ``recorded_items`` returns the records of the newest request's messages, where that was for the same
        model and estimator, and ``known_tools_tokens`` the tokens of its tools: a reopened session is not counted again.
        """
        newest_request, self._newest_request = self._newest_request, None
        if self._whole_requests_left or not terms.is_local:
            self._whole_requests_left = max(0, self._whole_requests_left - 1)
            return None
        if newest_request is None or not newest_request.can_continue(terms, decisions):
            newest_request = _CachedRequest(terms, recorded_items(), known_tools_tokens())
        try:
            assembly = newest_request.assembly(messages, decisions, read_text)
        except NotIncremental:
            self._whole_requests_left = WHOLE_REQUESTS_AFTER_FAILURE
            return None
        self._newest_request = newest_request
        return assembly


class _CachedRequest:
    """A session as it was at its newest request, and the chunks of that request."""

    def __init__(
        self, terms: RequestTerms, recorded_items: RecordedItems, tools_tokens: int | None
    ) -> None:
        self._terms = terms
        self._chunks = RequestChunks(terms, recorded_items, tools_tokens)
        self._messages: Messages = ()
        self._visible_messages: Messages = ()
        self._index_by_id: dict[str, int] = {}
        """The index of each message, also by the ids of its parts, in ``_visible_messages``."""
        self._decisions: tuple[Decision, ...] = ()
        self._decisions_by_id: dict[str, list[tuple[int, Decision]]] = {}
        """Decisions with their index, by the id of their part or message."""
        self._marked_pins: list[tuple[int, str]] = []
        """Ids of parts that are themselves marked as pinned, after the index of their message."""
        self._ids_pinned_by_decision: set[str] = set()
        """Ids of parts that any decision pinned."""
        self._has_drops = False
        """Whether any decision drops a part."""
        self._newest_prompt_id: str | None = None
        """Id of the newest prompt, which is sent even where it was excluded."""

    def can_continue(self, terms: RequestTerms, decisions: tuple[Decision, ...]) -> bool:
        """Return whether the next request has the same terms, and no decision was removed."""
        is_extended = decisions[: len(self._decisions)] == self._decisions
        return is_extended and self._terms == terms

    def assembly(
        self, messages: Messages, decisions: tuple[Decision, ...], read_text: Read
    ) -> Assembly | None:
        """Return the request of the session as it is now."""
        journaled_unchanged_count = unchanged_message_count(self._messages, messages)
        changed_ids = self._index_decisions(decisions)
        visible_messages = self._folded_messages(
            messages, decisions, journaled_unchanged_count, has_decisions=bool(changed_ids)
        )
        changed_ids |= self._changed_prompt_ids(visible_messages, decisions)
        unchanged_count = min(
            (
                self._index_by_id[changed_id]
                for changed_id in changed_ids
                if changed_id in self._index_by_id
            ),
            default=len(self._visible_messages),
        )
        unchanged_count = self._chunks.keep_first(
            min(unchanged_count, unchanged_message_count(self._visible_messages, visible_messages))
        )
        self._remove_messages(unchanged_count)
        self._visible_messages = visible_messages
        self._index_pins(messages, journaled_unchanged_count)
        self._messages = messages
        self._index_messages(visible_messages[unchanged_count:], unchanged_count, read_text)
        if not self._are_pins_sent():
            raise NotIncremental
        return self._chunks.assembly()

    def _index_decisions(self, decisions: tuple[Decision, ...]) -> set[str]:
        """Index new decisions, and return the ids of their parts and messages."""
        target_ids = set()
        for index in range(len(self._decisions), len(decisions)):
            decision = decisions[index]
            if decision.until_part_id is not None:
                raise NotIncremental
            target_id = decision.part_id or decision.message_id
            self._has_drops = self._has_drops or decision.action == "drop"
            if decision.action == "pin":
                if decision.part_id is None:
                    raise NotIncremental
                self._ids_pinned_by_decision.add(decision.part_id)
            if target_id is not None:
                self._decisions_by_id.setdefault(target_id, []).append((index, decision))
                target_ids.add(target_id)
        self._decisions = decisions
        return target_ids

    def _folded_messages(
        self,
        messages: Messages,
        decisions: tuple[Decision, ...],
        unchanged_count: int,
        *,
        has_decisions: bool,
    ) -> Messages:
        """Return the folded messages; where only plain messages changed, replace those at the end."""
        messages_before, messages_now = self._messages[unchanged_count:], messages[unchanged_count:]
        messages_in_place = messages_now[: len(messages_before)]
        if (
            self._messages
            and not has_decisions
            and [message.id for message in messages_before]
            == [message.id for message in messages_in_place]
            and all(map(is_plain, messages_before))
            and all(map(is_plain, messages_now))
        ):
            end = len(self._visible_messages) - len(messages_before)
            if end >= 0 and all(map(is_, self._visible_messages[end:], messages_before)):
                return self._visible_messages[:end] + messages_now
        return View(messages, decisions).folded_messages(self._terms.policy.compact)

    def _changed_prompt_ids(
        self, visible_messages: Messages, decisions: tuple[Decision, ...]
    ) -> set[str]:
        """Return the ids of the newest prompt and of the one before, where that changed and any part is dropped."""
        if not self._has_drops:
            return set()
        newest = newest_visible_prompt(visible_messages, EffectiveDecisions(decisions))
        id_before = self._newest_prompt_id
        self._newest_prompt_id = newest.id if newest is not None else None
        return {
            prompt_id
            for prompt_id in {id_before} ^ {self._newest_prompt_id}
            if prompt_id is not None
        }

    def _remove_messages(self, unchanged_count: int) -> None:
        for message in self._visible_messages[unchanged_count:]:
            for removed_id in _ids_of(message):
                self._index_by_id.pop(removed_id, None)

    def _index_pins(self, messages: Messages, unchanged_count: int) -> None:
        while self._marked_pins and self._marked_pins[-1][0] >= unchanged_count:
            self._marked_pins.pop()
        for index in range(unchanged_count, len(messages)):
            for part in messages[index].parts:
                if is_marked_pinned(part):
                    self._marked_pins.append((index, part.id))

    def _are_pins_sent(self) -> bool:
        """Return whether every pinned part is sent, so that none must be quoted."""
        sent_part_ids = self._chunks.sent_part_ids
        marked_ids = {part_id for _, part_id in self._marked_pins}
        return self._ids_pinned_by_decision | marked_ids <= sent_part_ids

    def _index_messages(self, messages: Messages, first_index: int, read_text: Read) -> None:
        if not messages:
            return
        index_by_id = self._index_by_id
        for index, message in enumerate(messages, first_index):
            ids = _ids_of(message)
            count_before = len(index_by_id)
            index_by_id.update(dict.fromkeys(ids, index))
            if len(index_by_id) != count_before + len(ids):
                raise NotIncremental
        related_decisions = sorted(
            (
                entry
                for target_id, entries in self._decisions_by_id.items()
                if index_by_id.get(target_id, -1) >= first_index
                for entry in entries
            ),
            key=lambda entry: entry[0],
        )
        decisions = tuple(decision for _, decision in related_decisions)
        view = View(messages, decisions, read_texts(messages, read_text, decisions))
        # Without decisions and stored texts, messages are shown as they are journaled.
        decided_messages = apply_decisions(messages, view) if decisions or view.texts else messages
        for begin, end in _chunk_spans(messages):
            self._chunks.put(messages[begin:end], decided_messages[begin:end])


def is_plain(message: Message) -> bool:
    """Return whether a message has no effect on the fold: no marker, summary or continuation of one."""
    if isinstance(message.info, AssistantMessage):
        return not message.info.summary
    if marker(message) is not None:
        return False
    return not any(
        isinstance(part, TextPart) and part.metadata and CONTINUES_KEY in part.metadata
        for part in message.parts
    )


def unchanged_message_count(messages_before: Messages, messages_now: Messages) -> int:
    """Return how many messages at the beginning are the same."""
    shorter_length = min(len(messages_before), len(messages_now))
    start = max(0, shorter_length - NEWEST_COMPARED_MESSAGES)
    if messages_before[:start] != messages_now[:start]:
        start = 0
    changed_indexes = (
        index
        for index in range(start, shorter_length)
        if messages_before[index] is not messages_now[index]
        and messages_before[index] != messages_now[index]
    )
    return next(changed_indexes, shorter_length)


def _ids_of(message: Message) -> list[str]:
    return [message.info.id, *[part.id for part in message.parts]]


def _chunk_spans(messages: Messages) -> Iterator[tuple[int, int]]:
    """Yield the span of each chunk: some turns, or the rest of a turn."""
    chunk_start = 0
    for index, message in enumerate(messages):
        if index - chunk_start >= MIN_CHUNK_MESSAGES and isinstance(message.info, UserMessage):
            yield chunk_start, index
            chunk_start = index
    yield chunk_start, len(messages)
