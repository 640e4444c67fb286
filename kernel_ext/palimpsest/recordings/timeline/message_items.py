"""The items of a timeline, made from messages: texts, calls, results, summaries, system prompt and tools.

A message's calls come before their results, in the order in which a request contains them; each result is a separate
message of the provider.
"""

import hashlib
import json
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
from palimpsest.context.visible_messages import CONTINUES_KEY
from palimpsest.recordings.timeline.item_texts import RESULT_SUFFIX, call_text, part_text, result_of
from palimpsest.render.content.phrases import subject
from palimpsest.transcript.context_values.decisions import Decision, pictures_of
from palimpsest.transcript.messages import AssistantMessage, MessageInfo, UserMessage
from palimpsest.transcript.parts import (
    SUMMARY_PROMPT,
    CompactionPart,
    FilePart,
    NotebookPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolPart,
)
from palimpsest.transcript.timeline import SECTION_KINDS, TimelineItem
from palimpsest.transcript.values import CHARS_PER_TOKEN

MAX_LABEL_CHARS = 80
MAX_SEARCHED_CHARS = 2_000
"""Maximum characters of a text in which the line of its label is searched."""
HASH_DIGITS = 32
"""Hex digits of an item's hash."""
ID_DIGITS = 16
"""Hex digits of a blob's hash in the id of a system prompt or of tools."""
_SORTED_JSON = json.JSONEncoder(sort_keys=True, default=str)
MEDIA_CHARS = CHARS_PER_TOKEN * MEDIA_TOKENS
"""Characters that are counted for a picture or file, so that it has the size that the engine assumes."""

Derived = TypeVar("Derived")


def with_own_containers(source: Derived) -> Derived:
    """Return a copy of an object with copies of its lists, dictionaries and sets."""
    duplicate = copy(source)
    containers = {
        attribute: copy(value)
        for attribute, value in vars(source).items()
        if isinstance(value, list | dict | set)
    }
    vars(duplicate).update(containers)
    return duplicate


