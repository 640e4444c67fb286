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
    Recorded,
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

NEWEST_MESSAGES = 64
"""Number of the newest messages, among which two states of a session nearly always differ."""

MIN_CHUNK_MESSAGES = 16
"""Minimum messages of a chunk that ends with a turn: smaller chunks cost more to write, larger ones more to change."""

RESTING_REQUESTS = 20
"""Number of requests that are assembled from the whole session, without trying chunks, after chunks could not be made."""


class RequestCache:
    """Caches the chunks of a session's newest request."""

    def __init__(self) -> None:
        self._newest_request: _CachedRequest | None = None
        self._resting_requests = 0
        self._stored_blobs: dict[str, tuple[object, BlobRef]] = {}

    @property
    def is_filled(self) -> bool:
        """Whether the newest request is known."""
        return self._newest_request is not None

    def stored_blob(self, name: str, value: object, store_value: Callable[[], BlobRef]) -> BlobRef:
        """Return the blob that stores a value; it is stored again only when it changed."""
        known = self._stored_blobs.get(name)
        if known is None or (known[0] is not value and known[0] != value):
            known = self._stored_blobs[name] = (value, store_value())
        return known[1]

    def assembly(
        self,
        messages: Messages,
        decisions: tuple[Decision, ...],
        terms: RequestTerms,
        read_text: Read,
        recorded_items: Callable[[], Recorded] = dict,
        tools: Callable[[], int | None] = lambda: None,
    ) -> Assembly | None:
        """Return the request of a session; None where it must be assembled from the whole session.

        ``recorded_items`` returns the tokens of the newest request's messages, where it was for the same
        model and estimator: a session that is opened again is not counted again.
        """
        newest_request, self._newest_request = self._newest_request, None
        if self._resting_requests or not terms.is_local:
            self._resting_requests = max(0, self._resting_requests - 1)
            return None
        if newest_request is None or not newest_request.can_continue(terms, decisions):
            newest_request = _CachedRequest(terms, recorded_items(), tools())
        try:
            assembly = newest_request.assembly(messages, decisions, read_text)
        except NotIncremental:
            self._resting_requests = RESTING_REQUESTS
            return None
        self._newest_request = newest_request
        return assembly


