"""Convert the events of Anthropic's messages to deltas: text, signed thinking, calls by their block, usage, the end.

``adapter/provider_calls`` reads the provider's own calls, which are no deltas. Border: events in, deltas out; finish
and usage go into the tap.
"""

import json
from typing import Any

from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.adapter.usage import usage_as_openai
from palimpsest.model.direct.deltas import CallPiece, Delta, Function
from palimpsest.model.errors.exception_details import StreamedError

EMPTY_DELTA = Delta()
"""An empty delta, with which a tool run of the provider is reported at once."""
EVENT_TYPES = frozenset(
    {"message_start", "message_delta", "message_stop", "ping", "error"}
    | {"content_block_start", "content_block_delta", "content_block_stop"}
)


class AnthropicEvents:
    """Converts the events of one stream; holds the number of each block's call, and the usage reported so far."""

    def __init__(self, tap: StreamTap) -> None:
        self._stream_tap = tap
        self._call_numbers: dict[Any, int] = {}
        """The number of the call in a block, by the block's index."""
        self._begun_calls = 0
        self._usage: dict[str, Any] = {}

    def delta(self, event: Any) -> Delta | None:
        """Return the delta that an event adds to the answer; None for an empty one.

        Raises StreamedError for an error that the server sent in its stream, and KeyError or TypeError for an event
        that is not in the format.
        """
        event_type = event.get("type") if isinstance(event, dict) else None
        if event_type is None and isinstance(event, dict) and event.get("error"):
            event_type = "error"
        if event_type not in EVENT_TYPES:
            raise TypeError("An event is of no known type.")
        if event_type == "error":
            raise StreamedError(event.get("error") or event)
        if event_type.startswith("content_block_"):
            if self._stream_tap.provider_calls.read_chunk(event) is None:
                return EMPTY_DELTA
            return self._block_delta(event_type, event)
        if event_type == "message_start":
            self._merge_usage(event["message"].get("usage"))
        elif event_type == "message_delta":
            finish = event["delta"].get("stop_reason")
            self._stream_tap.finish = str(finish) if finish else self._stream_tap.finish
            self._merge_usage(event.get("usage"))
        elif event_type == "message_stop":
            self._stream_tap.is_exhausted = True
        return None

    def _block_delta(self, event_type: str, event: dict[str, Any]) -> Delta | None:
        index = event.get("index")
        if event_type == "content_block_stop":
            return None  # some proxies send the input after it
        if event_type == "content_block_start":
            return self._begin_block(index, event["content_block"])
        delta = event["delta"]
        if "text" in delta:
            return Delta(delta["text"])
        if "partial_json" in delta:
            if index not in self._call_numbers:
                return None
            text = delta["partial_json"]
            function = Function(None, text if isinstance(text, str) else "")
            return Delta(
                tool_calls=[CallPiece(self._call_numbers[index], None, "function", function)]
            )
        return _thinking(delta)

    def _begin_block(self, index: Any, block: dict[str, Any]) -> Delta | None:
        # A new block under the same index ends the earlier block.
        self._call_numbers.pop(index, None)
        match block["type"]:
            case "text":
                return Delta(block.get("text")) if block.get("text") else None
            case "tool_use":
                raw_input = block.get("input")
                function = Function(block.get("name"), json.dumps(raw_input) if raw_input else "")
                number, self._begun_calls = self._begun_calls, self._begun_calls + 1
                self._call_numbers[index] = number
                return Delta(tool_calls=[CallPiece(number, block.get("id"), "function", function)])
            case "redacted_thinking":
                redacted = {"type": "redacted_thinking", "data": block["data"]}
                return Delta(reasoning_content="", thinking_blocks=[redacted])
            case "thinking":
                return _thinking(block)
            case _:
                return None

    def _merge_usage(self, usage: Any) -> None:
        """Merge a usage report into the earlier reports, since later ones omit unchanged numbers."""
        if isinstance(usage, dict):
            self._usage = {**self._usage, **usage}
            self._stream_tap.usage = usage_as_openai(self._usage)


def _thinking(delta: dict[str, Any]) -> Delta | None:
    text, signature = delta.get("thinking"), delta.get("signature")
    block = {"type": "thinking", "thinking": text if isinstance(text, str) else ""}
    if isinstance(signature, str) and signature:
        block["signature"] = signature
    if not block["thinking"] and "signature" not in block:
        return None
    return Delta(reasoning_content=block["thinking"], thinking_blocks=[block])
