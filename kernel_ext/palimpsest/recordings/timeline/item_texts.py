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
    message: str
    text: str
    """Of a part that is no call."""
    call: tuple[str, Mapping[str, Any]] | None = None
    """Tool and input of a call, whose text is made when it is read."""
    result: tuple[str, BlobRef | None, bool] | None = None
    """See ``result_of``."""
    may_grow: bool = False
    """Whether deltas may follow."""

    @classmethod
    def of(cls, part: Part) -> "_PartTexts":
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
        ids: Callable[[int], str],
        *,
        collects_texts: bool = False,
    ) -> None:
        """With ``collects_texts`` all records of the session will be passed to ``update``, from the first on."""
        self._store = store
        self._session_id = session_id
        self.ids = ids
        self._parts: dict[str, _PartTexts] | None = {} if collects_texts else None
        self._removed_messages: set[str] = set()
        """Removed messages whose parts are still among ``_parts``."""
        self.blobs: dict[str, str] = {}
        """Blob names of the items that are not parts: system prompts and tools."""

    def update(self, record: Record) -> None:
        """Update the texts with the next record."""
        if self._parts is not None:
            self._add(self._parts, record.event)

    def _add(self, parts: dict[str, _PartTexts], event: Event) -> None:
        match event:
            case PartUpdated(part=part):
                if part.message_id in self._removed_messages:
                    self._forget_removed(parts)
                parts[part.id] = _PartTexts.of(part)
            case PartDelta(part_id=name, field="text", delta=more):
                texts = parts.get(name)
                if texts is not None and texts.may_grow:
                    texts.text += more
            case PartRemoved(part_id=name):
                parts.pop(name, None)
            case MessageRemoved(message_id=name):
                self._removed_messages.add(name)
            case _:
                pass

    def _forget_removed(self, parts: dict[str, _PartTexts]) -> None:
        """Remove the parts of the removed messages: of all at once, since each part has to be looked at."""
        for name in [
            name for name, texts in parts.items() if texts.message in self._removed_messages
        ]:
            del parts[name]
        self._removed_messages.clear()

    def __call__(self, index: int) -> str:
        """Return the whole text of an item; empty where the log has none."""
        name = self.ids(index)
        if name in self.blobs:
            return self._blob(self.blobs[name], "")
        is_result = name.endswith(RESULT_SUFFIX)
        texts = self._loaded().get(name.removesuffix(RESULT_SUFFIX).rpartition("/")[2])
        if texts is None:
            return ""
        if not is_result:
            return texts.text if texts.call is None else call_text(*texts.call)
        if texts.result is None:
            return ""
        text, blob, _ = texts.result
        return text if blob is None else self._blob(blob.sha256, text)

    def _blob(self, name: str, default: str) -> str:
        try:
            return self._store.get_blob(name).decode("utf-8", "replace")
        except (OSError, NotFound):
            return default

    def _loaded(self) -> dict[str, _PartTexts]:
        parts = self._parts
        if parts is None:
            parts = {}
            for record in self._store.read(self._session_id, only=TEXT_EVENTS):
                self._add(parts, record.event)
            self._parts = parts
        if self._removed_messages:
            self._forget_removed(parts)
        return parts
