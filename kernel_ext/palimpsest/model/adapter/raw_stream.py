"""Observe a provider's raw stream, below litellm's stream wrapper.

The wrapper invents a finish and a usage where the provider sent none, and stores every chunk to
rebuild the answer at the end, which blocks the event loop for a tenth of a second or more. The tap
between the two records the real finish and usage, and whether the bytes have ended.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

from palimpsest.model.adapter.gemini_partial_calls import GeminiPartialCalls
from palimpsest.model.adapter.native_calls import NativeCalls
from palimpsest.model.adapter.provider_calls import ProviderCalls
from palimpsest.model.adapter.responses_calls import ResponsesCalls, ResponsesText
from palimpsest.model.adapter.unstreamed_answer import checked_bytes, checked_lines
from palimpsest.model.adapter.usage import dicts_of, nested_field


class DiscardingList(list[Any]):
    """A list that discards all items; it replaces the wrapper's store of chunks."""

    def append(self, item: Any) -> None:
        """Discard the chunk."""


WITHHELD_FIELD = "provider_call"
"""The field that marks an empty delta in place of a chunk that litellm must not see."""


def native_finish(chunk: Any) -> str | None:
    """Return the finish in a chunk of OpenAI's, Anthropic's or Gemini's own format; empty where it has none.

    None means that the chunk has another format.
    """
    if not isinstance(chunk, dict):
        return None
    if chunk.get("type") in {"message_start", "message_delta"}:
        return str(nested_field(chunk, "delta", "stop_reason") or "")
    if isinstance(chunk.get("candidates"), list):
        return _first_field(chunk, "candidates", "finishReason")
    if isinstance(chunk.get("choices"), list):
        return _first_field(chunk, "choices", "finish_reason")
    return None


def _first_field(chunk: Any, answers: str, name: str) -> str:
    """Return a field of the first answer in a chunk of a provider's own format; empty where it has none."""
    return next((str(item.get(name) or "") for item in dicts_of(nested_field(chunk, answers))), "")


def add_empty_inputs(chunk: Any) -> None:
    """Add an empty input to Gemini's calls that have none, since litellm requires one."""
    for candidate in dicts_of(nested_field(chunk, "candidates")):
        for part in dicts_of(nested_field(candidate, "content", "parts")):
            call = part.get("functionCall")
            if isinstance(call, dict) and call.get("args") is None:
                call["args"] = {}


def _empty_chunk(parse: Callable[..., Any]) -> Any:
    """Return an empty chunk in place of one that litellm must not see."""
    empty_chunk = parse(chunk={"type": "ping"})
    empty_chunk.choices[0].delta.provider_specific_fields = {WITHHELD_FIELD: True}
    return empty_chunk


