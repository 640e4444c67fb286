"""The items of a timeline as messages give them: texts, calls, results, summaries, system prompt and tools.

A message's calls come before their results, which is the order in which a request holds them; each result is a
message of the provider's own.
"""

import hashlib
import json
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
from palimpsest.context.visible_messages import CONTINUES
from palimpsest.render.content.phrases import subject
from palimpsest.review.timeline.item_texts import RESULT, call_text, part_text, result_of
from palimpsest.transcript.context_values.decisions import Decision, pictures_of
from palimpsest.transcript.messages import AssistantMessage, MessageInfo, UserMessage
from palimpsest.transcript.parts import (
    COMPACTED,
    CompactionPart,
    FilePart,
    NotebookPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolPart,
)
from palimpsest.transcript.timeline import TimelineItem

LABEL_CHARS = 80
MEDIA_CHARS = 4 * MEDIA_TOKENS
"""Characters that a picture or file counts as, so that it weighs what the engine takes it for."""
_BESIDE = ("system", "tools")

T = TypeVar("T")


def with_own_containers(made: T) -> T:
    """Return a copy of an object whose lists, dictionaries and sets may change without changing the other's."""
    other = copy(made)
    own = {k: copy(v) for k, v in vars(made).items() if isinstance(v, list | dict | set)}
    vars(other).update(own)
    return other


