"""Read an answer's calls and text from the events of OpenAI's Responses API.

An input comes up to four times: in deltas, whole at their end, in its item, and in the end of the answer; servers leave
out any of these, or the index, or give every event of an item another id. litellm uses the deltas alone, assigns those
without an index to the first call, and fails at an empty delta. So these events are read here and withheld from it.
Border: events in, pieces for ``tool_call_joiner`` out. A whole input replaces the deltas before it; other modules
decide whether an answer had an end.
"""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from palimpsest.model.adapter.tool_call_joiner import json_text

Json = dict[str, Any]

INPUT_FIELDS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items of an answer that are calls for us, and the field of their input."""
INPUT_EVENTS = ("function_call_arguments", "custom_tool_call_input")
"""Names of the events that stream an input, between ``response.`` and ``.delta`` or ``.done``."""
REUSED_ID = re.compile(r"call_\d+")
"""A call's id that some servers reuse in each answer; the item's id is sent back instead, as litellm does."""
UNKNOWN_TOOL = "function_call"
"""Tool name of a call whose server never sent one; no such tool is offered, so the model reads that it is unknown."""


@dataclass(slots=True)
class ResponsesCall:
    """One call, as far as its events have arrived."""

    number: int
    item_ids: set[str] = field(default_factory=set)
    call_id: str = ""
    index: int | None = None
    name: str = ""
    held_pieces: list[str] = field(default_factory=list)
    """Pieces of the input that came before the name."""
    is_whole: bool = False
    id: str = ""
    """The id under which it was passed on; empty before that."""


class ResponsesCalls:
    """The calls of one answer, in the order in which they were announced."""

    def __init__(self) -> None:
        self._calls: list[ResponsesCall] = []
        self._call_pieces: list[Any] = []

    def take_pieces(self) -> list[Any]:
        """Return the pieces since the last call: ``index``, ``id``, ``function`` and ``is_whole``."""
        pieces, self._call_pieces = self._call_pieces, []
        return pieces

    def read_chunk(self, chunk: Any) -> bool:
        """Read an event; returns whether it is only about a call, so that litellm must not get it."""
        event_type = event_type_of(chunk)
        if event_type in {"response.output_item.added", "response.output_item.done"}:
            item = chunk.get("item")
            if not _is_call(item):
                return False
            self._add_item(item, chunk.get("output_index"), is_whole=event_type.endswith("done"))
            return True
        if event_type in {"response.completed", "response.incomplete"}:
            answer = chunk.get("response")
            self._take_final_calls(answer.get("output") if isinstance(answer, dict) else None)
            return False
        name, _, event_part = event_type.removeprefix("response.").rpartition(".")
        if name not in INPUT_EVENTS or event_part not in {"delta", "done"}:
            return False
        if event_part == "delta":
            arguments = chunk.get("delta")
        else:
            arguments = chunk.get("arguments", chunk.get("input"))
        self._read_input(chunk, arguments, is_whole=event_part == "done")
        return True

    def _add_item(self, item: Json, index: Any, *, is_whole: bool) -> None:
        position = index if isinstance(index, int) else None
        call = self._known_call(item, position)
        if call is None:
            call = ResponsesCall(len(self._calls), index=position)
            self._calls.append(call)
        call.item_ids |= {_text(item.get("id"))} - {""}
        call.call_id = call.call_id or _text(item.get("call_id"))
        call.name = call.name or _text(item.get("name"))
        self._pass_on(call, at_last=is_whole)
        raw_input = item.get(INPUT_FIELDS[item["type"]])
        if raw_input not in (None, "") or (is_whole and item.get("status") == "completed"):
            # An item with its input is whole, too, unless deltas continue it.
            is_object = raw_input is not None and not isinstance(raw_input, str)
            self._add_input(call, raw_input, is_whole=is_whole or is_object)

    def _known_call(self, item: Json, index: int | None) -> ResponsesCall | None:
        """Return the known call that an item repeats; None for a new one."""
        item_id, call_id = _text(item.get("id")), _text(item.get("call_id"))
        for call in self._calls:
            if item_id and item_id in call.item_ids:
                return call
        for call in self._calls:
            is_same_index = index is None or call.index is None or call.index == index
            if call_id and call.call_id == call_id and is_same_index:
                return call
        if item_id or call_id:
            return None
        return self._call_at(index)

    def _call_at(self, index: int | None) -> ResponsesCall | None:
        calls = [call for call in self._calls if index is not None and call.index == index]
        newest_calls = calls or (self._calls if index is None else [])
        return newest_calls[-1] if newest_calls else None

    def _read_input(self, chunk: Json, arguments: Any, *, is_whole: bool) -> None:
        item_id, index = _text(chunk.get("item_id")), chunk.get("output_index")
        position = index if isinstance(index, int) else None
        known_calls = (call for call in self._calls if item_id and item_id in call.item_ids)
        call = next(known_calls, None) or self._call_at(position)
        if call is None and position is not None and self._calls:
            call = self._calls[-1]
        if call is None:
            # The call was not announced; its item may still come, with the name.
            call = ResponsesCall(len(self._calls), {item_id} - {""}, index=position)
            self._calls.append(call)
        if arguments not in (None, "") or is_whole:
            self._add_input(call, arguments, is_whole=is_whole)

    def _add_input(self, call: ResponsesCall, arguments: Any, *, is_whole: bool) -> None:
        if call.is_whole and not is_whole:
            return
        text = json_text(arguments)
        call.is_whole = call.is_whole or is_whole
        if call.id:
            self._add_piece(call, text, is_whole=is_whole)
        else:
            call.held_pieces = [text] if is_whole else [*call.held_pieces, text]

    def _pass_on(self, call: ResponsesCall, *, at_last: bool) -> None:
        """Pass a call on as soon as its name is known, or ``at_last``."""
        if call.id or not (call.name or at_last):
            return
        unique_id = call.call_id if REUSED_ID.fullmatch(call.call_id) is None else ""
        call.id = unique_id or min(call.item_ids, default=call.call_id) or f"call_{uuid4().hex}"
        self._add_piece(call, "", name=call.name or UNKNOWN_TOOL)
        held_pieces, call.held_pieces = call.held_pieces, []
        for text in held_pieces:
            self._add_piece(call, text, is_whole=call.is_whole)

    def _add_piece(
        self, call: ResponsesCall, text: str, *, name: str | None = None, is_whole: bool = False
    ) -> None:
        function = SimpleNamespace(name=name, arguments=text)
        fields = {"index": call.number, "id": call.id, "type": "function", "function": function}
        self._call_pieces.append(SimpleNamespace(**fields, is_whole=is_whole))

    def _take_final_calls(self, output: Any) -> None:
        """Take from an answer's final event the calls that no earlier event has sent."""
        items = [entry for entry in output if _is_call(entry)] if isinstance(output, list) else []
        open_calls = list(self._calls)
        # A server with new ids at the end of an answer repeats its calls in the same order.
        is_renamed = not any(_is_same(call, item) for call in open_calls for item in items)
        for item in items:
            same_calls = (call for call in open_calls if is_renamed or _is_same(call, item))
            call = next(same_calls, None)
            if call is None:
                self._add_item({**item, "status": "completed"}, None, is_whole=True)
                continue
            open_calls.remove(call)
            call.name = call.name or _text(item.get("name"))
            self._pass_on(call, at_last=True)
            if not call.is_whole:
                self._add_input(call, item.get(INPUT_FIELDS[item["type"]]), is_whole=True)
        for call in open_calls:
            self._pass_on(call, at_last=True)


