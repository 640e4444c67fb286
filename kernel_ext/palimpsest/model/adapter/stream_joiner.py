"""Join the deltas of a provider's stream into our events.

It depends on the shapes of chunks, not on litellm: text is tested by
truthiness, ``tool_call_joiner`` joins tool calls, ids stay unchanged, thinking is collected with its
signature. Calls are announced as they are written, but completed only at a real finish, so that no tool
ever runs on the input of an answer that broke off.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

from palimpsest.model.adapter.provider_calls import ProviderCalls
from palimpsest.model.adapter.responses_calls import ResponsesCalls
from palimpsest.model.adapter.tool_call_joiner import StreamedCall, StreamedCalls
from palimpsest.model.interface import (
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCalled,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
)
from palimpsest.transcript.provider_calls import DIALECT, NATIVE_KEY

FINISHES = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "stop",
    "tool_use": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "content_filter": "content-filter",
    "content_filtered": "content-filter",
    "safety": "content-filter",
    "refusal": "content-filter",
    "blocklist": "content-filter",
    "prohibited_content": "content-filter",
    "recitation": "content-filter",
    "spii": "content-filter",
    "language": "content-filter",
    "model_armor": "content-filter",
    "image_safety": "content-filter",
    "image_prohibited_content": "content-filter",
    "image_recitation": "content-filter",
}
"""Our finish reason for each of the providers'. A finish that announces tool calls counts as a stop, since the calls
themselves show that there are some."""
CALL_FINISHES = frozenset({"tool_calls", "tool_use", "function_call"})
"""Finishes that wait for the results of calls."""
CLIENT_CALL_TYPES = frozenset({"", "function", "custom"})
"""Types of streamed calls that the client runs."""

BROKEN_FINISHES = frozenset({
    "error", "network_error", "malformed_function_call", "malformed_response",
    "missing_thought_signature", "unexpected_tool_call", "too_many_tool_calls",
})  # fmt: skip
"""Finish reasons that mean that the provider failed."""


class ThinkTags:
    """Separates thinking in ``<think>`` tags at the beginning of an answer from the rest.

    Servers without a parser for their model's thinking send these tags, split at any character.
    """

    def __init__(self) -> None:
        self._held_text = ""
        self._position: Literal["start", "inside", "after"] = "start"
        self._has_tags = self._has_begun = False

    def split_thinking(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield pieces of thinking (True) and of the answer (False)."""
        self._held_text += text
        if self._position == "start":
            stripped_text = self._held_text.lstrip()
            if not stripped_text.startswith(THINK_OPEN) and THINK_OPEN.startswith(stripped_text):
                return
            self._has_tags = stripped_text.startswith(THINK_OPEN)
            self._position = "inside" if self._has_tags else "after"
            self._held_text = (
                stripped_text.removeprefix(THINK_OPEN) if self._has_tags else self._held_text
            )
        if self._position == "inside":
            yield from self._inside_tag()
        if self._position == "after":
            yield from self._release_text(len(self._held_text))

    def _inside_tag(self) -> Iterator[tuple[bool, str]]:
        thought_text, end_tag, answer_text = self._held_text.partition(THINK_CLOSE)
        if end_tag:
            yield from self._release_text(len(thought_text))
            self._position, self._held_text, self._has_begun = "after", answer_text, False
            return
        lengths = range(len(THINK_CLOSE) - 1, 0, -1)
        held_chars = next(
            (size for size in lengths if thought_text.endswith(THINK_CLOSE[:size])), 0
        )
        yield from self._release_text(len(thought_text) - held_chars)

    def _release_text(self, length: int) -> Iterator[tuple[bool, str]]:
        """Yield ``length`` characters of the held text, without the empty lines around tags."""
        text, self._held_text = self._held_text[:length], self._held_text[length:]
        if self._has_tags and not self._has_begun:
            text = text.lstrip("\n")
        if text:
            self._has_begun = True
            yield self._position == "inside", text

    def release_held_text(self) -> Iterator[tuple[bool, str]]:
        """Yield the text that was held back because a tag might have begun in it."""
        if self._position == "start":
            self._position = "after"
        yield from self._release_text(len(self._held_text))


def _plain_name(name: str) -> str:
    """Return a tool's name as the registry compares it."""
    return name.strip().removeprefix("functions.").lower()


THINK_OPEN, THINK_CLOSE = "<think>", "</think>"


