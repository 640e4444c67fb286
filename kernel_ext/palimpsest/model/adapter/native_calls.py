"""Preserve the tool calls of a stream in Anthropic's or Gemini's own form, which litellm garbles.

litellm assigns every piece of an input to Anthropic's newest block, drops an input in the start of its block, and
writes an empty input at its stop: calls would run without their arguments, or with those of another call. It takes
every Gemini call as new, although a chunk may repeat all earlier calls.

Border: called with the raw chunk before litellm's parser, and with chunk and result after it; litellm is not imported.
"""

import copy
import json
from typing import Any

from palimpsest.model.adapter.usage import field, objects

TOOL_BLOCK = "tool_use"
INPUT_DELTA = "input_json_delta"


class NativeCalls:
    """The calls of one stream: Anthropic's by block, and Gemini's that were sent already."""

    def __init__(self) -> None:
        self._first_pieces: dict[Any, Any] = {}
        """litellm's first piece of the newest call that began in a block, by the block's index."""
        self._sent_calls: list[str] = []
        """Gemini's calls so far, as JSON."""

    def remove_repeated_calls(self, chunk: Any) -> None:
        """Remove calls from a Gemini chunk that an earlier chunk has sent: by id, or at the beginning of a longer list."""
        for candidate in objects(field(chunk, "candidates")):
            content = field(candidate, "content")
            parts = field(content, "parts")
            if not isinstance(content, dict) or not isinstance(parts, list):
                continue
            calls = [item for item in objects(parts) if isinstance(item.get("functionCall"), dict)]
            calls_json = [json.dumps(call["functionCall"], sort_keys=True) for call in calls]
            count = len(self._sent_calls)
            is_longer = 0 < count < len(calls_json) and calls_json[:count] == self._sent_calls
            repeated_ids = {
                id(call)
                for place, (call, text) in enumerate(zip(calls, calls_json, strict=True))
                if (is_longer and place < count)
                or (call["functionCall"].get("id") and text in self._sent_calls)
            }
            self._sent_calls += [
                text
                for call, text in zip(calls, calls_json, strict=True)
                if id(call) not in repeated_ids
            ]
            if repeated_ids:
                content["parts"] = [part for part in parts if id(part) not in repeated_ids]

    def correct_delta(self, chunk: Any, parsed: Any) -> None:
        """Correct litellm's result for an Anthropic chunk: write the call that a piece of input belongs to."""
        kind, index, delta = field(chunk, "type"), field(chunk, "index"), _delta(parsed)
        if delta is None:
            return
        if kind == "content_block_start":
            self._store_first_piece(index, field(chunk, "content_block"), delta)
        elif index not in self._first_pieces:
            return
        elif kind == "content_block_stop":
            delta.tool_calls = None
        elif kind == "content_block_delta" and field(chunk, "delta", "type") == INPUT_DELTA:
            text = field(chunk, "delta", "partial_json")
            piece = copy.deepcopy(self._first_pieces[index])
            piece.id = piece.function.name = None
            piece.function.arguments = text if isinstance(text, str) else ""
            delta.tool_calls = [piece]

    def _store_first_piece(self, index: Any, block: Any, delta: Any) -> None:
        # A new block under the same index ends the earlier block.
        self._first_pieces.pop(index, None)
        calls = getattr(delta, "tool_calls", None)
        if field(block, "type") != TOOL_BLOCK or not calls:
            return
        raw_input = field(block, "input")
        calls[0].function.arguments = json.dumps(raw_input) if raw_input else ""
        self._first_pieces[index] = calls[0]


def _delta(parsed: Any) -> Any:
    choices = getattr(parsed, "choices", None)
    return getattr(choices[0], "delta", None) if choices else None
