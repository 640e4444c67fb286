"""Join the streamed pieces of tool calls, in the varying forms that servers send.

A piece names a call by its index, by its id, by both or by neither; the rest of an input may come under
another index, whole inputs may come again, and each chunk may repeat all earlier text. A piece is assigned
to its call at once; how the pieces of an input make one JSON value is decided at the end.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import uuid4

from palimpsest.model.interface import ToolCalled

NO_INPUT = frozenset({"", "{}", "null"})
"""Texts that servers send for an input that is empty or follows later."""


@dataclass(slots=True)
class StreamedCall:
    """One tool call whose input is still arriving."""

    id: str
    tool: str
    sent_id: str = ""
    """The server's id, which another call may have too; empty where it sent none."""
    input_pieces: list[str] = field(default_factory=list)
    is_ended: bool = False

    def replace_input(self, full_input: str) -> str:
        """Replace the pieces by the whole input; returns the text that it adds to them, for display."""
        earlier_text = "".join(self.input_pieces)
        self.input_pieces = [full_input] if full_input else []
        return full_input.removeprefix(earlier_text) if full_input.startswith(earlier_text) else ""

    def complete_call(self) -> ToolCalled:
        """Return the complete call; an input that is no JSON becomes a problem, not an error."""
        return tool_called(self.id, self.tool, input_text(self.input_pieces))


@dataclass(frozen=True, slots=True)
class JoinedPiece:
    """The effect of a piece: its call, whether that is new, and the new text of its input."""

    call: StreamedCall
    is_new: bool
    text: str


class StreamedCalls:
    """The tool calls of one answer, in the order in which the model began them."""

    def __init__(self) -> None:
        self.calls: list[StreamedCall] = []
        self._calls_by_index: dict[int, StreamedCall] = {}
        self._calls_by_id: dict[str, StreamedCall] = {}

    def add_piece(self, piece: Any) -> JoinedPiece:
        """Add a piece of a provider's ``tool_calls`` to its call, or begin a new one.

        A piece that ``is_whole`` is the complete input, and replaces the pieces before it.
        """
        function = getattr(piece, "function", None)
        name = json_text(getattr(function, "name", None))
        arguments = json_text(getattr(function, "arguments", None))
        sent_id = json_text(getattr(piece, "id", None))
        index = getattr(piece, "index", None)
        index = index if isinstance(index, int) else 0
        call = self._continued_call(index, sent_id, name, arguments)
        is_new = call is None
        if call is None:
            call = StreamedCall(self._unused_id(sent_id), name, sent_id)
            self.calls.append(call)
            self._calls_by_index[index] = call
        elif name and not any(call.input_pieces):
            # The name is repeated, repeated with more of it, or continued.
            call.tool = name if name.startswith(call.tool) else call.tool + name
        if sent_id:
            self._calls_by_id.setdefault(sent_id, call)
        if getattr(piece, "is_whole", False):
            return JoinedPiece(call, is_new, call.replace_input(arguments))
        if arguments:
            call.input_pieces.append(arguments)
        return JoinedPiece(call, is_new, arguments)

    def _continued_call(
        self, index: int, sent_id: str, name: str, arguments: str
    ) -> StreamedCall | None:
        """Return the call that a piece continues; None where it begins a new one."""
        call_at_index = self._calls_by_index.get(index)
        known_call = self._calls_by_id.get(sent_id) if sent_id else None
        if call_at_index is not None and sent_id and call_at_index.sent_id == sent_id:
            return call_at_index
        # A new index with a name begins another call, even where a server gives all calls the same id.
        if known_call is not None and (call_at_index is not None or not name):
            return known_call
        if not name:
            # Some servers make an id for each chunk; others raise the index, and send an id only at the beginning.
            newest_call = self.calls[-1] if self.calls and not sent_id else None
            return call_at_index or newest_call
        if call_at_index is None or sent_id:
            return None
        is_complete = bool(call_at_index.input_pieces) and _is_json(
            input_text(call_at_index.input_pieces)
        )
        begins_another = is_complete and not _repeats_call(call_at_index, name, arguments)
        return None if begins_another else call_at_index

    def _unused_id(self, sent_id: str) -> str:
        used_ids = {call.id for call in self.calls}
        return sent_id if sent_id and sent_id not in used_ids else f"call_{uuid4().hex}"


def input_text(pieces: Sequence[str]) -> str:
    """Return the text of a call's input: the joined pieces, or where these are not JSON, the input that they repeat.

    Servers send an empty input first, the whole input again at the end, or in each chunk all that was
    written so far. A repeated input counts only where it is one JSON value; otherwise the pieces are just joined.
    """
    joined_text = "".join(pieces)
    if _is_json(joined_text):
        return joined_text
    for candidate in (_only_repeated_value(joined_text), _last_cumulative(pieces)):
        if candidate is not None and _is_json(candidate):
            return candidate
    return joined_text


def _only_repeated_value(joined: str) -> str | None:
    """Return the only value in a text that repeats it, or has empty values before it."""
    decoder, position, values = json.JSONDecoder(), 0, set()
    text = joined.strip()
    while position < len(text):
        try:
            _, value_end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        values.add(text[position:value_end])
        position = value_end + len(text[value_end:]) - len(text[value_end:].lstrip())
    inputs = values - NO_INPUT
    return inputs.pop() if len(inputs) == 1 else None


def _last_cumulative(pieces: Sequence[str]) -> str | None:
    """Return the last piece, where each piece begins with the one before."""
    pieces_with_input = [piece for piece in pieces if piece.strip() not in NO_INPUT]
    is_cumulative = all(later.startswith(earlier) for earlier, later in pairwise(pieces_with_input))
    return pieces_with_input[-1] if pieces_with_input and is_cumulative else None


def _repeats_call(call: StreamedCall, name: str, arguments: str) -> bool:
    """Return whether a piece with a name, but without an id, repeats a complete call."""
    if name != call.tool:
        return False
    # An empty input announced the call; the real one follows under the same name.
    if input_text(call.input_pieces).strip() in NO_INPUT:
        return True
    return not arguments or arguments == input_text(call.input_pieces)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_text(value: Any) -> str:
    """Return text unchanged, and any other value (an input sent as an object) as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def tool_called(call_id: str, tool: str, raw_input: str) -> ToolCalled:
    """Parse the input of a complete call; input that cannot be parsed becomes a problem, not an error."""
    if not raw_input.strip():
        return ToolCalled(call_id, tool, {}, raw_input)
    try:
        value = json.loads(raw_input)
        if isinstance(value, str):
            value = _unwrap_json(value)
        # Some servers send null for a call without input.
        value = {} if value is None else value
    except ValueError as error:
        problem = f"The input is no valid JSON: {error}."
        return ToolCalled(call_id, tool, {}, raw_input, problem=problem)
    except RecursionError:
        problem = "The input is nested too deeply."
        return ToolCalled(call_id, tool, {}, raw_input, problem=problem)
    return ToolCalled(call_id, tool, value, raw_input)


def _unwrap_json(value: str) -> Any:
    """Undo the second encoding that some local models add."""
    try:
        inner = json.loads(value)
    except ValueError:
        return value
    return inner if isinstance(inner, dict) else value
