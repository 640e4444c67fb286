"""Join the streamed pieces of tool calls, in the dialects that servers speak.

A piece names a call by its index, by its id, by both or by neither; the rest of an input may come under
another index, whole inputs may come again, and each chunk may hold all that was written so far. What a piece
belongs to is decided when it comes; how the pieces of an input make one JSON value is decided at the end,
when all of them are there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import uuid4

from palimpsest.model.interface import ToolCalled

NO_INPUT = frozenset({"", "{}", "null"})
"""What servers send for an input that is still to come, or that there is none of."""


@dataclass(slots=True)
class StreamedCall:
    """One tool call whose input is still arriving."""

    id: str
    tool: str
    sent_id: str = ""
    """The id that the server wrote, which may be that of another call too; empty where it wrote none."""
    pieces: list[str] = field(default_factory=list)
    ended: bool = False

    def replace(self, whole: str) -> str:
        """Take the whole input in place of its pieces; returns what it adds to them, for who reads along."""
        before, self.pieces = "".join(self.pieces), [whole] if whole else []
        return whole.removeprefix(before) if whole.startswith(before) else ""

    def called(self) -> ToolCalled:
        """Return the complete call; an input that is no JSON becomes a problem, not an error."""
        return tool_called(self.id, self.tool, input_text(self.pieces))


@dataclass(frozen=True, slots=True)
class JoinedPiece:
    """What a piece changed: its call, whether that is new, and the new text of its input."""

    call: StreamedCall
    is_new: bool
    text: str


class StreamedCalls:
    """The tool calls of one answer, in the order in which the model began them."""

    def __init__(self) -> None:
        self.calls: list[StreamedCall] = []
        self._by_index: dict[int, StreamedCall] = {}
        self._by_id: dict[str, StreamedCall] = {}

    def join(self, piece: Any) -> JoinedPiece:
        """Add a piece of a provider's ``tool_calls`` to its call, or begin a new one.

        A piece that ``is_whole`` is the input by the server's word, and takes the place of those before it.
        """
        function = getattr(piece, "function", None)
        name = json_text(getattr(function, "name", None))
        arguments = json_text(getattr(function, "arguments", None))
        identifier = json_text(getattr(piece, "id", None))
        index = getattr(piece, "index", None)
        index = index if isinstance(index, int) else 0
        call = self._continued(index, identifier, name, arguments)
        is_new = call is None
        if call is None:
            call = StreamedCall(self._free_id(identifier), name, identifier)
            self.calls.append(call)
            self._by_index[index] = call
        elif name and not any(call.pieces):
            # The name is told again, told so far, or goes on.
            call.tool = name if name.startswith(call.tool) else call.tool + name
        if identifier:
            self._by_id.setdefault(identifier, call)
        if getattr(piece, "is_whole", False):
            return JoinedPiece(call, is_new, call.replace(arguments))
        if arguments:
            call.pieces.append(arguments)
        return JoinedPiece(call, is_new, arguments)

    def _continued(
        self, index: int, identifier: str, name: str, arguments: str
    ) -> StreamedCall | None:
        """Return the call that a piece goes on with; None where it begins one."""
        at_index = self._by_index.get(index)
        known = self._by_id.get(identifier) if identifier else None
        if at_index is not None and identifier and at_index.sent_id == identifier:
            return at_index
        # An index of its own and a name make another call, although some servers give equal ids to all.
        if known is not None and (at_index is not None or not name):
            return known
        if not name:
            # Some servers make an id for each chunk; others count the index on, and send an id only at the beginning.
            newest = self.calls[-1] if self.calls and not identifier else None
            return at_index or newest
        if at_index is None or identifier:
            return None
        is_complete = bool(at_index.pieces) and _parses(input_text(at_index.pieces))
        begins_another = is_complete and not _repeats(at_index, name, arguments)
        return None if begins_another else at_index

    def _free_id(self, wanted: str) -> str:
        taken = {call.id for call in self.calls}
        return wanted if wanted and wanted not in taken else f"call_{uuid4().hex}"


def input_text(pieces: Sequence[str]) -> str:
    """Return the text of a call's input: the pieces joined, or what they say where joining them makes no JSON.

    Servers send an empty input first, the whole input again at the end, or in each chunk all that was
    written so far. Such a reading counts only where it is one JSON value; otherwise the pieces stay as they came.
    """
    joined = "".join(pieces)
    if _parses(joined):
        return joined
    for reading in (_last_of_equal(joined), _cumulative(pieces)):
        if reading is not None and _parses(reading):
            return reading
    return joined


def _last_of_equal(joined: str) -> str | None:
    """Return the value of a text that holds it several times, or after empty ones."""
    decoder, at, found = json.JSONDecoder(), 0, set()
    text = joined.strip()
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.add(text[at:end])
        at = end + len(text[end:]) - len(text[end:].lstrip())
    told = found - NO_INPUT
    return told.pop() if len(told) == 1 else None


def _cumulative(pieces: Sequence[str]) -> str | None:
    """Return the last piece where each one begins with the one before."""
    told = [piece for piece in pieces if piece.strip() not in NO_INPUT]
    grows = all(later.startswith(before) for before, later in pairwise(told))
    return told[-1] if told and grows else None


def _repeats(call: StreamedCall, name: str, arguments: str) -> bool:
    """Tell whether a piece with a name, but without an id, tells a complete call again."""
    if name != call.tool:
        return False
    # An empty input announced the call; the real one follows under the same name.
    if input_text(call.pieces).strip() in NO_INPUT:
        return True
    return not arguments or arguments == input_text(call.pieces)


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_text(value: Any) -> str:
    """Return text; a value that is none (an input sent as an object) as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def tool_called(identifier: str, tool: str, raw: str) -> ToolCalled:
    """Parse the input of a complete call; what does not parse becomes a problem, not an error."""
    if not raw.strip():
        return ToolCalled(identifier, tool, {}, raw)
    try:
        value = json.loads(raw)
        if isinstance(value, str):
            value = _unwrapped(value)
        # Some servers send null for a call without input.
        value = {} if value is None else value
    except ValueError as error:
        return ToolCalled(
            identifier, tool, {}, raw, problem=f"The input is no valid JSON: {error}."
        )
    except RecursionError:
        return ToolCalled(identifier, tool, {}, raw, problem="The input is nested too deeply.")
    return ToolCalled(identifier, tool, value, raw)


def _unwrapped(value: str) -> Any:
    """Undo the second encoding that some local models add."""
    try:
        inner = json.loads(value)
    except ValueError:
        return value
    return inner if isinstance(inner, dict) else value
