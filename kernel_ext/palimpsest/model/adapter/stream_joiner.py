"""Join the deltas of a provider's stream into our events.

It depends on the shapes of chunks (spec/model-and-store.md A2), not on litellm: text is tested by
truthiness, ``tool_call_joiner`` joins tool calls, ids stay unchanged, thinking is collected with its
signature. Calls are announced as they are written, but completed only at a real finish, so that no tool
ever runs on the input of an answer that broke off.
"""

from collections.abc import Iterator, Mapping
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
from palimpsest.transcript.provider_calls import DIALECT, NATIVE

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
"""Tool calls are recognised by their presence, so a finish that only announces them counts as a stop."""
CALLS = frozenset({"tool_calls", "tool_use", "function_call"})
"""Finishes that wait for the results of calls."""
OURS = frozenset({"", "function", "custom"})
"""Types of streamed calls that the client runs."""

BROKEN_FINISHES = frozenset(
    {
        "error",
        "network_error",
        "malformed_function_call",
        "malformed_response",
        "missing_thought_signature",
        "unexpected_tool_call",
        "too_many_tool_calls",
    }
)
"""Finish reasons that mean that the provider failed."""


class ThinkTags:
    """Separates thinking in ``<think>`` tags at the beginning of an answer from the rest.

    Servers without a parser for their model's thinking send these tags, split at any character.
    """

    def __init__(self) -> None:
        self._held = ""
        self._place: Literal["start", "inside", "after"] = "start"
        self._tagged = self._begun = False

    def split(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield pieces of thinking (True) and of the answer (False)."""
        self._held += text
        if self._place == "start":
            begun = self._held.lstrip()
            if not begun.startswith(OPENS) and OPENS.startswith(begun):
                return
            self._tagged = begun.startswith(OPENS)
            self._place = "inside" if self._tagged else "after"
            self._held = begun.removeprefix(OPENS) if self._tagged else self._held
        if self._place == "inside":
            yield from self._inside_tag()
        if self._place == "after":
            yield from self._ready(len(self._held))

    def _inside_tag(self) -> Iterator[tuple[bool, str]]:
        thought, closed, answer = self._held.partition(CLOSES)
        if closed:
            yield from self._ready(len(thought))
            self._place, self._held, self._begun = "after", answer, False
            return
        held = next((n for n in range(len(CLOSES) - 1, 0, -1) if thought.endswith(CLOSES[:n])), 0)
        yield from self._ready(len(thought) - held)

    def _ready(self, length: int) -> Iterator[tuple[bool, str]]:
        """Yield this many characters, without the empty lines around tags."""
        words, self._held = self._held[:length], self._held[length:]
        if self._tagged and not self._begun:
            words = words.lstrip("\n")
        if words:
            self._begun = True
            yield self._place == "inside", words

    def rest(self) -> Iterator[tuple[bool, str]]:
        """Yield the text that was held back because a tag might have begun in it."""
        if self._place == "start":
            self._place = "after"
        yield from self._ready(len(self._held))


def _plain_name(name: str) -> str:
    """Return a tool's name as the registry compares it."""
    return name.strip().removeprefix("functions.").lower()


OPENS, CLOSES = "<think>", "</think>"


class StreamJoiner:
    """Turns deltas into events and keeps the text, for an estimate of usage.

    ``names`` maps the provider's names of the request's tools to ours; ``ran`` collects the calls that the provider ran
    itself, and ``responses`` the calls of an answer in OpenAI's Responses, which do not come in deltas.
    """

    def __init__(
        self,
        family: str,
        names: Mapping[str, str] | None = None,
        ran: ProviderCalls | None = None,
        responses: ResponsesCalls | None = None,
    ) -> None:
        self._family = family
        self._names = names or {}
        self._offered = {_plain_name(name) for pair in self._names.items() for name in pair}
        self._ran = ran
        self._responses = responses
        self._foreign: set[str] = set()
        """Ids of calls that the server marks as run by itself."""
        self._followed: set[str] = set()
        """Ids of calls after which the answer has more text."""
        self._block_text: list[str] = []
        """Text of the open block."""
        self._blocks = 0
        self._text_id: str | None = None
        self._reasoning_id: str | None = None
        self._thinking: list[dict[str, Any]] = []
        self._open_thinking: dict[str, Any] | None = None
        self._calls = StreamedCalls()
        self._tags = ThinkTags()
        self.refused = False
        """The model declined to answer, in the field for refusals."""
        self.text: list[str] = []
        self.reasoning: list[str] = []

    @property
    def written(self) -> str:
        """All that the model wrote except thinking."""
        inputs = ["".join((call.tool, *call.pieces)) for call in self._calls.calls]
        return "".join((*self.text, *inputs))

    def delta(self, delta: Any) -> Iterator[StreamEvent]:
        """Yield the events of the provider's own calls, then those of one delta."""
        yield from self._provider_events()
        reasoning = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        blocks = getattr(delta, "thinking_blocks", None)
        if reasoning or blocks:
            yield from self._reason(reasoning if isinstance(reasoning, str) else "", blocks or ())
        refusal = getattr(delta, "refusal", None)
        self.refused = self.refused or bool(refusal)
        for content in (getattr(delta, "content", None), refusal):
            for thought, words in self._tags.split(content) if isinstance(content, str) else ():
                yield from self._reason(words, ()) if thought else self._say(words)
        for piece in (*self._responses_pieces(), *(getattr(delta, "tool_calls", None) or ())):
            yield from self._call(piece)
        older = getattr(delta, "function_call", None)
        if older is not None:
            # The older field for one function call, whose pieces have no index.
            yield from self._call(SimpleNamespace(index=0, id=None, function=older))

    def end(self, finish: str = "stop") -> Iterator[StreamEvent]:
        """Close the open blocks and yield the complete calls; only after a real finish."""
        yield from self._provider_events()
        for thought, words in self._tags.rest():
            yield from self._reason(words, ()) if thought else self._say(words)
        for piece in self._responses_pieces():
            yield from self._call(piece)
        yield from self._end_reasoning()
        yield from self._end_text()
        for call in self._calls.calls:
            yield from self._end_call(call)
        theirs = [call for call in self._calls.calls if self._is_theirs(call, finish)]
        self._calls.calls = [call for call in self._calls.calls if call not in theirs]
        for call in self._calls.calls:
            called = call.called()
            yield replace(called, tool=self._names.get(called.tool, called.tool))
        for call in theirs:
            whole_call = call.called()
            metadata = {DIALECT: "openai"}
            yield ToolCalled(
                whole_call.id,
                whole_call.tool,
                whole_call.input,
                provider_executed=True,
                metadata=metadata,
            )
        if theirs and self._ran is None:
            self._ran = ProviderCalls()
        if self._ran is not None:
            self._ran.end([call.id for call in theirs])
            yield from self._provider_events()

    def _is_theirs(self, call: StreamedCall, finish: str) -> bool:
        """Return whether the server itself ran a streamed call before it continued the answer.

        Its type shows that; or the tool was not offered, and the answer continued and ended like one without calls.
        """
        if call.id in self._foreign:
            return True
        unknown = _plain_name(call.tool) not in self._offered
        stopped = finish.lower() not in CALLS and FINISHES.get(finish.lower()) == "stop"
        return unknown and stopped and call.id in self._followed

    def _responses_pieces(self) -> list[Any]:
        return self._responses.take() if self._responses is not None else []

    def _provider_events(self) -> Iterator[StreamEvent]:
        for event in self._ran.take() if self._ran is not None else ():
            if isinstance(event, ToolInputStarted):
                yield from self._end_reasoning()
                yield from self._end_text()
            yield event

    def reason(self, finish: str) -> str:
        """Return our finish reason for the provider's finish."""
        ours = FINISHES.get(finish.lower(), "unknown")
        if self.refused and ours == "stop":
            return "content-filter"
        return "tool-calls" if ours in {"stop", "unknown"} and self._calls.calls else ours

    def _new_id(self, kind: str) -> str:
        self._blocks += 1
        return f"{kind}_{self._blocks}"

    def _say(self, text: str) -> Iterator[StreamEvent]:
        if self._reasoning_id is not None:
            yield from self._end_reasoning()
        if self._text_id is None:
            self._text_id = self._new_id("text")
            yield TextStarted(self._text_id)
        self.text.append(text)
        self._block_text.append(text)
        if self._calls.calls and text.strip():
            self._followed |= {call.id for call in self._calls.calls}
        yield TextDelta(self._text_id, text)

    def _end_text(self) -> Iterator[StreamEvent]:
        if self._text_id is not None:
            yield TextEnded(self._text_id, self._cited())
            self._text_id, self._block_text = None, []

    def _cited(self) -> dict[str, Any] | None:
        """Return the blocks of the ending text, where their citations must be sent back."""
        blocks = self._ran.take_texts() if self._ran is not None else []
        is_complete = "".join(block["text"] for block in blocks) == "".join(self._block_text)
        if not is_complete or not any(block.get("citations") for block in blocks):
            return None
        return {DIALECT: "anthropic", NATIVE: [block for block in blocks if block["text"]]}

    def _reason(self, text: str, blocks: Any) -> Iterator[StreamEvent]:
        yield from self._end_text()
        if self._reasoning_id is None:
            self._reasoning_id = self._new_id("reasoning")
            yield ReasoningStarted(self._reasoning_id)
        if text:
            self.reasoning.append(text)
            yield ReasoningDelta(self._reasoning_id, text)
        for block in blocks:
            self._think(dict(block))

    def _think(self, block: dict[str, Any]) -> None:
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
        metadata = {"thinking_blocks": blocks, "family": self._family} if blocks else None
        yield ReasoningEnded(self._reasoning_id, metadata)
        self._reasoning_id, self._thinking, self._open_thinking = None, [], None

    def _call(self, piece: Any) -> Iterator[StreamEvent]:
        newest = self._calls.calls[-1] if self._calls.calls else None
        joined = self._calls.join(piece)
        call = joined.call
        kind = getattr(piece, "type", None)
        if isinstance(kind, str) and kind not in OURS:
            self._foreign.add(call.id)
        if joined.is_new:
            yield from self._end_reasoning()
            yield from self._end_text()
            if newest is not None:
                yield from self._end_call(newest)
            yield ToolInputStarted(call.id, self._names.get(call.tool, call.tool))
        if joined.text:
            yield ToolInputDelta(call.id, joined.text)

    def _end_call(self, call: StreamedCall) -> Iterator[StreamEvent]:
        if not call.ended:
            call.ended = True
            yield ToolInputEnded(call.id)
