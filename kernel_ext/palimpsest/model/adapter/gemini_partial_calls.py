"""Join calls of Gemini whose arguments come in pieces (``partialArgs``), which litellm would run without them.

A call begins with its name and ``willContinue``; each piece sets a value at a path of its input, and a text continues at
the same path while its piece has ``willContinue``; the call ends with a piece without it. Follows Google's
documentation of streamed function call arguments.
Border: a raw chunk is changed in place: pieces are removed, and the whole call replaces its last piece. A call whose
input never ended does not count: the answer is marked as malformed, and requested again.
"""

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

Json = dict[str, Any]

MALFORMED = "MALFORMED_FUNCTION_CALL"
"""Google's finish reason for a malformed call."""
INCOMPLETE = "The arguments of {name} did not come to an end."
PATH_STEP = re.compile(
    r"""\.(?P<word>[^.\[\]'"\s]+)|\[(?P<index>\d{1,6})\]|\['(?P<single>(?:[^'\\]|\\.)*)'\]|\["(?P<double>(?:[^"\\]|\\.)*)"\]"""
)
"""One step of a path: a name after a dot, a position, or a quoted name."""
MAX_PATH_STEPS = 64
MAX_LIST_LENGTH = 10_000
"""Maximum steps of a path, and maximum length of a list: a piece of a few bytes must not make a list of millions."""
VALUE_FIELDS = ("stringValue", "numberValue", "boolValue", "nullValue")


@dataclass(slots=True)
class PartialCall:
    """One call whose input is still arriving."""

    name: str
    id: str = ""
    args: Json = field(default_factory=dict)
    other_fields: Json = field(default_factory=dict)
    """Other fields of the call's part, such as a signature."""
    unfinished_paths: set[str] = field(default_factory=set)
    """Paths of texts that continue in a later piece."""
    is_broken: bool = False
    """Whether a piece had an unreadable path."""


class GeminiPartialCalls:
    """The calls of one answer that come in pieces."""

    def __init__(self) -> None:
        self._open_calls: list[PartialCall] = []
        self._lost_call_tool: str = ""
        """The tool of a call whose input cannot be known."""

    def join_pieces(self, chunk: Any) -> None:
        """Replace the pieces in a chunk by the calls that they complete."""
        candidates = chunk.get("candidates") if isinstance(chunk, dict) else None
        for candidate in candidates if isinstance(candidates, list) else ():
            if not isinstance(candidate, dict):
                continue
            content = candidate.get("content")
            parts = content.get("parts") if isinstance(content, dict) else None
            if isinstance(content, dict) and isinstance(parts, list):
                content["parts"] = list(chain.from_iterable(map(self._complete_parts, parts)))
            if candidate.get("finishReason"):
                self._end_open_calls(candidate)

    def _complete_parts(self, part: Any) -> list[Any]:
        """Return the complete parts for a part of a chunk; empty while its call is incomplete."""
        call = part.get("functionCall") if isinstance(part, dict) else None
        if not isinstance(call, dict):
            return [part]
        partial_call = self._continued_call(call)
        is_continued = call.get("willContinue") is True
        if partial_call is None and not is_continued and "partialArgs" not in call:
            return [part]
        if partial_call is None:
            partial_call = PartialCall(str(call.get("name") or ""), str(call.get("id") or ""))
            self._open_calls.append(partial_call)
        other_fields = {name: value for name, value in part.items() if name != "functionCall"}
        partial_call.other_fields |= other_fields
        self._read_pieces(partial_call, call)
        return [] if is_continued else self._end_call(partial_call)

    def _continued_call(self, call: Json) -> PartialCall | None:
        """Return the call that a piece continues: by its id, else the newest, unless the piece names another call."""
        call_id = call.get("id")
        same_calls = [other for other in self._open_calls if call_id and other.id == call_id]
        if same_calls:
            return same_calls[-1]
        if not self._open_calls or (call_id and self._open_calls[-1].id):
            return None
        newest_call = self._open_calls[-1]
        is_another = call.get("name") and (newest_call.args or call["name"] != newest_call.name)
        return None if is_another else newest_call

    def _read_pieces(self, partial_call: PartialCall, call: Json) -> None:
        if isinstance(call.get("args"), dict) and call["args"]:
            # The server sends the whole input.
            partial_call.args = call["args"]
            partial_call.unfinished_paths = set()
            partial_call.is_broken = False
        pieces = call.get("partialArgs")
        for piece in pieces if isinstance(pieces, list) else ():
            if not isinstance(piece, dict) or not _set_value(partial_call, piece):
                partial_call.is_broken = True

    def _end_call(self, partial_call: PartialCall) -> list[Any]:
        self._open_calls.remove(partial_call)
        if partial_call.is_broken or partial_call.unfinished_paths:
            self._lost_call_tool = self._lost_call_tool or partial_call.name or "a call"
            return []
        call: Json = {"name": partial_call.name, "args": partial_call.args}
        if partial_call.id:
            call["id"] = partial_call.id
        return [{**partial_call.other_fields, "functionCall": call}]

    def _end_open_calls(self, candidate: Json) -> None:
        """End the open calls at the end of an answer, since some servers omit the closing piece."""
        ended_calls = [part for call in list(self._open_calls) for part in self._end_call(call)]
        if ended_calls:
            content = candidate.get("content")
            parts_before = content.get("parts") if isinstance(content, dict) else None
            parts = [*(parts_before if isinstance(parts_before, list) else ()), *ended_calls]
            candidate["content"] = {"role": "model", "parts": parts}
        if self._lost_call_tool:
            candidate["finishReason"] = MALFORMED
            candidate["finishMessage"] = INCOMPLETE.format(name=self._lost_call_tool)


