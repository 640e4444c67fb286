"""The texts of a timeline's items, read from the session's log on demand."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from palimpsest.store.interface import Store
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.parts import (
    COMPACTED,
    FilePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.session_record.events import PartDelta, PartUpdated, Record
from palimpsest.transcript.values import BlobRef

RESULT = "/result"
"""Suffix of the id of the item that is the result of a call."""


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
        case ToolFailed(error="", metadata=about) if about.get("interrupted"):
            return None
        case ToolFailed() as state:
            return state.error, None, True
        case _:
            return None


class ItemTexts:
    """Reads the texts of items from the log, once; where a text's blob is gone, the shortened text in the log is used."""

    def __init__(self, store: Store, session_id: str, ids: Callable[[int], str]) -> None:
        self._store = store
        self._session_id = session_id
        self.ids = ids
        self._parts: dict[str, Part] | None = None
        self._seq = 0
        """Number of the last record that was read."""
        self.blobs: dict[str, str] = {}
        """Blob names of the items that are not parts: system prompts and tools."""

    def update(self, record: Record) -> None:
        """Update the texts with a record; ignore a record that was already read."""
        parts_read = self._parts
        if parts_read is None or record.seq <= self._seq:
            return
        match record.event:
            case PartUpdated(part=part):
                parts_read[part.id] = part
            case PartDelta(part_id=name, field="text", delta=more):
                text_part = parts_read.get(name)
                if isinstance(text_part, TextPart | ReasoningPart):
                    parts_read[name] = text_part.model_copy(update={"text": text_part.text + more})
            case _:
                pass

    def __call__(self, index: int) -> str:
        """Return the whole text of an item; empty where the log has none."""
        name = self.ids(index)
        if name in self.blobs:
            return self._blob(self.blobs[name], "")
        is_result = name.endswith(RESULT)
        part = self._loaded().get(name.removesuffix(RESULT).rpartition("/")[2])
        if part is None:
            return ""
        if not is_result:
            text = part_text(part)
            return text or (COMPACTED if part.type == "compaction" else "")
        result = result_of(part) if isinstance(part, ToolPart) else None
        if result is None:
            return ""
        text, blob, _ = result
        return text if blob is None else self._blob(blob.sha256, text)

    def _blob(self, name: str, default: str) -> str:
        try:
            return self._store.get_blob(name).decode("utf-8", "replace")
        except (OSError, NotFound):
            return default

    def _loaded(self) -> dict[str, Part]:
        if self._parts is None:
            state = self._store.load(self._session_id)
            self._seq = state.seq
            self._parts = {part.id: part for message in state.messages() for part in message.parts}
        return self._parts