class ItemList:
    """Collects items in the order of their first appearance, and numbers items, turns and provider messages."""

    def __init__(self) -> None:
        self.items: list[TimelineItem] = []
        self.turn = 0
        self.next_request = 0
        """Index of the first request that can show the items added now."""
        self.call_by_waiting_part: dict[str, ToolPart] = {}
        """Calls whose result was not added yet, by the ids of their parts."""
        self._answered_part_ids: set[str] = set()
        """Ids of the parts of waiting calls whose result has come but was not added yet."""
        self._waiting_number: dict[str, int] = {}
        """The place of each waiting call in the order in which they began to wait, by the id of its part."""
        self._waiting_count = 0
        self.item_range_by_message: dict[str, tuple[int, int]] = {}
        """Index of each message's first item, and of the item after its last, without the results of its calls."""
        self.blob_by_item: dict[str, str] = {}
        """Blob hashes of the items that are not parts, by the items' ids."""
        self.pinned_indexes: set[int] = set()
        """Indexes of the items that are pinned in their own part."""
        self._index_by_part_name: dict[str, int] = {}
        """Index of the item of each part, and of each result as ``part/result``."""
        self._first_index_by_message: dict[str, int] = {}
        """Index of each message's first item, by the message's id."""
        self._info_by_id: dict[str, MessageInfo] = {}
        self._block_number = 0
        """Number of the newest message in the provider's form."""
        self._index_by_section: dict[str, int] = {}

    def indexes_of_decision(self, decision: Decision) -> list[int]:
        """Return the indexes to which a decision applies: of a result (excluded with its call), a part, or a message."""
        part_id = decision.part_id
        if part_id is None:
            return self.indexes_of_message(decision.message_id or "")
        part_index = self._index_by_part_name.get(part_id)
        result_index = self._index_by_part_name.get(part_id + RESULT_SUFFIX)
        if decision.action in ("truncate", "clear") and result_index is not None:
            part_index = None
        includes_media = decision.action == "restore" or bool(pictures_of(decision))
        media_indexes = self._media_indexes(part_id) if includes_media else []
        return [index for index in (part_index, result_index, *media_indexes) if index is not None]

    def _media_indexes(self, part_id: str) -> list[int]:
        """Return the indexes of the items of a result's pictures and files."""
        indexes: list[int] = []
        while (
            index := self._index_by_part_name.get(f"{part_id}{RESULT_SUFFIX}/{len(indexes)}")
        ) is not None:
            indexes.append(index)
        return indexes

    def section_index(self, kind: str) -> int:
        """Return the index of the newest system prompt or tools; -1 where there are none."""
        return self._index_by_section.get(kind, -1)

    def last_index_of_parts(self, part_names: Iterable[str]) -> int:
        """Return the index of the last item among some parts and results, given by name; -1 where none is an item."""
        return max((self._index_by_part_name.get(p, -1) for p in part_names), default=-1)

    def newest_index_of_call(self, call_id: str, kind: str) -> int:
        """Return the index of the newest item of a call or of its result, as ``kind`` says; -1 where there is none."""
        matching_indexes = (
            item.index
            for item in reversed(self.items)
            if (item.group, item.kind) == (call_id, kind)
        )
        return next(matching_indexes, -1)

    def newest_index_of_content(self, content_hash: str, later_count: int) -> int:
        """Return the index of the item with a content that ``later_count`` such items follow; -1 where there is none."""
        matching_indexes = (
            item.index for item in reversed(self.items) if item.hash == content_hash
        )
        return next(islice(matching_indexes, later_count, None), -1)

    def indexes_of_message(self, message_id: str) -> list[int]:
        """Return the indexes of a message's items, including the results of its calls."""
        first_index = self._first_index_by_message.get(message_id)
        later_items = self.items[first_index:] if first_index is not None else ()
        return [item.index for item in later_items if item.message == message_id]

    def continuation_indexes(self, summary_index: int) -> list[int]:
        """Return the indexes of a message that the engine wrote right after a summary; empty where it wrote none."""
        message_id = next(
            (item.message for item in self.items[summary_index + 1 :] if item.message), ""
        )
        following_indexes = self.indexes_of_message(message_id) if message_id else []
        return (
            following_indexes
            if any(self.items[index].continues for index in following_indexes)
            else []
        )

    def set_pinned(self, index: int, *, pinned: bool) -> None:
        """Store in an item whether the user pinned it."""
        if self.items[index].pinned != pinned:
            self.items[index] = replace(self.items[index], pinned=pinned)

    def add_results(self) -> None:
        """Add the items of results that have arrived for earlier calls."""
        for part_id in sorted(self._answered_part_ids, key=self._waiting_number.__getitem__):
            self._add_result(self.call_by_waiting_part.pop(part_id))
            del self._waiting_number[part_id]
        self._answered_part_ids.clear()

    def update_waiting(self, part: ToolPart) -> None:
        """Take the newest state of a call that waits for its result."""
        self.call_by_waiting_part[part.id] = part
        (
            self._answered_part_ids.discard
            if result_of(part) is None
            else self._answered_part_ids.add
        )(part.id)

    def add_message(
        self, info: MessageInfo, parts: Iterable[Part], *, is_copied: bool = False
    ) -> None:
        """Add the items of a message that is no summary; one that counts in another session begins no turn."""
        self._info_by_id[info.id] = info
        self._block_number += 1
        begins_turn = isinstance(info, UserMessage) and not info.by_engine and not info.joins
        if begins_turn and not is_copied:
            self.turn += 1
        self._first_index_by_message.setdefault(info.id, len(self.items))
        calls: list[ToolPart] = []
        for part in parts:
            if isinstance(part, ToolPart):
                calls.append(part)
                self._add_call(part, info)
            elif _is_sent(part):
                self._add_item(part.id, info, _item_kind(part, info), part_text(part), part=part)
        for part in calls:
            if result_of(part) is None:
                self._waiting_count += 1
                self._waiting_number.setdefault(part.id, self._waiting_count)
                self.update_waiting(part)
            else:
                self._add_result(part)

    def _add_call(self, part: ToolPart, info: MessageInfo) -> None:
        tool_input = part.state.input
        text = call_text(part.tool, tool_input)
        trimmed_input = {
            key: value.strip() if isinstance(value, str) else value
            for key, value in tool_input.items()
        }
        self._add_item(
            part.id,
            info,
            "call",
            text,
            label=subject(tool_input) or part.tool,
            tool=part.tool,
            group=part.call_id,
            input_hash=_text_hash(part.tool + _SORTED_JSON.encode(trimmed_input)),
        )

    def _add_result(self, part: ToolPart) -> None:
        result = result_of(part)
        info = self._info_by_id.get(part.message_id)
        if result is None or info is None:
            return
        text, blob, is_error = result
        self._block_number += 1
        self._add_item(
            part.id + RESULT_SUFFIX,
            info,
            "output",
            text,
            chars=len(text) if blob is None else blob.chars or blob.bytes,
            text_hash="" if blob is None else blob.sha256[:HASH_DIGITS],
            label=subject(part.state.input) or part.tool,
            tool=part.tool,
            group=part.call_id,
            is_error=is_error,
            pinned=part.pinned,
            created_ms=getattr(getattr(part.state, "time", None), "end", None),
        )
        attachments = part.state.attachments if isinstance(part.state, ToolCompleted) else ()
        for number, file in enumerate(attachments):
            part_name = f"{part.id}{RESULT_SUFFIX}/{number}"
            label = file.filename or file.mime
            self._add_item(part_name, info, "media", label, tool=part.tool, group=part.call_id)

    def _add_item(
        self,
        part_name: str,
        info: MessageInfo,
        kind: str,
        text: str,
        *,
        part: Part | None = None,
        chars: int | None = None,
        text_hash: str = "",
        created_ms: int | None = None,
        label: str = "",
        **fields: Any,
    ) -> None:
        index = len(self.items)
        is_encrypted = isinstance(part, ReasoningPart) and not part.text
        self._index_by_part_name[part_name] = index
        if fields.get("pinned"):
            self.pinned_indexes.add(index)
        if kind not in ("output", "summary"):
            first_index, _ = self.item_range_by_message.get(info.id, (index, 0))
            self.item_range_by_message[info.id] = (first_index, index + 1)
        self.items.append(
            TimelineItem(
                index=index,
                id=f"{info.id}/{part_name}",
                kind=kind,
                message=info.id,
                turn=self.turn,
                entered=self.next_request,
                chars=MEDIA_CHARS if kind == "media" else len(text) if chars is None else chars,
                label=_label(label or text),
                block=self._block_number,
                hash=text_hash or _text_hash(text),
                text="encrypted" if is_encrypted else "none" if kind == "media" else "kept",
                by_program=isinstance(info, UserMessage)
                and (info.by_engine or (isinstance(part, TextPart) and part.synthetic is True)),
                continues=isinstance(part, TextPart)
                and bool((part.metadata or {}).get(CONTINUES_KEY)),
                created=created_ms if created_ms is not None else info.time.created,
                **fields,
            )
        )

    def add_summary(
        self, info: AssistantMessage, parts: Iterable[Part], marker: CompactionPart | None
    ) -> tuple[int, ...] | None:
        """Add a summary's item, and return the indexes that the summary replaces; None where it failed or is empty."""
        texts = [part for part in parts if isinstance(part, TextPart) and _is_final(part)]
        # Failed summaries are stored too: the tail of a later compaction may begin there.
        self._first_index_by_message.setdefault(info.id, len(self.items))
        if not texts or info.error is not None:
            return None
        covered_indexes = self.indexes_before_tail(marker)
        self._block_number += 1
        self._add_item(
            texts[0].id,
            info,
            "summary",
            SUMMARY_PROMPT + "\n".join(part.text for part in texts),
            covers=covered_indexes,
            before=covered_indexes[0] if covered_indexes else None,
        )
        return covered_indexes

    def indexes_before_tail(self, marker: CompactionPart | None) -> tuple[int, ...]:
        """Return the indexes of items that a marker's summary replaces: all before the tail."""
        tail_id = marker.tail_start_id if marker is not None else None
        tail_index = self._first_index_by_message.get(tail_id) if tail_id is not None else None
        return tuple(
            item.index for item in self.items[:tail_index] if item.kind not in SECTION_KINDS
        )

    def add_section(self, kind: str, sha256: str, chars: int) -> int | None:
        """Add the item of another system prompt or other tools; return the replaced item's index, if there is one."""
        replaced_index = self._index_by_section.get(kind)
        if (
            replaced_index is not None
            and self.blob_by_item[self.items[replaced_index].id] == sha256
        ):
            return None
        item_id = f"{kind}/{sha256[:ID_DIGITS]}/{len(self.items)}"
        self.blob_by_item[item_id] = sha256
        self._index_by_section[kind] = len(self.items)
        self._block_number += 1
        self.items.append(
            TimelineItem(
                index=len(self.items),
                id=item_id,
                kind=kind,
                message="",
                turn=self.turn,
                entered=self.next_request,
                chars=chars,
                label="System prompt" if kind == "system" else "Tool definitions",
                block=self._block_number,
                hash=sha256[:HASH_DIGITS],
                before=0,
            )
        )
        self._block_number += 1
        return replaced_index


