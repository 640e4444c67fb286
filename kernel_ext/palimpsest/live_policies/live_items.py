"""The items of a live session, made from its messages and numbered as in the timeline of its log.

Messages are added as they arrive; where earlier messages changed, all items are numbered again.
"""

import hashlib
from collections.abc import Callable, Mapping
from itertools import takewhile

from palimpsest.context.visible_messages import View, marker, whole_output
from palimpsest.loop.run_inputs.policy_stage import PolicyMoment
from palimpsest.recordings.timeline.item_texts import RESULT_SUFFIX, part_text, result_of
from palimpsest.recordings.timeline.message_items import ItemList, with_own_containers
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import CompactionPart, Part, ToolPart
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import CHARS_PER_TOKEN

CounterOf = Callable[[str], Callable[[str], int]]


class LiveItems:
    """Collects the items and requests of one session; their numbers stay the same while messages are only added."""

    def __init__(self, counter_of: CounterOf) -> None:
        self._counter_of = counter_of
        self._token_counts: dict[tuple[str, str], int] = {}
        self._reset()

    def _reset(self) -> None:
        self._item_list = ItemList()
        self._known_messages: tuple[Message, ...] = ()
        self._requests: list[TimelineRequest] = []
        self._marker_by_message: dict[str, CompactionPart] = {}
        self._section_texts: dict[str, str] = {}
        self.first_usage_request = 0
        """Index of the first request whose usage includes the items shown now: the first after the newest summary."""
        self.replaced_sections: set[int] = set()
        """Indexes of system prompts and tools that were replaced by others."""

    def copy(self) -> "LiveItems":
        """Return a copy with its own list of items, which shares only the counts of texts."""
        duplicate = with_own_containers(self)
        items, counts = with_own_containers(self._item_list), self._token_counts
        vars(duplicate).update(_item_list=items, _token_counts=counts)
        return duplicate

    def update(self, moment: PolicyMoment) -> bool:
        """Add the messages since the last call; return False where all items were numbered again."""
        messages = moment.view.messages
        known_messages = self._known_messages
        is_continued = len(messages) >= len(known_messages) and all(
            known_message is message or known_message == message
            for known_message, message in zip(known_messages, messages, strict=False)
        )
        if not is_continued:
            self._reset()
        self._item_list.next_request = len(self._requests)
        self._item_list.add_results()
        for message in messages[len(self._known_messages) :]:
            self._add_message(message)
        self._known_messages = messages
        self._add_sections(moment)
        return is_continued

    def _add_message(self, message: Message) -> None:
        info, first_index = message.info, len(self._item_list.items)
        marker_part = marker(message)
        if marker_part is not None:
            self._marker_by_message[info.id] = marker_part
        if not isinstance(info, AssistantMessage):
            self._item_list.add_message(info, message.parts)
            return
        if info.summary:
            self._item_list.add_summary(
                info, message.parts, self._marker_by_message.get(info.parent_id)
            )
            self.first_usage_request = len(self._requests)
            return
        self._item_list.add_message(info, message.parts)
        new_items = self._item_list.items[first_index:]
        answer_items = list(takewhile(lambda item: item.kind != "output", new_items))
        self._requests.append(
            TimelineRequest(
                index=len(self._requests),
                id=info.id,
                turn=self._item_list.turn,
                items=first_index,
                answer=(first_index, first_index + len(answer_items)),
                started=info.time.created,
                ended=info.time.completed,
                model=info.model.id,
                effort=info.model.variant or "",
                usage=None if info.tokens.estimated or not info.tokens.prompt else info.tokens,
            )
        )
        self._item_list.next_request = len(self._requests)

    def _add_sections(self, moment: PolicyMoment) -> None:
        for section, text in (("tools", moment.tools), ("system", "\n\n".join(moment.system))):
            if self._section_texts.get(section) == text:
                continue
            self._section_texts[section] = text
            chars = CHARS_PER_TOKEN * moment.opening_tokens.get(section, 0)
            replaced_item = self._item_list.add_section(section, sha256_of(text), chars)
            if replaced_item is not None:
                self.replaced_sections.add(replaced_item)

    def timeline(self, moment: PolicyMoment) -> Timeline:
        """Return the session up to the request that is about to be sent, as a timeline."""
        items = tuple(self._item_list.items)
        next_request = TimelineRequest(
            index=len(self._requests),
            id="",
            turn=self._item_list.turn,
            items=len(items),
            answer=(len(items), len(items)),
            started=moment.now_milliseconds,
            model=moment.model.ref.id,
            effort=moment.model.ref.variant or "",
            window=moment.model.window,
            reserve=moment.reserved_tokens,
            price=moment.model.price,
        )
        view = moment.view
        parts: dict[str, Part] = {}

        def read_text(index: int) -> str:
            if not parts:
                parts.update((part.id, part) for message in view.messages for part in message.parts)
            return _item_text(items[index].id, parts, view)

        return Timeline(
            session=moment.session_id,
            items=items,
            requests=(*self._requests, next_request),
            read=read_text,
            count=self._counter,
        )

    def _counter(self, estimator: str) -> Callable[[str], int]:
        count = self._counter_of(estimator)

        def cached_count(text: str) -> int:
            tokens = self._token_counts.get((estimator, text))
            if tokens is None:
                tokens = self._token_counts[estimator, text] = count(text)
            return tokens

        return cached_count


def _item_text(item_id: str, parts: Mapping[str, Part], view: View) -> str:
    """Return the whole text of an item; empty for the system prompt and the tools."""
    part = parts.get(item_id.removesuffix(RESULT_SUFFIX).rpartition("/")[2])
    if part is None:
        return ""
    return output_text(part, view) if item_id.endswith(RESULT_SUFFIX) else part_text(part)


def output_text(part: Part, view: View) -> str:
    """Return the whole result of a call, or the whole note about cells."""
    result = result_of(part) if isinstance(part, ToolPart) else None
    return whole_output(part, view.texts) or (result[0] if result is not None else "")


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text, as hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
