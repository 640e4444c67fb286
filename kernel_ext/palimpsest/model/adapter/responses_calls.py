"""Read the calls and the words of an answer in OpenAI's Responses from its events, which tell each input up to four times.

An input comes in deltas, whole at their end, whole in its item, and whole in the end of the answer; servers leave
out any of these, or the index, or give every event of one item another id. litellm takes the deltas alone, gives those
without an index to the first call, and fails at an empty one. So these events are heard here and withheld from it.

Border: events in, pieces for ``tool_call_joiner`` out. A whole input counts more than the deltas before it; nothing here
decides whether an answer had an end.
"""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from palimpsest.model.adapter.tool_call_joiner import json_text

Json = dict[str, Any]

ITEMS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items of an answer that are calls for us, and the field of their input."""
DELTAS = ("function_call_arguments", "custom_tool_call_input")
"""What stands in the name of an event that tells an input, between ``response.`` and ``.delta`` or ``.done``."""
NOT_UNIQUE = re.compile(r"call_\d+")
"""A call's id that some servers count anew in each answer; the item's own is sent back instead, as litellm does."""
NAMELESS = "function_call"
"""The tool of a call whose server never told a name; nobody offers it, so the model reads that there is none."""


@dataclass(slots=True)
class ResponsesCall:
    """One call as its events told it so far."""

    number: int
    item_ids: set[str] = field(default_factory=set)
    call_id: str = ""
    index: int | None = None
    name: str = ""
    held: list[str] = field(default_factory=list)
    """Pieces of the input that came before the name."""
    is_whole: bool = False
    id: str = ""
    """The id under which it was passed on; empty while it was not."""


class ResponsesCalls:
    """The calls of one answer, in the order in which they were announced."""

    def __init__(self) -> None:
        self._calls: list[ResponsesCall] = []
        self._pieces: list[Any] = []

    def take(self) -> list[Any]:
        """Return the pieces heard since the last time: ``index``, ``id``, ``function`` and ``is_whole``."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def hear(self, chunk: Any) -> bool:
        """Hear an event; true where it tells a call only, and is withheld from litellm."""
        kind = event_kind(chunk)
        if kind in {"response.output_item.added", "response.output_item.done"}:
            item = chunk.get("item")
            if not _is_call(item):
                return False
            self._item(item, chunk.get("output_index"), is_whole=kind.endswith("done"))
            return True
        if kind in {"response.completed", "response.incomplete"}:
            answer = chunk.get("response")
            self._end(answer.get("output") if isinstance(answer, dict) else None)
            return False
        name, _, what = kind.removeprefix("response.").rpartition(".")
        if name not in DELTAS or what not in {"delta", "done"}:
            return False
        told = chunk.get("delta") if what == "delta" else chunk.get("arguments", chunk.get("input"))
        self._input(chunk, told, is_whole=what == "done")
        return True

    def _item(self, item: Json, index: Any, *, is_whole: bool) -> None:
        place = index if isinstance(index, int) else None
        call = self._known(item, place)
        if call is None:
            call = ResponsesCall(len(self._calls), index=place)
            self._calls.append(call)
        call.item_ids |= {_text(item.get("id"))} - {""}
        call.call_id = call.call_id or _text(item.get("call_id"))
        call.name = call.name or _text(item.get("name"))
        self._announce(call, at_last=is_whole)
        given = item.get(ITEMS[item["type"]])
        if given not in (None, "") or (is_whole and item.get("status") == "completed"):
            # What is announced with its input is whole, too, unless deltas go on with it.
            is_object = given is not None and not isinstance(given, str)
            self._add(call, given, is_whole=is_whole or is_object)

    def _known(self, item: Json, index: int | None) -> ResponsesCall | None:
        """Return the call that an item tells again; None for a new one."""
        own, call_id = _text(item.get("id")), _text(item.get("call_id"))
        for one in self._calls:
            if own and own in one.item_ids:
                return one
        for one in self._calls:
            is_place = index is None or one.index is None or one.index == index
            if call_id and one.call_id == call_id and is_place:
                return one
        if own or call_id:
            return None
        return self._at(index)

    def _at(self, index: int | None) -> ResponsesCall | None:
        found = [one for one in self._calls if index is not None and one.index == index]
        if found:
            return found[-1]
        return self._calls[-1] if index is None and self._calls else None

    def _input(self, chunk: Json, told: Any, *, is_whole: bool) -> None:
        own, index = _text(chunk.get("item_id")), chunk.get("output_index")
        place = index if isinstance(index, int) else None
        known = next((one for one in self._calls if own and own in one.item_ids), None)
        call = known or self._at(place)
        if call is None and place is not None and self._calls:
            call = self._calls[-1]
        if call is None:
            # Nothing announced it; its item may still come, with the name.
            call = ResponsesCall(len(self._calls), {own} - {""}, index=place)
            self._calls.append(call)
        if told not in (None, "") or is_whole:
            self._add(call, told, is_whole=is_whole)

    def _add(self, call: ResponsesCall, told: Any, *, is_whole: bool) -> None:
        if call.is_whole and not is_whole:
            return
        text = json_text(told)
        call.is_whole = call.is_whole or is_whole
        if not call.id:
            call.held = [text] if is_whole else [*call.held, text]
            return
        self._put(call, text, is_whole=is_whole)

    def _announce(self, call: ResponsesCall, *, at_last: bool) -> None:
        """Pass a call on as soon as its name is known, or ``at_last``."""
        if call.id or not (call.name or at_last):
            return
        unique = call.call_id if NOT_UNIQUE.fullmatch(call.call_id) is None else ""
        call.id = unique or next(iter(sorted(call.item_ids)), call.call_id)
        call.id = call.id or f"call_{uuid4().hex}"
        self._put(call, "", name=call.name or NAMELESS)
        held, call.held = call.held, []
        for text in held:
            self._put(call, text, is_whole=call.is_whole)

    def _put(
        self, call: ResponsesCall, text: str, *, name: str | None = None, is_whole: bool = False
    ) -> None:
        function = SimpleNamespace(name=name, arguments=text)
        piece = SimpleNamespace(
            index=call.number, id=call.id, type="function", function=function, is_whole=is_whole
        )
        self._pieces.append(piece)

    def _end(self, output: Any) -> None:
        """Take from the end of an answer what nothing before it told."""
        items = [one for one in output if _is_call(one)] if isinstance(output, list) else []
        left = list(self._calls)
        # A server that makes new ids for the end of an answer tells its calls in the same order.
        is_renamed = not any(_is_same(call, item) for call in left for item in items)
        for item in items:
            told = next((one for one in left if is_renamed or _is_same(one, item)), None)
            if told is None:
                self._item({**item, "status": "completed"}, None, is_whole=True)
                continue
            left.remove(told)
            told.name = told.name or _text(item.get("name"))
            self._announce(told, at_last=True)
            if not told.is_whole:
                self._add(told, item.get(ITEMS[item["type"]]), is_whole=True)
        for call in left:
            self._announce(call, at_last=True)


