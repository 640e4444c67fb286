"""Join calls of Gemini whose arguments come in pieces (``partialArgs``), which litellm would run without them.

A call begins with its name and ``willContinue``; each piece sets a value at a path of its input, and a text continues at
the same path while its piece has ``willContinue``; the call ends with a piece without it. Follows Google's
documentation of streamed function call arguments.
Border: a raw chunk is changed in place: pieces are removed, and the whole call replaces its last piece. A call whose
input never ended does not count: the answer is marked as malformed, and requested again.
"""

import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

MALFORMED = "MALFORMED_FUNCTION_CALL"
"""Google's finish reason for a malformed call."""
CUT = "The arguments of {name} did not come to an end."
STEP = re.compile(
    r"""\.(?P<word>[^.\[\]'"\s]+)|\[(?P<index>\d{1,6})\]|\['(?P<single>(?:[^'\\]|\\.)*)'\]|\["(?P<double>(?:[^"\\]|\\.)*)"\]"""
)
"""One step of a path: a name after a dot, a position, or a quoted name."""
DEEPEST = 64
LONGEST_LIST = 10_000
"""Bounds of a path: a piece of a few bytes must not make a list of millions."""
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


@dataclass(slots=True)
class PartialCall:
    """One call whose input is still arriving."""

    name: str
    id: str = ""
    args: Json = field(default_factory=dict)
    more: Json = field(default_factory=dict)
    """Other fields of the call's part, such as a signature."""
    unfinished: set[str] = field(default_factory=set)
    """Paths of texts that continue in a later piece."""
    is_broken: bool = False
    """Whether a piece had an unreadable path."""


class GeminiPartialCalls:
    """The calls of one answer that come in pieces."""

    def __init__(self) -> None:
        self._open: list[PartialCall] = []
        self._lost: str = ""
        """The tool of a call whose input cannot be known."""

    def join(self, chunk: Any) -> None:
        """Replace the pieces in a chunk by the calls that they complete."""
        candidates = chunk.get("candidates") if isinstance(chunk, dict) else None
        for candidate in candidates if isinstance(candidates, list) else ():
            if not isinstance(candidate, dict):
                continue
            content = candidate.get("content")
            parts = content.get("parts") if isinstance(content, dict) else None
            if isinstance(content, dict) and isinstance(parts, list):
                content["parts"] = [complete for part in parts for complete in self._part(part)]
            if candidate.get("finishReason"):
                self._finish(candidate)

    def _part(self, part: Any) -> list[Any]:
        """Return the complete parts for a part of a chunk; empty while its call is incomplete."""
        call = part.get("functionCall") if isinstance(part, dict) else None
        if not isinstance(call, dict):
            return [part]
        known = self._open_call(call)
        goes_on = call.get("willContinue") is True
        if known is None and not goes_on and "partialArgs" not in call:
            return [part]
        ended: list[Any] = []
        if known is None:
            known = PartialCall(str(call.get("name") or ""), str(call.get("id") or ""))
            self._open.append(known)
        known.more |= {name: value for name, value in part.items() if name != "functionCall"}
        self._read(known, call)
        if not goes_on:
            ended += self._end(known)
        return ended

    def _open_call(self, call: Json) -> PartialCall | None:
        """Return the call that a piece continues: by its id, else the newest, unless the piece names another call."""
        same = [known for known in self._open if call.get("id") and known.id == call["id"]]
        if same:
            return same[-1]
        if not self._open or (call.get("id") and self._open[-1].id):
            return None
        newest = self._open[-1]
        is_another = call.get("name") and (newest.args or call["name"] != newest.name)
        return None if is_another else newest

    def _read(self, known: PartialCall, call: Json) -> None:
        if isinstance(call.get("args"), dict) and call["args"]:
            # The server sends the whole input.
            known.args, known.unfinished, known.is_broken = call["args"], set(), False
        pieces = call.get("partialArgs")
        for piece in pieces if isinstance(pieces, list) else ():
            if not isinstance(piece, dict) or not _set(known, piece):
                known.is_broken = True

    def _end(self, known: PartialCall) -> list[Any]:
        self._open.remove(known)
        if known.is_broken or known.unfinished:
            self._lost = self._lost or known.name or "a call"
            return []
        call: Json = {"name": known.name, "args": known.args}
        return [{**known.more, "functionCall": {**call, **({"id": known.id} if known.id else {})}}]

    def _finish(self, candidate: Json) -> None:
        """End the open calls at the end of an answer, since some servers omit the closing piece."""
        ended = [complete for known in list(self._open) for complete in self._end(known)]
        content = candidate.get("content")
        if ended:
            before = content.get("parts") if isinstance(content, dict) else None
            parts = [*(before if isinstance(before, list) else ()), *ended]
            candidate["content"] = {"role": "model", "parts": parts}
        if self._lost:
            candidate["finishReason"] = MALFORMED
            candidate["finishMessage"] = CUT.format(name=self._lost)


def path_steps(path: str) -> list[str | int] | None:
    """Return the steps of a JSON path to one value; None where it is no such path.

    >>> path_steps("$.a[0]['b c']"), path_steps("$"), path_steps("$..a"), path_steps("$[*]")
    (['a', 0, 'b c'], None, None, None)
    """
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = STEP.match(path, at)
        if step is None or len(steps) == DEEPEST:
            return None
        at = step.end()
        if step["index"] is not None:
            steps.append(int(step["index"]))
        else:
            quoted = step["single"] if step["single"] is not None else step["double"]
            word = step["word"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            steps.append(word)
    return steps if steps and isinstance(steps[0], str) and "*" not in steps else None


def _set(known: PartialCall, piece: Json) -> bool:
    """Set the value of a piece at its path; False where the path is invalid."""
    path = piece.get("jsonPath")
    steps = path_steps(path) if isinstance(path, str) else None
    kind = next((name for name in VALUES if name in piece), None)
    if steps is None or not isinstance(path, str):
        return False
    goes_on = piece.get("willContinue") is True
    if kind is None:
        # The end of a text may come without a value.
        if not goes_on:
            known.unfinished.discard(path)
        return True
    value = None if kind == "nullValue" else piece[kind]
    if not _put_value(known.args, steps, value, is_added=path in known.unfinished):
        return False
    if goes_on and kind == "stringValue":
        known.unfinished.add(path)
    else:
        known.unfinished.discard(path)
    return True


def _put_value(args: Json, steps: list[str | int], value: Any, *, is_added: bool) -> bool:
    place: Any = args
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not _reach(place, step):
            return False
        if following is None:
            before = place[step]
            is_text = is_added and isinstance(before, str) and isinstance(value, str)
            place[step] = before + value if is_text else value
        else:
            if place[step] is None:
                place[step] = [] if isinstance(following, int) else {}
            place = place[step]
    return True


def _reach(place: Any, step: str | int) -> bool:
    """Make room for a step in a list or object; False where the step does not fit it."""
    if isinstance(step, int):
        if not isinstance(place, list) or step >= LONGEST_LIST:
            return False
        place.extend([None] * (step + 1 - len(place)))
        return True
    if not isinstance(place, dict):
        return False
    place.setdefault(step, None)
    return True