class ResponsesText:
    """The text of one answer that litellm drops: a refusal, and a text that came in no delta."""

    def __init__(self) -> None:
        self.is_refused = False
        """Whether the model declined to answer."""
        self._has_text = self._item_has_text = False

    def read_chunk(self, chunk: Any) -> str:
        """Return the text of an event that litellm's translation leaves out."""
        event_type = event_type_of(chunk)
        if event_type in {"response.output_text.delta", "response.refusal.delta"}:
            text = _text(chunk.get("delta"))
            self._item_has_text = self._item_has_text or bool(text)
            self._has_text = self._has_text or bool(text)
            if event_type == "response.output_text.delta":
                return ""
            self.is_refused = self.is_refused or bool(text)
            return text
        if event_type == "response.output_item.done" and _is_message(chunk.get("item")):
            text = "" if self._item_has_text else self._whole_text([chunk["item"]])
            self._has_text, self._item_has_text = self._has_text or bool(text), False
            return text
        if event_type in {"response.completed", "response.incomplete"} and not self._has_text:
            answer = chunk.get("response")
            return self._whole_text(answer.get("output") if isinstance(answer, dict) else None)
        return ""

    def _whole_text(self, items: Any) -> str:
        texts = []
        for item in items if isinstance(items, list) else ():
            content = item.get("content") if _is_message(item) else None
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    self.is_refused = self.is_refused or bool(_text(block.get("refusal")))
                    texts.append(_text(block.get("text")) or _text(block.get("refusal")))
        return "".join(texts)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "message"


def _is_same(call: ResponsesCall, item: Json) -> bool:
    """Return whether an item of an answer's end has an id of this call."""
    item_id, call_id = _text(item.get("id")), _text(item.get("call_id"))
    return bool((item_id and item_id in call.item_ids) or (call_id and call_id == call.call_id))


def event_type_of(chunk: Any) -> str:
    """Return the type of an event, which may be a member of litellm's enumeration; empty where it has none."""
    event_type = chunk.get("type") if isinstance(chunk, dict) else None
    event_type = getattr(event_type, "value", event_type)
    return event_type if isinstance(event_type, str) else ""


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in INPUT_FIELDS


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