class ResponsesWords:
    """The words of one answer: what litellm drops of them, a refusal and a text that came in no delta."""

    def __init__(self) -> None:
        self.refused = False
        """The model declined to answer."""
        self._told = self._told_in_item = False

    def hear(self, chunk: Any) -> str:
        """Return what an event says beside its translation."""
        kind = event_kind(chunk)
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            words = _text(chunk.get("delta"))
            self._told_in_item = self._told_in_item or bool(words)
            self._told = self._told or bool(words)
            if kind == "response.output_text.delta":
                return ""
            self.refused = self.refused or bool(words)
            return words
        if kind == "response.output_item.done" and _is_message(chunk.get("item")):
            words = "" if self._told_in_item else self._whole([chunk["item"]])
            self._told, self._told_in_item = self._told or bool(words), False
            return words
        if kind in {"response.completed", "response.incomplete"} and not self._told:
            answer = chunk.get("response")
            return self._whole(answer.get("output") if isinstance(answer, dict) else None)
        return ""

    def _whole(self, items: Any) -> str:
        words = []
        for item in items if isinstance(items, list) else ():
            content = item.get("content") if _is_message(item) else None
            for one in content if isinstance(content, list) else ():
                if isinstance(one, dict):
                    self.refused = self.refused or bool(_text(one.get("refusal")))
                    words.append(_text(one.get("text")) or _text(one.get("refusal")))
        return "".join(words)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "message"


def _is_same(call: ResponsesCall, item: Json) -> bool:
    """Tell whether an item of an answer's end has an id of this call."""
    own, call_id = _text(item.get("id")), _text(item.get("call_id"))
    return bool((own and own in call.item_ids) or (call_id and call_id == call.call_id))


def event_kind(chunk: Any) -> str:
    """Return the type of an event, which litellm writes as a member of its enumeration; empty where it has none."""
    kind = chunk.get("type") if isinstance(chunk, dict) else None
    kind = getattr(kind, "value", kind)
    return kind if isinstance(kind, str) else ""


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in ITEMS


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
