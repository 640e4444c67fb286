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
"""Maximum marks of a request, and maximum characters of each of a mark's fields."""
NO_ITEM = -1
"""In place of an item's index, where a mark's item is not known."""


class PlacedMark(NamedTuple):
    """A cache mark with its place."""

    text: str
    item_index: int
    """Index of the item after which it stands; ``NO_ITEM`` where that is not known."""


class SentMessages:
    """The messages of the newest request of our own engine, whose journal repeats only what changed."""

    def __init__(self) -> None:
        self._messages: list[ContextItem] = []

    def add_request(self, request: StepRequest) -> None:
        """Take the messages of the next request, unless the request is no step of the conversation."""
        if request.purpose not in BESIDE_PURPOSES:
            del self._messages[request.same :]
            self._messages.extend(request.items)

    def placed_marks(self, request: StepRequest, items: ItemList) -> tuple[PlacedMark, ...]:
        """Return the cache marks of the newest request, in the order of the prompt."""
        return tuple(
            PlacedMark(f"message {position + 1}", self._item_of_message(position, items))
            for position in sorted(set(request.marks))[:MAX_MARKS]
        )

    def _item_of_message(self, position: int, items: ItemList) -> int:
        if not 0 <= position < len(self._messages):
            return NO_ITEM
        message = self._messages[position]
        if message.role == "system":
            return items.section_index("system")
        part_names = (
            f"{part_id}{RESULT_SUFFIX}" if message.role == "tool" else part_id
            for part_id in message.part_ids
        )
        return items.last_index_of_parts(part_names)


def captured_marks(sent: JsonValue, items: ItemList) -> tuple[PlacedMark, ...]:
    """Return the captured cache marks; another program may have written the log."""
    marks = [mark for mark in sent.list_at("marks") if isinstance(mark, list)][:MAX_MARKS]
    mark_texts = [
        tuple(visible_line(field[:MAX_MARK_CHARS]) for field in mark if isinstance(field, str))
        for mark in marks
    ]
    return tuple(
        PlacedMark(
            f"{place} for {lifetime}" if lifetime else place, _marked_item(place, block, items)
        )
        for place, lifetime, block, *_ in ((*texts, "", "", "") for texts in mark_texts)
        if place
    )


def _marked_item(place: str, block: str, items: ItemList) -> int:
    """Return the index of a captured mark's item, found by the place in the request or by the marked block."""
    if place.startswith("tool "):
        return items.section_index("tools")
    if place.startswith("system block ") or block == "system":
        return items.section_index("system")
    match block.split(" "):
        case ["call" | "result" as subject, call_id] if call_id:
            return items.newest_index_of_call(call_id, "call" if subject == "call" else "output")
        case ["text", content_hash, later_count] if later_count.isdecimal():
            return items.newest_index_of_content(content_hash, int(later_count))
        case _:
            return NO_ITEM


def mark_fields(marks: Iterable[PlacedMark]) -> dict[str, Any]:
    """Return the fields of a request that hold its marks."""
    placed_marks = tuple(marks)
    return {
        "cache_marks": tuple(mark.text for mark in placed_marks),
        "mark_items": tuple(mark.item_index for mark in placed_marks),
    }