class _CachedRequest:
    """A session as it was at its newest request, and the chunks of that request."""

    def __init__(self, terms: RequestTerms, recorded_items: Recorded, tools: int | None) -> None:
        self._terms = terms
        self._chunks = RequestChunks(terms, recorded_items, tools)
        self._messages: Messages = ()
        self._folded: Messages = ()
        self._names: dict[str, int] = {}
        """The index of each message, also by the ids of its parts, in the folded messages."""
        self._decisions: tuple[Decision, ...] = ()
        self._decisions_by_id: dict[str, list[tuple[int, Decision]]] = {}
        """Decisions with their index, by the id of their part or message."""
        self._marked_pinned: list[tuple[int, str]] = []
        """Parts that are themselves marked as pinned, with the index of their message."""
        self._pinned_by_decision: set[str] = set()
        """Parts that any decision pinned."""
        self._has_drops = False
        """Whether any decision drops a part."""
        self._newest_prompt_id: str | None = None
        """The newest prompt, which is sent even where it was excluded."""

    def can_continue(self, terms: RequestTerms, decisions: tuple[Decision, ...]) -> bool:
        """Return whether the next request has the same terms, and no decision was removed."""
        unchanged = decisions[: len(self._decisions)] == self._decisions
        return unchanged and self._terms == terms

    def assembly(
        self, messages: Messages, decisions: tuple[Decision, ...], read_text: Read
    ) -> Assembly | None:
        """Return the request of the session as it is now."""
        unchanged = same_until(self._messages, messages)
        names = self._index_decisions(decisions)
        visible_messages = self._folded_messages(
            messages, decisions, unchanged, has_decisions=bool(names)
        )
        names |= self._prompts(visible_messages, decisions)
        unchanged_count = min(
            (self._names[name] for name in names if name in self._names), default=len(self._folded)
        )
        unchanged_count = self._chunks.keep_first(
            min(unchanged_count, same_until(self._folded, visible_messages))
        )
        self._remove_messages(unchanged_count)
        self._folded = visible_messages
        self._index_pins(messages, unchanged)
        self._messages = messages
        self._index_messages(visible_messages[unchanged_count:], unchanged_count, read_text)
        if not self._all_pins_shown():
            raise NotIncremental
        return self._chunks.assembly()

    def _index_decisions(self, decisions: tuple[Decision, ...]) -> set[str]:
        """Index new decisions, and return the ids of their parts and messages."""
        names = set()
        for index in range(len(self._decisions), len(decisions)):
            decision = decisions[index]
            if decision.until_part_id is not None:
                raise NotIncremental
            name = decision.part_id or decision.message_id
            self._has_drops = self._has_drops or decision.action == "drop"
            if decision.action == "pin":
                if decision.part_id is None:
                    raise NotIncremental
                self._pinned_by_decision.add(decision.part_id)
            if name is not None:
                self._decisions_by_id.setdefault(name, []).append((index, decision))
                names.add(name)
        self._decisions = decisions
        return names

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
        replaced = messages_now[: len(messages_before)]
        if (
            self._messages
            and not has_decisions
            and [message.id for message in messages_before] == [message.id for message in replaced]
            and all(map(is_plain, messages_before))
            and all(map(is_plain, messages_now))
        ):
            end = len(self._folded) - len(messages_before)
            if end >= 0 and all(map(is_, self._folded[end:], messages_before)):
                return self._folded[:end] + messages_now
        return View(messages, decisions).folded_messages(self._terms.policy.compact)

    def _prompts(self, visible_messages: Messages, decisions: tuple[Decision, ...]) -> set[str]:
        """Return the prompts that became, or no longer are, the newest, where any part is dropped."""
        if not self._has_drops:
            return set()
        newest = newest_visible_prompt(visible_messages, EffectiveDecisions(decisions))
        before = self._newest_prompt_id
        self._newest_prompt_id = newest.id if newest is not None else None
        return {name for name in {before} ^ {self._newest_prompt_id} if name is not None}

    def _remove_messages(self, unchanged_count: int) -> None:
        for message in self._folded[unchanged_count:]:
            for name in _names_of(message):
                self._names.pop(name, None)

    def _index_pins(self, messages: Messages, unchanged_count: int) -> None:
        while self._marked_pinned and self._marked_pinned[-1][0] >= unchanged_count:
            self._marked_pinned.pop()
        for index in range(unchanged_count, len(messages)):
            for part in messages[index].parts:
                if is_marked_pinned(part):
                    self._marked_pinned.append((index, part.id))

    def _all_pins_shown(self) -> bool:
        """Return whether every pinned part is shown, so that none must be quoted."""
        shown_ids = self._chunks.sent_part_ids
        marked_ids = {part_id for _, part_id in self._marked_pinned}
        return self._pinned_by_decision | marked_ids <= shown_ids

    def _index_messages(self, messages: Messages, first_index: int, read_text: Read) -> None:
        if not messages:
            return
        names = self._names
        for index, message in enumerate(messages, first_index):
            own_names = _names_of(message)
            before = len(names)
            names.update(dict.fromkeys(own_names, index))
            if len(names) != before + len(own_names):
                raise NotIncremental
        related_decisions = sorted(
            (
                entry
                for name, entries in self._decisions_by_id.items()
                if names.get(name, -1) >= first_index
                for entry in entries
            ),
            key=lambda entry: entry[0],
        )
        decisions = tuple(decision for _, decision in related_decisions)
        view = View(messages, decisions, read_texts(messages, read_text, decisions))
        # Without decisions and stored texts, messages are shown as they are journaled.
        applied = apply_decisions(messages, view) if decisions or view.texts else messages
        for begin, end in _chunk_spans(messages):
            self._chunks.put(messages[begin:end], applied[begin:end])


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


def same_until(messages_before: Messages, messages_now: Messages) -> int:
    """Return how many messages at the beginning are the same."""
    shorter_length = min(len(messages_before), len(messages_now))
    start = max(0, shorter_length - NEWEST_MESSAGES)
    if messages_before[:start] != messages_now[:start]:
        start = 0
    changed = (
        index
        for index in range(start, shorter_length)
        if messages_before[index] is not messages_now[index]
        and messages_before[index] != messages_now[index]
    )
    return next(changed, shorter_length)


def _names_of(message: Message) -> list[str]:
    return [message.info.id, *[part.id for part in message.parts]]


def _chunk_spans(messages: Messages) -> Iterator[tuple[int, int]]:
    """Yield the span of each chunk: some turns, or the rest of a turn."""
    span_start = 0
    for index, message in enumerate(messages):
        if index - span_start >= MIN_CHUNK_MESSAGES and isinstance(message.info, UserMessage):
            yield span_start, index
            span_start = index
    yield span_start, len(messages)