class ItemList:
    """Makes items in the order of their first appearance.

    Responsibilities: number items, turns and the provider's messages; know the item of each part.
    """

    def __init__(self) -> None:
        self.items: list[TimelineItem] = []
        self.turn = 0
        self.entered = 0
        """The request that will be the first to show what is made now."""
        self.waiting: dict[str, ToolPart] = {}
        """Calls whose results are still to come, by the ids of their parts."""
        self.answers: dict[str, tuple[int, int]] = {}
        """Where the items of each message begin and end, without the results of its calls."""
        self.blobs: dict[str, str] = {}
        """Blobs of the items that are no parts, by the items' ids."""
        self.marked: set[int] = set()
        """Items whose parts themselves are marked as pinned."""
        self._places: dict[str, int] = {}
        """Item of each part, and of each result as ``part/result``."""
        self._first: dict[str, int] = {}
        """First item of each message."""
        self._infos: dict[str, MessageInfo] = {}
        self._block = 0
        self._sections: dict[str, int] = {}

    def items_of(self, decision: Decision) -> list[int]:
        """Return the items that a decision is about: a call's result, a part, or a whole message.

        What a person excludes goes with its call.
        """
        part_id = decision.part_id
        if part_id is None:
            return self.items_of_message(decision.message_id or "")
        own, result = self._places.get(part_id), self._places.get(part_id + RESULT)
        if decision.action in ("truncate", "clear"):
            own = None if result is not None else own
        media = (
            self._media_of(part_id) if decision.action == "restore" or pictures_of(decision) else []
        )
        return [one for one in (own, result, *media) if one is not None]

    def _media_of(self, part_id: str) -> list[int]:
        """Return the items of the pictures and files of a result."""
        found: list[int] = []
        while (place := self._places.get(f"{part_id}{RESULT}/{len(found)}")) is not None:
            found.append(place)
        return found

    def items_of_message(self, message_id: str) -> list[int]:
        """Return the items of a message, its calls' results among them."""
        first = self._first.get(message_id)
        own = self.items[first:] if first is not None else ()
        return [one.index for one in own if one.message == message_id]

    def continuing(self, summary: int) -> list[int]:
        """Return the items of the message right after a summary, where the engine wrote it to go on."""
        message = next((one.message for one in self.items[summary + 1 :] if one.message), "")
        own = self.items_of_message(message) if message else []
        return own if any(self.items[one].continues for one in own) else []

    def pin(self, item: int, *, pinned: bool) -> None:
        """Note whether a person keeps an item from every reduction."""
        if self.items[item].pinned != pinned:
            self.items[item] = replace(self.items[item], pinned=pinned)

    def add_results(self) -> None:
        """Make the items of the results that have come for earlier calls."""
        for part_id in [one for one, part in self.waiting.items() if result_of(part) is not None]:
            self._result(self.waiting.pop(part_id))

    def add_message(self, info: MessageInfo, parts: Iterable[Part]) -> None:
        """Make the items of a message that is no summary."""
        self._infos[info.id] = info
        self._block += 1
        if isinstance(info, UserMessage) and not info.by_engine and not info.joins:
            self.turn += 1
        self._first.setdefault(info.id, len(self.items))
        calls: list[ToolPart] = []
        for part in parts:
            if isinstance(part, ToolPart):
                calls.append(part)
                self._call(part, info)
            elif _is_sent(part):
                self._item(part.id, info, _kind(part, info), part_text(part), part=part)
        for part in calls:
            if result_of(part) is None:
                self.waiting[part.id] = part
            else:
                self._result(part)

    def _call(self, part: ToolPart, info: MessageInfo) -> None:
        given = part.state.input
        text = call_text(part.tool, given)
        trimmed = {
            key: value.strip() if isinstance(value, str) else value for key, value in given.items()
        }
        digest = _digest(part.tool + json.dumps(trimmed, sort_keys=True, default=str))
        self._item(
            part.id,
            info,
            "call",
            text,
            label=subject(given) or part.tool,
            tool=part.tool,
            group=part.call_id,
            input_hash=digest,
        )

    def _result(self, part: ToolPart) -> None:
        found = result_of(part)
        info = self._infos.get(part.message_id)
        if found is None or info is None:
            return
        text, blob, failed = found
        self._block += 1
        self._item(
            part.id + RESULT,
            info,
            "output",
            text,
            chars=len(text) if blob is None else blob.chars or blob.bytes,
            digest="" if blob is None else blob.sha256[:32],
            label=subject(part.state.input) or part.tool,
            tool=part.tool,
            group=part.call_id,
            is_error=failed,
            pinned=part.pinned,
            created=getattr(getattr(part.state, "time", None), "end", None),
        )
        attached = part.state.attachments if isinstance(part.state, ToolCompleted) else ()
        for number, one in enumerate(attached):
            name = f"{part.id}{RESULT}/{number}"
            label = one.filename or one.mime
            self._item(name, info, "media", label, tool=part.tool, group=part.call_id)

    def _item(
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
        **more: Any,
    ) -> None:
        index = len(self.items)
        encrypted = isinstance(part, ReasoningPart) and not part.text
        self._places[name] = index
        if more.get("pinned"):
            self.marked.add(index)
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
                text="encrypted" if encrypted else "none" if kind == "media" else "kept",
                by_program=isinstance(info, UserMessage)
                and (info.by_engine or (isinstance(part, TextPart) and part.synthetic is True)),
                continues=isinstance(part, TextPart) and bool((part.metadata or {}).get(CONTINUES)),
                created=created if created is not None else info.time.created,
                **more,
            )
        )

    def add_summary(
        self, info: AssistantMessage, parts: Iterable[Part], marker: CompactionPart | None
    ) -> tuple[int, ...] | None:
        """Make the item of a summary, which stands where the first item was that it replaced.

        Returns the replaced items; None where the summary is empty or failed, so that nothing was replaced.
        """
        texts = [part for part in parts if isinstance(part, TextPart) and _is_final(part)]
        # Also one that failed may be where the tail of a later one begins.
        self._first.setdefault(info.id, len(self.items))
        if not texts or info.error is not None:
            return None
        covered = self.before_tail(marker)
        self._block += 1
        self._item(
            texts[0].id,
            info,
            "summary",
            COMPACTED + "\n".join(part.text for part in texts),
            covers=covered,
            before=covered[0] if covered else None,
        )
        return covered

    def before_tail(self, marker: CompactionPart | None) -> tuple[int, ...]:
        """Return the items that the summary of a marker replaces: all that stand before its tail."""
        tail = marker.tail_start_id if marker is not None else None
        until = self._first.get(tail, len(self.items)) if tail is not None else len(self.items)
        return tuple(one.index for one in self.items[:until] if one.kind not in _BESIDE)

    def add_section(self, kind: str, sha256: str, tokens: int) -> int | None:
        """Make the item of a system prompt or of the tools; returns the one that it replaces, if it does."""
        known = self._sections.get(kind)
        if known is not None and self.blobs[self.items[known].id] == sha256:
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
                chars=tokens * 4,
                label="System prompt" if kind == "system" else "Tool definitions",
                block=self._block,
                hash=sha256[:32],
                before=0,
            )
        )
        self._block += 1
        return known


def part_of(item: TimelineItem) -> str:
    """Return the part of the log that an item stands for."""
    return item.id.removeprefix(f"{item.message}/").split("/")[0]


def _is_final(part: TextPart) -> bool:
    """Return whether a text of a summary is no draft of it, and not of an attempt that failed."""
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


def _kind(part: Part, info: MessageInfo) -> str:
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
    line = next((one.strip() for one in text[:2_000].splitlines() if one.strip()), "")
    return line if len(line) <= LABEL_CHARS else f"{line[: LABEL_CHARS - 1]}…"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
