"""Watch what a provider really sent, below litellm's stream wrapper.

The wrapper invents a finish and a usage where the provider sent none, and keeps every chunk to
rebuild the answer at the end, which stops the loop for a tenth of a second or more. The tap
sits between the two: it notes the real finish and usage, and knows when the bytes are at an end.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

from palimpsest.model.adapter.unstreamed_answer import checked_bytes, checked_lines
from palimpsest.model.adapter.usage import field


class DiscardingList(list[Any]):
    """A list that keeps nothing, in the place of the wrapper's store of chunks."""

    def append(self, item: Any) -> None:
        """Let the chunk go."""


def native_finish(chunk: Any) -> str | None:
    """Return the finish in a chunk of Anthropic's or Gemini's own; empty where it has none.

    None means that the chunk is of another kind, and nothing is known.
    """
    if not isinstance(chunk, dict):
        return None
    if chunk.get("type") in {"message_start", "message_delta"}:
        return str(field(chunk, "delta", "stop_reason") or "")
    candidates = chunk.get("candidates")
    if isinstance(candidates, list):
        return _of_candidate(chunk, "finishReason")
    return None


def _of_candidate(chunk: Any, name: str) -> str:
    """Return a field of the answer in a chunk of Gemini's own."""
    return next((str(one.get(name) or "") for one in _objects(field(chunk, "candidates"))), "")


def with_inputs(chunk: Any) -> None:
    """Give Gemini's calls an input where they have none, which litellm takes for granted."""
    for candidate in _objects(field(chunk, "candidates")):
        for part in _objects(field(candidate, "content", "parts")):
            call = part.get("functionCall")
            if isinstance(call, dict) and call.get("args") is None:
                call["args"] = {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _checking(response: Any, done: Callable[[], None]) -> Callable[[], Any]:
    """Return what reads a response's bytes, and sees whether they are a stream and have an end."""
    pieces = response.aiter_bytes
    return lambda: checked_bytes(pieces(), response, done)


class StreamTap:
    """An async iterator around a provider's raw stream."""

    def __init__(self) -> None:
        self.finish: str | None = None
        """The provider's own finish reason; None means that it sent none."""
        self.told = ""
        """What the provider said about that, for a person."""
        self.usage: Any = None
        """The last usage that the provider reported."""
        self.exhausted = False
        self.refused = False
        """The model said that it will not answer, in the field for that."""
        self.done = False
        """The stream said that it is at its end, whether or not the answer had a finish."""
        self._raw: Any = None
        self._iterator: Any = None
        self._attached = False
        self._native = False
        """The provider's own words were seen, so what litellm made of them does not count."""

    def attach(self, stream: Any) -> bool:
        """Put the tap into a litellm stream; True when the request is sent only at first reading."""
        make_call = getattr(stream, "make_call", None)
        if stream.completion_stream is None and make_call is not None:

            async def tapped(*arguments: Any, **keywords: Any) -> Any:
                return self._around(await make_call(*arguments, **keywords))

            stream.make_call = tapped
            return True
        stream.completion_stream = self._around(stream.completion_stream)
        return False

    def _around(self, raw: Any) -> Any:
        if not hasattr(raw, "__aiter__"):
            return raw
        self._attached = True
        self._raw = raw
        response = getattr(raw, "response", None)
        if response is not None and hasattr(response, "aiter_bytes"):
            response.aiter_bytes = _checking(response, self._done)
        if hasattr(getattr(raw, "streaming_response", None), "aclose"):
            raw.streaming_response = checked_lines(raw.streaming_response)
        if hasattr(raw, "chunk_parser"):
            raw.chunk_parser = self._listening(raw.chunk_parser)
        if hasattr(raw, "reasoning_content_chunks"):
            # Anthropic's reader would count the thinking with a tokenizer of its own: 27 MB.
            raw.reasoning_content_chunks = DiscardingList()
        self._iterator = raw.__aiter__()
        return self

    def _listening(self, parse: Callable[..., Any]) -> Callable[..., Any]:
        """Read a provider's chunk before litellm translates it.

        litellm calls every unknown end a stop, and a Gemini answer with a tool call finished.
        """

        def parser(*arguments: Any, **keywords: Any) -> Any:
            chunk = keywords.get("chunk", arguments[0] if arguments else None)
            found = native_finish(chunk)
            if found is not None:
                self._native = True
                self.finish = found or self.finish
                self.told = _of_candidate(chunk, "finishMessage") or self.told
                with_inputs(chunk)
            return parse(*arguments, **keywords)

        return parser

    def _done(self) -> None:
        self.done = True

    def settle(self, stream: Any) -> None:
        """Take the wrapper's word where the raw stream could not be watched."""
        if not self._attached:
            self.finish = stream.received_finish_reason

    def look(self, chunk: Any) -> None:
        """Note the finish and the usage of one raw chunk."""
        if isinstance(chunk, dict):
            finish = chunk.get("finish_reason") if chunk.get("is_finished") else None
        else:
            choices = getattr(chunk, "choices", None)
            self._hear_refusal(choices)
            finish = getattr(choices[0], "finish_reason", None) if choices else None
        if finish and not self._native:
            self.finish = str(finish)
        reported = field(chunk, "usage")
        if reported is not None:
            self.usage = reported

    def _hear_refusal(self, choices: Any) -> None:
        """Let a refusal be said: it has a field of its own, which litellm leaves out."""
        delta = getattr(choices[0], "delta", None) if choices else None
        words = getattr(delta, "refusal", None)
        if isinstance(words, str) and words and delta is not None and not delta.content:
            self.refused = True
            delta.content, delta.refusal = words, None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            chunk = await self._iterator.__anext__()
        except StopAsyncIteration:
            self.exhausted = True
            raise
        self.look(chunk)
        return chunk

    async def aclose(self) -> None:
        """Close the raw stream and with it the connection."""
        for layer in (self._raw, getattr(self._raw, "streaming_response", None)):
            close = getattr(layer, "aclose", None) or getattr(layer, "close", None)
            if close is not None:
                pending = close()
                if hasattr(pending, "__await__"):
                    await pending
