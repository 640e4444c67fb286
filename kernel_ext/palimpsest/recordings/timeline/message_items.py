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

MAX_LABEL_CHARS = 80
CHARS_PER_TOKEN = 4
"""By which the counted tokens of a system prompt and of tools become their characters."""
_SORTED_JSON = json.JSONEncoder(sort_keys=True, default=str)
MEDIA_CHARS = 4 * MEDIA_TOKENS
"""Characters that are counted for a picture or file, so that it has the size that the engine assumes."""

Derived = TypeVar("Derived")


def with_own_containers(source: Derived) -> Derived:
    """Return a copy of an object with copies of its lists, dictionaries and sets."""
    other = copy(source)
    containers = {k: copy(v) for k, v in vars(source).items() if isinstance(v, list | dict | set)}
    vars(other).update(containers)
    return other


class ItemList:
    """Collects items in the order of their first appearance, and numbers items, turns and provider messages."""

    def __init__(self) -> None:
        self.items: list[TimelineItem] = []
        self.turn = 0
        self.entered = 0
        """The first request that can show the items added now."""
        self.waiting_calls: dict[str, ToolPart] = {}
        """Calls without a result yet, by the ids of their parts."""
        self._answered_calls: set[str] = set()
        """Those of them whose result has come since the last item was added, by the ids of their parts."""
        self._waiting_since: dict[str, int] = {}
        """For each of them, the number of calls that began to wait before it."""
        self._waiting_count = 0
        self.answers: dict[str, tuple[int, int]] = {}
        """First and last item of each message, without the results of its calls."""
        self.blobs: dict[str, str] = {}
        """Blob names of the items that are not parts, by the items' ids."""
        self.pinned_items: set[int] = set()
        """Items that are pinned in their own part."""
        self._index_of_part: dict[str, int] = {}
        """Index of the item of each part, and of each result as ``part/result``."""
        self._first_items: dict[str, int] = {}
        """Index of the first item of each message."""
        self._infos: dict[str, MessageInfo] = {}
        self._block = 0
        self._sections: dict[str, int] = {}

    def items_of(self, decision: Decision) -> list[int]:
        """Return the items to which a decision applies: a result (excluded with its call), a part, or a whole message."""
        part_id = decision.part_id
        if part_id is None:
            return self.items_of_message(decision.message_id or "")
        part_item = self._index_of_part.get(part_id)
        result = self._index_of_part.get(part_id + RESULT_SUFFIX)
        if decision.action in ("truncate", "clear") and result is not None:
            part_item = None
        has_media = decision.action == "restore" or bool(pictures_of(decision))
        media = self._media_of(part_id) if has_media else []
        return [index for index in (part_item, result, *media) if index is not None]

    def _media_of(self, part_id: str) -> list[int]:
        """Return the items of the pictures and files of a result."""
        items: list[int] = []
        while (
            index := self._index_of_part.get(f"{part_id}{RESULT_SUFFIX}/{len(items)}")
        ) is not None:
            items.append(index)
        return items

    def section(self, kind: str) -> int:
        """Return the newest item of a system prompt or of tools; -1 where there is none."""
        return self._sections.get(kind, -1)

    def last_of_parts(self, names: Iterable[str]) -> int:
        """Return the last of the items of some parts and results, by their names; -1 where none is an item."""
        return max((self._index_of_part.get(name, -1) for name in names), default=-1)

    def newest_of_call(self, call: str, kind: str) -> int:
        """Return the newest item of a call, itself or its result; -1 where there is none."""
        same = (
            item.index for item in reversed(self.items) if (item.group, item.kind) == (call, kind)
        )
        return next(same, -1)

    def newest_of_content(self, digest: str, later: int) -> int:
        """Return the newest item with a content but for ``later`` ones after it; -1 where there is none."""
        same = (item.index for item in reversed(self.items) if item.hash == digest)
        return next(islice(same, later, None), -1)

    def items_of_message(self, message_id: str) -> list[int]:
        """Return the items of a message, including the results of its calls."""
        first = self._first_items.get(message_id)
        later_items = self.items[first:] if first is not None else ()
        return [item.index for item in later_items if item.message == message_id]

    def continuation_of(self, summary: int) -> list[int]:
        """Return the items of a message that the engine wrote right after a summary; empty where there is none."""
        message = next((item.message for item in self.items[summary + 1 :] if item.message), "")
        following = self.items_of_message(message) if message else []
        return following if any(self.items[index].continues for index in following) else []

    def pin(self, item: int, *, pinned: bool) -> None:
        """Store whether the user pinned an item."""
        if self.items[item].pinned != pinned:
            self.items[item] = replace(self.items[item], pinned=pinned)

    def add_results(self) -> None:
        """Add the items of results that have arrived for earlier calls."""
        for part_id in sorted(self._answered_calls, key=self._waiting_since.__getitem__):
            self._result(self.waiting_calls.pop(part_id))
            del self._waiting_since[part_id]
        self._answered_calls.clear()

    def update_waiting(self, part: ToolPart) -> None:
        """Take the newest state of a call that waits for its result."""
        self.waiting_calls[part.id] = part
        (self._answered_calls.discard if result_of(part) is None else self._answered_calls.add)(
            part.id
        )

    def add_message(
        self, info: MessageInfo, parts: Iterable[Part], *, is_copied: bool = False
    ) -> None:
        """Add the items of a message that is no summary; one that counts in another session begins no turn."""
        self._infos[info.id] = info
        self._block += 1
        begins_turn = isinstance(info, UserMessage) and not info.by_engine and not info.joins
        if begins_turn and not is_copied:
            self.turn += 1
        self._first_items.setdefault(info.id, len(self.items))
        calls: list[ToolPart] = []
        for part in parts:
            if isinstance(part, ToolPart):
                calls.append(part)
                self._call(part, info)
            elif _is_sent(part):
                self._add_item(part.id, info, _item_kind(part, info), part_text(part), part=part)
        for part in calls:
            if result_of(part) is None:
                self._waiting_count += 1
                self._waiting_since.setdefault(part.id, self._waiting_count)
                self.update_waiting(part)
            else:
                self._result(part)

    def _call(self, part: ToolPart, info: MessageInfo) -> None:
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
            input_hash=_digest(part.tool + _SORTED_JSON.encode(trimmed_input)),
        )

    def _result(self, part: ToolPart) -> None:
        result = result_of(part)
        info = self._infos.get(part.message_id)
        if result is None or info is None:
            return
        text, blob, is_error = result
        self._block += 1
        self._add_item(
            part.id + RESULT_SUFFIX,
            info,
            "output",
            text,
            chars=len(text) if blob is None else blob.chars or blob.bytes,
            digest="" if blob is None else blob.sha256[:32],
            label=subject(part.state.input) or part.tool,
            tool=part.tool,
            group=part.call_id,
            is_error=is_error,
            pinned=part.pinned,
            created=getattr(getattr(part.state, "time", None), "end", None),
        )
        attached = part.state.attachments if isinstance(part.state, ToolCompleted) else ()
        for number, file in enumerate(attached):
            name = f"{part.id}{RESULT_SUFFIX}/{number}"
            label = file.filename or file.mime
            self._add_item(name, info, "media", label, tool=part.tool, group=part.call_id)

    def _add_item(
        self,
        name: str,
        info: MessageInfo,
        kind: str,
        text: str,
        *,
        part: Part | None = None,
        chars: int | None = None,
        digest: str = "",
        created: int | None = None,
        label: str = "",
        **fields: Any,
    ) -> None:
        index = len(self.items)
        is_encrypted = isinstance(part, ReasoningPart) and not part.text
        self._index_of_part[name] = index
        if fields.get("pinned"):
            self.pinned_items.add(index)
        if kind not in ("output", "summary"):
            first, _ = self.answers.get(info.id, (index, 0))
            self.answers[info.id] = (first, index + 1)
        self.items.append(
            TimelineItem(
                index=index,
                id=f"{info.id}/{name}",
                kind=kind,
                message=info.id,
                turn=self.turn,
                entered=self.entered,
                chars=MEDIA_CHARS if kind == "media" else len(text) if chars is None else chars,
                label=_label(label or text),
                block=self._block,
                hash=digest or _digest(text),
                text="encrypted" if is_encrypted else "none" if kind == "media" else "kept",
                by_program=isinstance(info, UserMessage)
                and (info.by_engine or (isinstance(part, TextPart) and part.synthetic is True)),
                continues=isinstance(part, TextPart)
                and bool((part.metadata or {}).get(CONTINUES_KEY)),
                created=created if created is not None else info.time.created,
                **fields,
            )
        )

    def add_summary(
        self, info: AssistantMessage, parts: Iterable[Part], marker: CompactionPart | None
    ) -> tuple[int, ...] | None:
        """Add a summary's item, and return the items that the summary replaces; None where it is empty or failed."""
        texts = [part for part in parts if isinstance(part, TextPart) and _is_final(part)]
        # Failed summaries are stored too: the tail of a later compaction may begin there.
        self._first_items.setdefault(info.id, len(self.items))
        if not texts or info.error is not None:
            return None
        covered_items = self.before_tail(marker)
        self._block += 1
        self._add_item(
            texts[0].id,
            info,
            "summary",
            SUMMARY_PROMPT + "\n".join(part.text for part in texts),
            covers=covered_items,
            before=covered_items[0] if covered_items else None,
        )
        return covered_items

    def before_tail(self, marker: CompactionPart | None) -> tuple[int, ...]:
        """Return the items that a marker's summary replaces: all items before the tail."""
        tail = marker.tail_start_id if marker is not None else None
        end = self._first_items.get(tail) if tail is not None else None
        return tuple(item.index for item in self.items[:end] if item.kind not in SECTION_KINDS)

    def add_section(self, kind: str, sha256: str, chars: int) -> int | None:
        """Add the item of a system prompt or of the tools, and return the item that it replaces, if there is one."""
        section_before = self._sections.get(kind)
        if section_before is not None and self.blobs[self.items[section_before].id] == sha256:
            return None
        name = f"{kind}/{sha256[:16]}/{len(self.items)}"
        self.blobs[name] = sha256
        self._sections[kind] = len(self.items)
        self._block += 1
        self.items.append(
            TimelineItem(
                index=len(self.items),
                id=name,
                kind=kind,
                message="",
                turn=self.turn,
                entered=self.entered,
                chars=chars,
                label="System prompt" if kind == "system" else "Tool definitions",
                block=self._block,
                hash=sha256[:32],
                before=0,
            )
        )
        self._block += 1
        return section_before


def part_of(item: TimelineItem) -> str:
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
    first_lines = text[:2_000].lstrip().partition("\n")[0].splitlines()
    line = first_lines[0].strip() if first_lines else ""
    return line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 1]}…"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