class StreamJoiner:
    """Turns deltas into events and keeps the text, for an estimate of usage.

    ``names`` maps the provider's names of the request's tools to ours. ``provider_calls`` collects the calls that the
    provider ran itself, ``responses_calls`` those of an answer in OpenAI's Responses, which do not come in deltas.
    """

    def __init__(
        self,
        family: str,
        names: Mapping[str, str] | None = None,
        provider_calls: ProviderCalls | None = None,
        responses_calls: ResponsesCalls | None = None,
    ) -> None:
        self._model_family = family
        self._our_names = names or {}
        self._offered_names = {
            _plain_name(name) for pair in self._our_names.items() for name in pair
        }
        self._provider_calls = provider_calls
        self._responses_calls = responses_calls
        self._server_call_ids: set[str] = set()
        """Ids of calls that the server marks as run by itself."""
        self._ids_before_text: set[str] = set()
        """Ids of calls after which the answer has more text."""
        self._block_text: list[str] = []
        """Text of the open block."""
        self._block_count = 0
        self._text_id: str | None = None
        self._reasoning_id: str | None = None
        self._thinking: list[dict[str, Any]] = []
        self._open_thinking: dict[str, Any] | None = None
        self._calls = StreamedCalls()
        self._tags = ThinkTags()
        self.is_refused = False
        """Whether the model declined to answer, in the field for refusals."""
        self.text_pieces: list[str] = []
        self.reasoning: list[str] = []

    @property
    def written_text(self) -> str:
        """All that the model wrote except thinking."""
        inputs = ["".join((call.tool, *call.input_pieces)) for call in self._calls.calls]
        return "".join((*self.text_pieces, *inputs))

    def delta_events(self, delta: Any) -> Iterator[StreamEvent]:
        """Yield the events of the provider's own calls, then those of one delta."""
        yield from self._provider_events()
        reasoning = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        blocks = getattr(delta, "thinking_blocks", None)
        if reasoning or blocks:
            thoughts = reasoning if isinstance(reasoning, str) else ""
            yield from self._add_reasoning(thoughts, blocks or ())
        refusal = getattr(delta, "refusal", None)
        self.is_refused = self.is_refused or bool(refusal)
        for content in (getattr(delta, "content", None), refusal):
            if isinstance(content, str):
                yield from self._add_content(self._tags.split_thinking(content))
        for piece in (*self._responses_pieces(), *(getattr(delta, "tool_calls", None) or ())):
            yield from self._add_call_piece(piece)
        function_call = getattr(delta, "function_call", None)
        if function_call is not None:
            # The older field for one function call, whose pieces have no index.
            piece = SimpleNamespace(index=0, id=None, function=function_call)
            yield from self._add_call_piece(piece)

    def end_stream(self, finish: str = "stop") -> Iterator[StreamEvent]:
        """Close the open blocks and yield the complete calls; only after a real finish."""
        yield from self._provider_events()
        yield from self._add_content(self._tags.release_held_text())
        for piece in self._responses_pieces():
            yield from self._add_call_piece(piece)
        yield from self._end_reasoning()
        yield from self._end_text()
        for call in self._calls.calls:
            yield from self._end_call(call)
        server_calls = [call for call in self._calls.calls if self._is_run_by_server(call, finish)]
        self._calls.calls = [call for call in self._calls.calls if call not in server_calls]
        for call in self._calls.calls:
            whole_call = call.complete_call()
            yield replace(whole_call, tool=self._our_names.get(whole_call.tool, whole_call.tool))
        metadata = {DIALECT: "openai"}
        for call in server_calls:
            value = call.complete_call().input
            yield ToolCalled(call.id, call.tool, value, provider_executed=True, metadata=metadata)
        if server_calls and self._provider_calls is None:
            self._provider_calls = ProviderCalls()
        if self._provider_calls is not None:
            self._provider_calls.end_calls([call.id for call in server_calls])
            yield from self._provider_events()

    def _is_run_by_server(self, call: StreamedCall, finish: str) -> bool:
        """Return whether the server itself ran a streamed call before it continued the answer.

        Its type shows that; or the tool was not offered, and the answer continued and ended like one without calls.
        """
        if call.id in self._server_call_ids:
            return True
        is_unknown = _plain_name(call.tool) not in self._offered_names
        was_stopped = finish.lower() not in CALL_FINISHES and FINISHES.get(finish.lower()) == "stop"
        return is_unknown and was_stopped and call.id in self._ids_before_text

    def _responses_pieces(self) -> list[Any]:
        return self._responses_calls.take_pieces() if self._responses_calls is not None else []

    def _provider_events(self) -> Iterator[StreamEvent]:
        for event in self._provider_calls.take_events() if self._provider_calls is not None else ():
            if isinstance(event, ToolInputStarted):
                yield from self._end_reasoning()
                yield from self._end_text()
            yield event

    def finish_reason(self, finish: str) -> str:
        """Return our finish reason for the provider's finish."""
        our_reason = FINISHES.get(finish.lower(), "unknown")
        if self.is_refused and our_reason == "stop":
            return "content-filter"
        has_calls = our_reason in {"stop", "unknown"} and bool(self._calls.calls)
        return "tool-calls" if has_calls else our_reason

    def _new_id(self, block_kind: str) -> str:
        self._block_count += 1
        return f"{block_kind}_{self._block_count}"

    def _add_content(self, pieces: Iterable[tuple[bool, str]]) -> Iterator[StreamEvent]:
        for is_thinking, text in pieces:
            yield from self._add_reasoning(text, ()) if is_thinking else self._add_text(text)

    def _add_text(self, text: str) -> Iterator[StreamEvent]:
        if self._reasoning_id is not None:
            yield from self._end_reasoning()
        if self._text_id is None:
            self._text_id = self._new_id("text")
            yield TextStarted(self._text_id)
        self.text_pieces.append(text)
        self._block_text.append(text)
        if self._calls.calls and text.strip():
            self._ids_before_text |= {call.id for call in self._calls.calls}
        yield TextDelta(self._text_id, text)

    def _end_text(self) -> Iterator[StreamEvent]:
        if self._text_id is not None:
            yield TextEnded(self._text_id, self._cited_blocks())
            self._text_id, self._block_text = None, []

    def _cited_blocks(self) -> dict[str, Any] | None:
        """Return the blocks of the ending text, where their citations must be sent back."""
        blocks = self._provider_calls.take_texts() if self._provider_calls is not None else []
        is_complete = "".join(block["text"] for block in blocks) == "".join(self._block_text)
        if not is_complete or not any(block.get("citations") for block in blocks):
            return None
        return {DIALECT: "anthropic", NATIVE_KEY: [block for block in blocks if block["text"]]}

    def _add_reasoning(self, text: str, blocks: Any) -> Iterator[StreamEvent]:
        yield from self._end_text()
        if self._reasoning_id is None:
            self._reasoning_id = self._new_id("reasoning")
            yield ReasoningStarted(self._reasoning_id)
        if text:
            self.reasoning.append(text)
            yield ReasoningDelta(self._reasoning_id, text)
        for block in blocks:
            self._add_thinking_block(dict(block))

    def _add_thinking_block(self, block: dict[str, Any]) -> None:
        """Collect pieces of thinking up to their signature, which comes last."""
        if block.get("type") != "thinking":
            self._open_thinking = None
            self._thinking.append(block)
            return
        if self._open_thinking is None:
            self._open_thinking = {"type": "thinking", "thinking": []}
            self._thinking.append(self._open_thinking)
        self._open_thinking["thinking"].append(block.get("thinking") or "")
        if block.get("signature"):
            self._open_thinking["signature"] = block["signature"]
            self._open_thinking = None

    def _end_reasoning(self) -> Iterator[StreamEvent]:
        if self._reasoning_id is None:
            return
        blocks = [
            {**block, "thinking": "".join(block["thinking"])}
            if block.get("type") == "thinking"
            else block
            for block in self._thinking
        ]
        metadata = {"thinking_blocks": blocks, "family": self._model_family} if blocks else None
        yield ReasoningEnded(self._reasoning_id, metadata)
        self._reasoning_id, self._thinking, self._open_thinking = None, [], None

    def _add_call_piece(self, piece: Any) -> Iterator[StreamEvent]:
        newest_call = self._calls.calls[-1] if self._calls.calls else None
        joined_piece = self._calls.add_piece(piece)
        call = joined_piece.call
        call_type = getattr(piece, "type", None)
        if isinstance(call_type, str) and call_type not in CLIENT_CALL_TYPES:
            self._server_call_ids.add(call.id)
        if joined_piece.is_new:
            yield from self._end_reasoning()
            yield from self._end_text()
            if newest_call is not None:
                yield from self._end_call(newest_call)
            yield ToolInputStarted(call.id, self._our_names.get(call.tool, call.tool))
        if joined_piece.text:
            yield ToolInputDelta(call.id, joined_piece.text)

    def _end_call(self, call: StreamedCall) -> Iterator[StreamEvent]:
        if not call.is_ended:
            call.is_ended = True
            yield ToolInputEnded(call.id)
