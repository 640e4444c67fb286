"""Find the places of the cache marks in requests: as a text, and as the item of the timeline before the mark.

Our own engine journals the positions of the marked messages, a capture the places that were sent. A mark on a block that is
no known item has its place only as a text.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.timeline.item_texts import RESULT_SUFFIX
from palimpsest.recordings.timeline.message_items import ItemList
from palimpsest.transcript.context_values.decisions import BESIDE_PURPOSES, ContextItem, StepRequest
from palimpsest.transcript.visible_text import visible_line

MAX_MARKS, MAX_MARK_CHARS = 100, 60
UNKNOWN_ITEM = -1


class PlacedMark(NamedTuple):
    """A cache mark with its place."""

    text: str
    item: int
    """The item that it stands after; -1 where that is not known."""


class SentMessages:
    """The messages of the newest request of our own engine, whose journal repeats only what changed."""

    def __init__(self) -> None:
        self._messages: list[ContextItem] = []

    def add_request(self, request: StepRequest) -> None:
        """Take the messages of the next request."""
        if request.purpose not in BESIDE_PURPOSES:
            del self._messages[request.same :]
            self._messages.extend(request.items)

    def placed_marks(self, request: StepRequest, items: ItemList) -> tuple[PlacedMark, ...]:
        """Return the cache marks of the newest request, in the order of the prompt."""
        return tuple(
            PlacedMark(f"message {position + 1}", self._item_at(position, items))
            for position in sorted(set(request.marks))[:MAX_MARKS]
        )

    def _item_at(self, position: int, items: ItemList) -> int:
        if not 0 <= position < len(self._messages):
            return UNKNOWN_ITEM
        message = self._messages[position]
        if message.role == "system":
            return items.section("system")
        names = (
            f"{part}{RESULT_SUFFIX}" if message.role == "tool" else part
            for part in message.part_ids
        )
        return items.last_of_parts(names)


def captured_marks(sent: JsonValue, items: ItemList) -> tuple[PlacedMark, ...]:
    """Return the captured cache marks; another program may have written the log."""
    marks = [mark for mark in sent.list_at("marks") if isinstance(mark, list)][:MAX_MARKS]
    texts = [
        tuple(visible_line(word[:MAX_MARK_CHARS]) for word in mark if isinstance(word, str))
        for mark in marks
    ]
    return tuple(
        PlacedMark(f"{place} for {lifetime}" if lifetime else place, _item_of(place, block, items))
        for place, lifetime, block, *_ in ((*words, "", "", "") for words in texts)
        if place
    )


def _item_of(place: str, block: str, items: ItemList) -> int:
    """Return the item of a captured mark, by the part of the request or by the marked block."""
    if place.startswith("tool "):
        return items.section("tools")
    if place.startswith("system block ") or block == "system":
        return items.section("system")
    match block.split(" "):
        case ["call" | "result" as kind, call] if call:
            return items.newest_of_call(call, "call" if kind == "call" else "output")
        case ["text", digest, later] if later.isdecimal():
            return items.newest_of_content(digest, int(later))
        case _:
            return UNKNOWN_ITEM


def mark_fields(marks: Iterable[PlacedMark]) -> dict[str, Any]:
    """Return the fields of a request that hold its marks."""
    placed = tuple(marks)
    return {
        "cache_marks": tuple(mark.text for mark in placed),
        "mark_items": tuple(mark.item for mark in placed),
    }
