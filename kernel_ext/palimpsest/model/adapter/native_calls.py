"""Keep the tool calls of a stream in Anthropic's or Gemini's own form as they were sent, where litellm does not.

litellm counts Anthropic's blocks and gives every piece of an input to the newest one, drops an input that stands in
the start of its block, and writes an empty one at its stop: calls would run without their arguments, or with those of
another. Gemini's calls it takes anew from each chunk, also where a chunk holds all that were sent before.

Border: the raw chunk goes in before litellm's parser and after it, beside what that made; nothing is imported of it.
"""

import copy
import json
from typing import Any

from palimpsest.model.adapter.usage import field, objects

TOOL_BLOCK = "tool_use"
INPUT_DELTA = "input_json_delta"


class NativeCalls:
    """The calls of one stream: which block of Anthropic's each is, and which of Gemini's were sent already."""

    def __init__(self) -> None:
        self._begun: dict[Any, Any] = {}
        """litellm's first piece of the newest call that began in a block, by the block's index."""
        self._sent: list[str] = []
        """Gemini's calls so far, as JSON."""

    def before(self, chunk: Any) -> None:
        """Take out of a chunk of Gemini's what was sent in an earlier one: by id, or at the head of a longer list."""
        for candidate in objects(field(chunk, "candidates")):
            content = field(candidate, "content")
            parts = field(content, "parts")
            if not isinstance(content, dict) or not isinstance(parts, list):
                continue
            calls = [one for one in objects(parts) if isinstance(one.get("functionCall"), dict)]
            written = [json.dumps(one["functionCall"], sort_keys=True) for one in calls]
            count = len(self._sent)
            is_longer = 0 < count < len(written) and written[:count] == self._sent
            again = {
                id(call)
                for place, (call, text) in enumerate(zip(calls, written, strict=True))
                if (is_longer and place < count)
                or (call["functionCall"].get("id") and text in self._sent)
            }
            self._sent += [
                text for call, text in zip(calls, written, strict=True) if id(call) not in again
            ]
            if again:
                content["parts"] = [one for one in parts if id(one) not in again]

    def after(self, chunk: Any, made: Any) -> None:
        """Write into what litellm made of a chunk of Anthropic's the call that a piece belongs to."""
        kind, index, delta = field(chunk, "type"), field(chunk, "index"), _delta(made)
        if delta is None:
            return
        if kind == "content_block_start":
            self._began(index, field(chunk, "content_block"), delta)
        elif index not in self._begun:
            return
        elif kind == "content_block_stop":
            delta.tool_calls = None
        elif kind == "content_block_delta" and field(chunk, "delta", "type") == INPUT_DELTA:
            text = field(chunk, "delta", "partial_json")
            piece = copy.deepcopy(self._begun[index])
            piece.id = piece.function.name = None
            piece.function.arguments = text if isinstance(text, str) else ""
            delta.tool_calls = [piece]

    def _began(self, index: Any, block: Any, delta: Any) -> None:
        # A block of another kind under the same index ends what went on under it.
        self._begun.pop(index, None)
        calls = getattr(delta, "tool_calls", None)
        if field(block, "type") != TOOL_BLOCK or not calls:
            return
        given = field(block, "input")
        calls[0].function.arguments = json.dumps(given) if given else ""
        self._begun[index] = calls[0]


def _delta(made: Any) -> Any:
    choices = getattr(made, "choices", None)
    return getattr(choices[0], "delta", None) if choices else None
