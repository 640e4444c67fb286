"""The texts of a timeline's items, taken from the records of the session's log."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.store.interface import Store
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.parts import (
    SUMMARY_PROMPT,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    PartDelta,
    PartRemoved,
    PartUpdated,
    Record,
)
from palimpsest.transcript.values import BlobRef

RESULT_SUFFIX = "/result"
"""Suffix of the id of the item that is the result of a call."""
TEXT_EVENTS = frozenset(
    {"message.removed", "message.part.updated", "message.part.removed", "message.part.delta"}
)
"""The types of records from which texts are taken."""


def call_text(tool: str, tool_input: Mapping[str, Any]) -> str:
    """Return a call as text: its tool and its input as JSON."""
    return tool + json.dumps(tool_input)


def part_text(part: Part) -> str:
    """Return the text of a part in a request, without the result of a call."""
    match part:
        case TextPart() | ReasoningPart():
            return part.text
        case ToolPart():
            return call_text(part.tool, part.state.input)
        case FilePart():
            return part.filename or part.mime
        case _:
            return part.words_for_model("user")


def result_of(part: ToolPart) -> tuple[str, BlobRef | None, bool] | None:
    """Return a call's result: text, blob of the whole text, whether it failed; None where none is recorded."""
    match part.state:
        case ToolCompleted() as state:
            return state.output, state.blob, False
        case ToolFailed(error="", metadata=metadata) if metadata.get("interrupted"):
            return None
        case ToolFailed() as state:
            return state.error, None, True
        case _:
            return None


@dataclass(slots=True)
class _PartTexts:
    """The texts of one part: its own, or those of its call and result."""

    message_id: str
    text: str
    """The text of a part that is no call; empty for a call."""
    call: tuple[str, Mapping[str, Any]] | None = None
    """Tool and input of a call, whose text is made when it is read."""
    result: tuple[str, BlobRef | None, bool] | None = None
    """The result of a call, as ``result_of`` returns it."""
    may_grow: bool = False
    """Whether deltas may follow."""

    @classmethod
    def of_part(cls, part: Part) -> "_PartTexts":
        """Return the texts of a part; they are those of the part itself, not copies."""
        if isinstance(part, ToolPart):
            call = (part.tool, part.state.input)
            return cls(part.message_id, "", call, result_of(part))
        text = part_text(part) or (SUMMARY_PROMPT if part.type == "compaction" else "")
        return cls(part.message_id, text, may_grow=isinstance(part, TextPart | ReasoningPart))


class ItemTexts:
    """The texts of a session's items: those of its parts, without anything else of the parts.

    They come from the records that are passed to ``update``, or are read from the log once where ``collects_texts`` is not set.
    Where a text's blob is gone, the shortened text in the log is used.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        id_of_index: Callable[[int], str],
        *,
        collects_texts: bool = False,
    ) -> None:
        """``id_of_index`` returns an item's id; with ``collects_texts`` all records will be passed to ``update``."""
        self._store = store
        self._session_id = session_id
        self.id_of_index = id_of_index
        self._parts: dict[str, _PartTexts] | None = {} if collects_texts else None
        self._removed_ids: set[str] = set()
        """Ids of removed messages whose parts are still among ``_parts``."""
        self.blob_by_item: dict[str, str] = {}
        """Blob hashes of the items that are not parts (system prompts and tools), by the items' ids."""

    def update(self, record: Record) -> None:
        """Update the texts with the next record."""
        if self._parts is not None:
            self._apply_event(self._parts, record.event)

    def _apply_event(self, parts: dict[str, _PartTexts], event: Event) -> None:
        match event:
            case PartUpdated(part=part):
                if part.message_id in self._removed_ids:
                    self._forget_removed(parts)
                parts[part.id] = _PartTexts.of_part(part)
            case PartDelta(part_id=part_id, field="text", delta=added_text):
                part_texts = parts.get(part_id)
                if part_texts is not None and part_texts.may_grow:
                    part_texts.text += added_text
            case PartRemoved(part_id=part_id):
                parts.pop(part_id, None)
            case MessageRemoved(message_id=message_id):
                self._removed_ids.add(message_id)
            case _:
                pass

    def _forget_removed(self, parts: dict[str, _PartTexts]) -> None:
        """Remove the parts of the removed messages: of all at once, since each part has to be looked at."""
        for part_id in [
            part_id
            for part_id, part_texts in parts.items()
            if part_texts.message_id in self._removed_ids
        ]:
            del parts[part_id]
        self._removed_ids.clear()

    def __call__(self, index: int) -> str:
        """Return the whole text of an item; empty where the log has none."""
        item_id = self.id_of_index(index)
        if item_id in self.blob_by_item:
            return self._blob_text(self.blob_by_item[item_id], "")
        is_result = item_id.endswith(RESULT_SUFFIX)
        part_texts = self._loaded_parts().get(
            item_id.removesuffix(RESULT_SUFFIX).rpartition("/")[2]
        )
        if part_texts is None:
            return ""
        if not is_result:
            return part_texts.text if part_texts.call is None else call_text(*part_texts.call)
        if part_texts.result is None:
            return ""
        text, blob, _ = part_texts.result
        return text if blob is None else self._blob_text(blob.sha256, text)

    def _blob_text(self, sha256: str, default: str) -> str:
        try:
            return self._store.get_blob(sha256).decode("utf-8", "replace")
        except (OSError, NotFound):
            return default

    def _loaded_parts(self) -> dict[str, _PartTexts]:
        parts = self._parts
        if parts is None:
            parts = {}
            for record in self._store.read(self._session_id, only=TEXT_EVENTS):
                self._apply_event(parts, record.event)
            self._parts = parts
        if self._removed_ids:
            self._forget_removed(parts)
        return parts
