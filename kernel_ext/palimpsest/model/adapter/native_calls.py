"""Preserve the tool calls of a stream in Anthropic's or Gemini's own form, which litellm garbles.

litellm assigns every piece of an input to Anthropic's newest block, drops an input in the start of its block, and
writes an empty input at its stop: calls would run without their arguments, or with those of another call. It takes
every Gemini call as new, although a chunk may repeat all earlier calls.

Border: called with the raw chunk before litellm's parser, and with chunk and result after it; litellm is not imported.
"""

import copy
import json
from typing import Any

from palimpsest.model.adapter.usage import dicts_of, nested_field

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
        for candidate in dicts_of(nested_field(chunk, "candidates")):
            content = nested_field(candidate, "content")
            parts = nested_field(content, "parts")
            if not isinstance(content, dict) or not isinstance(parts, list):
                continue
            calls = [part for part in dicts_of(parts) if isinstance(part.get("functionCall"), dict)]
            calls_json = [json.dumps(call["functionCall"], sort_keys=True) for call in calls]
            sent_count = len(self._sent_calls)
            is_longer = (
                0 < sent_count < len(calls_json) and calls_json[:sent_count] == self._sent_calls
            )
            repeated_ids = {
                id(call)
                for index, (call, call_json) in enumerate(zip(calls, calls_json, strict=True))
                if (is_longer and index < sent_count)
                or (call["functionCall"].get("id") and call_json in self._sent_calls)
            }
            self._sent_calls += [
                call_json
                for call, call_json in zip(calls, calls_json, strict=True)
                if id(call) not in repeated_ids
            ]
            if repeated_ids:
                content["parts"] = [part for part in parts if id(part) not in repeated_ids]

    def correct_delta(self, chunk: Any, parsed_chunk: Any) -> None:
        """Correct litellm's result for an Anthropic chunk: write the call that a piece of input belongs to."""
        event_type, index, delta = (
            nested_field(chunk, "type"),
            nested_field(chunk, "index"),
            _delta(parsed_chunk),
        )
        if delta is None:
            return
        if event_type == "content_block_start":
            self._store_first_piece(index, nested_field(chunk, "content_block"), delta)
        elif index not in self._first_pieces:
            return
        elif event_type == "content_block_stop":
            delta.tool_calls = None
        elif (
            event_type == "content_block_delta"
            and nested_field(chunk, "delta", "type") == INPUT_DELTA
        ):
            text = nested_field(chunk, "delta", "partial_json")
            piece = copy.deepcopy(self._first_pieces[index])
            piece.id = piece.function.name = None
            piece.function.arguments = text if isinstance(text, str) else ""
            delta.tool_calls = [piece]

    def _store_first_piece(self, index: Any, block: Any, delta: Any) -> None:
        # A new block under the same index ends the earlier block.
        self._first_pieces.pop(index, None)
        calls = getattr(delta, "tool_calls", None)
        if nested_field(block, "type") != TOOL_BLOCK or not calls:
            return
        raw_input = nested_field(block, "input")
        calls[0].function.arguments = json.dumps(raw_input) if raw_input else ""
        self._first_pieces[index] = calls[0]


def _delta(parsed_chunk: Any) -> Any:
    choices = getattr(parsed_chunk, "choices", None)
    return getattr(choices[0], "delta", None) if choices else None