def part_id_of(item: TimelineItem) -> str:
    """Return the id of the part in the log from which an item was built."""
    return item.id.removeprefix(f"{item.message}/").split("/")[0]


def _is_final(part: TextPart) -> bool:
    """Return whether a text of a summary is final: neither a draft nor part of a failed attempt."""
    is_draft = part.ignored or bool((part.metadata or {}).get(FAILED_ATTEMPT))
    return bool(part.text) and not is_draft


def _is_sent(part: Part) -> bool:
    match part:
        case TextPart():
            return bool(part.text) and not part.ignored
        case ReasoningPart():
            return bool(part.text) or bool(part.metadata)
        case FilePart() | NotebookPart():
            return True
        case CompactionPart():
            return False
        case _:
            return bool(part.words_for_model("user"))


def _item_kind(part: Part, info: MessageInfo) -> str:
    match part:
        case ReasoningPart():
            return "reasoning"
        case NotebookPart():
            return "notebook"
        case FilePart():
            return "media"
        case _:
            return "assistant" if isinstance(info, AssistantMessage) else "user"


def _label(text: str) -> str:
    # The first line that is not blank, by any line break.
    first_lines = text[:MAX_SEARCHED_CHARS].lstrip().partition("\n")[0].splitlines()
    line = first_lines[0].strip() if first_lines else ""
    return line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 1]}…"


def _text_hash(text: str) -> str:
    return hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=HASH_DIGITS // 2
    ).hexdigest()