class StreamTap:
    """An async iterator around a provider's raw stream."""

    def __init__(self) -> None:
        self.finish: str | None = None
        """The provider's own finish reason; None means that it sent none."""
        self.explanation = ""
        """The provider's explanation of the finish, to show to the user."""
        self.usage: Any = None
        """The last usage that the provider reported."""
        self.provider_calls = ProviderCalls()
        """The provider's own tool runs that were read so far."""
        self.responses_calls = ResponsesCalls()
        """The calls of an answer in OpenAI's Responses."""
        self.is_exhausted = False
        self.is_refused = False
        """Whether the model declined to answer, in the field for refusals."""
        self.is_done = False
        """Whether the stream sent its end marker, with or without a finish of the answer."""
        self._raw_stream: Any = None
        self._iterator: Any = None
        self._is_attached = False
        self._calls = NativeCalls()
        self._partial_calls = GeminiPartialCalls()
        self._dropped_text = ResponsesText()
        self._has_native_calls = False
        """Whether chunks came in the provider's own format, so that litellm's finish is ignored."""
        self._reads_before_parsing = False
        """Whether each chunk is read before litellm parses it."""

    def attach(self, stream: Any) -> bool:
        """Insert the tap into a litellm stream; returns whether the request is sent only at the first read."""
        make_call = getattr(stream, "make_call", None)
        if stream.completion_stream is None and make_call is not None:

            async def make_tapped_call(*arguments: Any, **keywords: Any) -> Any:
                return self._tapped_stream(await make_call(*arguments, **keywords))

            stream.make_call = make_tapped_call
            return True
        stream.completion_stream = self._tapped_stream(stream.completion_stream)
        return False

    def _tapped_stream(self, raw_stream: Any) -> Any:
        if not hasattr(raw_stream, "__aiter__"):
            return raw_stream
        self._is_attached = True
        self._raw_stream = raw_stream
        response = getattr(raw_stream, "response", None)
        if response is not None and hasattr(response, "aiter_bytes"):
            pieces = response.aiter_bytes
            response.aiter_bytes = lambda: checked_bytes(pieces(), response, self.mark_end)
        if hasattr(getattr(raw_stream, "streaming_response", None), "aclose"):
            raw_stream.streaming_response = checked_lines(raw_stream.streaming_response)
        if hasattr(raw_stream, "chunk_parser"):
            self._reads_before_parsing = True
            raw_stream.chunk_parser = self._tapped_parser(raw_stream.chunk_parser)
        if hasattr(raw_stream, "reasoning_content_chunks"):
            # Anthropic's reader would count the thinking with a tokenizer of its own: 27 MB.
            raw_stream.reasoning_content_chunks = DiscardingList()
        self._iterator = raw_stream.__aiter__()
        return self

    def _tapped_parser(self, parse: Callable[..., Any]) -> Callable[..., Any]:
        """Return a parser that reads a provider's chunk before litellm translates it.

        litellm reports every unknown finish as a stop, any Gemini answer with a tool call as finished, and the
        end marker of most OpenAI-compatible providers as a finish "stop", even after another finish.
        """

        def parser(*arguments: Any, **keywords: Any) -> Any:
            chunk = keywords.get("chunk", arguments[0] if arguments else None)
            self._partial_calls.join_pieces(chunk)
            finish = native_finish(chunk)
            if finish is not None:
                self._has_native_calls = True
                self.finish = finish or self.finish
                message = _first_field(chunk, "candidates", "finishMessage")
                self.explanation = message or self.explanation
                add_empty_inputs(chunk)
            is_withheld = self.provider_calls.read_chunk(chunk) is None
            if is_withheld or self.responses_calls.read_chunk(chunk):
                return _empty_chunk(parse)
            self._calls.remove_repeated_calls(chunk)
            text = self._dropped_text.read_chunk(chunk)
            parsed_chunk = parse(*arguments, **keywords)
            self._calls.correct_delta(chunk, parsed_chunk)
            if text:
                self.is_refused = self.is_refused or self._dropped_text.is_refused
                parsed_chunk.choices[0].delta.content = text
            return parsed_chunk

        return parser

    def mark_end(self) -> None:
        """Record that the stream's end marker arrived."""
        self.is_done = True

    def adopt_wrapper_finish(self, stream: Any) -> None:
        """Use the wrapper's finish where the raw stream could not be observed."""
        if not self._is_attached:
            self.finish = stream.received_finish_reason

    def read_raw_chunk(self, chunk: Any) -> None:
        """Record the finish and the usage of one raw chunk."""
        if isinstance(chunk, dict):
            finish = chunk.get("finish_reason") if chunk.get("is_finished") else None
        else:
            choices = getattr(chunk, "choices", None)
            self._move_refusal_to_content(choices)
            finish = getattr(choices[0], "finish_reason", None) if choices else None
        if finish and not self._has_native_calls:
            self.finish = str(finish)
        usage = nested_field(chunk, "usage")
        if usage is not None:
            self.usage = usage
        if not self._reads_before_parsing:
            self.provider_calls.read_chunk(chunk)

    def _move_refusal_to_content(self, choices: Any) -> None:
        """Move a refusal's text to the content, since litellm drops its field."""
        delta = getattr(choices[0], "delta", None) if choices else None
        text = getattr(delta, "refusal", None)
        if isinstance(text, str) and text and delta is not None and not delta.content:
            self.is_refused = True
            delta.content, delta.refusal = text, None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            chunk = await self._iterator.__anext__()
        except StopAsyncIteration:
            self.is_exhausted = True
            raise
        self.read_raw_chunk(chunk)
        return chunk

    async def aclose(self) -> None:
        """Close the raw stream and with it the connection."""
        for layer in (self._raw_stream, getattr(self._raw_stream, "streaming_response", None)):
            close = getattr(layer, "aclose", None) or getattr(layer, "close", None)
            if close is not None:
                closing = close()
                if hasattr(closing, "__await__"):
                    await closing