def path_steps(path: str) -> list[str | int] | None:
    """Return the steps of a JSON path to one value; None where it is no such path.

    >>> path_steps("$.a[0]['b c']"), path_steps("$"), path_steps("$..a"), path_steps("$[*]")
    (['a', 0, 'b c'], None, None, None)
    """
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    index = 1
    while index < len(path):
        step = PATH_STEP.match(path, index)
        if step is None or len(steps) == MAX_PATH_STEPS:
            return None
        index = step.end()
        if step["index"] is not None:
            steps.append(int(step["index"]))
        else:
            quoted = step["single"] if step["single"] is not None else step["double"]
            steps.append(step["word"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
    return steps if steps and isinstance(steps[0], str) and "*" not in steps else None


def _set_value(partial_call: PartialCall, piece: Json) -> bool:
    """Set the value of a piece at its path; False where the path is invalid."""
    path = piece.get("jsonPath")
    steps = path_steps(path) if isinstance(path, str) else None
    value_field = next((name for name in VALUE_FIELDS if name in piece), None)
    if steps is None or not isinstance(path, str):
        return False
    is_continued = piece.get("willContinue") is True
    if value_field is None:
        # The end of a text may come without a value.
        if not is_continued:
            partial_call.unfinished_paths.discard(path)
        return True
    value = None if value_field == "nullValue" else piece[value_field]
    appends = path in partial_call.unfinished_paths
    if not _put_value(partial_call.args, steps, value, appends=appends):
        return False
    if is_continued and value_field == "stringValue":
        partial_call.unfinished_paths.add(path)
    else:
        partial_call.unfinished_paths.discard(path)
    return True


def _put_value(args: Json, steps: list[str | int], value: Any, *, appends: bool) -> bool:
    container: Any = args
    for step, next_step in zip(steps, [*steps[1:], None], strict=True):
        if not _make_room(container, step):
            return False
        if next_step is None:
            old_value = container[step]
            is_text = appends and isinstance(old_value, str) and isinstance(value, str)
            container[step] = old_value + value if is_text else value
        else:
            if container[step] is None:
                container[step] = [] if isinstance(next_step, int) else {}
            container = container[step]
    return True


def _make_room(container: Any, step: str | int) -> bool:
    """Make room for a step in a list or object; False where the step does not fit it."""
    if isinstance(step, int):
        if not isinstance(container, list) or step >= MAX_LIST_LENGTH:
            return False
        container.extend([None] * (step + 1 - len(container)))
        return True
    if not isinstance(container, dict):
        return False
    container.setdefault(step, None)
    return True
