"""Carry a model of our own through litellm, as one of its custom providers.

litellm calls an object it knows only by shape, so no class of it is needed here; its exceptions
are told by status. When the user imported litellm first, its list of providers is left alone
and the same chunks are read directly.
"""

import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from types import SimpleNamespace
from typing import Any

from palimpsest.model.custom import (
    CustomCall,
    CustomChunk,
    CustomFinish,
    CustomReasoning,
    CustomText,
    StreamingHandler,
)
from palimpsest.model.model import ModelRequest
from palimpsest.model.tap import Tap
from palimpsest.transcript.values import Usage


class Bridge:
    """The custom provider that litellm sees for one handler."""

    def __init__(self, handler: StreamingHandler) -> None:
        self._handler = handler
        self._requests: dict[str, ModelRequest] = {}
        self._tokens = itertools.count(1)
        self._types: Any = None

    def register(self, litellm: Any, provider: str) -> None:
        """Enter the bridge into litellm's map, again if somebody replaced the map."""
        self._types = litellm.types.utils
        entries = litellm.custom_provider_map
        if not any(entry["custom_handler"] is self for entry in entries):
            entries[:] = [entry for entry in entries if entry["provider"] != provider]
            entries.append({"provider": provider, "custom_handler": self})
        litellm.utils.custom_llm_setup()

    @contextmanager
    def asked(self, request: ModelRequest) -> Iterator[str]:
        """Hold the request under a token while litellm carries it to ``astreaming``."""
        token = str(next(self._tokens))
        self._requests[token] = request
        try:
            yield token
        finally:
            self._requests.pop(token, None)

    def astreaming(
        self, model: str, messages: list[Any], litellm_params: Any = None, **_: Any
    ) -> AsyncIterator[Any]:
        """Answer litellm's call."""
        request = self._requests[litellm_params["metadata"]["palimpsest"]]
        return self._chunks(model, tuple(messages), request)

    def answer(
        self, model: str, messages: tuple[dict[str, Any], ...], request: ModelRequest
    ) -> AsyncIterator[CustomChunk]:
        """Ask the handler."""
        parameters = {
            "max_tokens": request.model.output_limit,
            "reasoning_effort": request.model.ref.variant,
            **request.parameters,
            "model": model,
        }
        return self._handler.stream(
            messages, request.tools, parameters, request.session_id, request.purpose
        )

    async def _chunks(
        self, model: str, messages: tuple[dict[str, Any], ...], request: ModelRequest
    ) -> AsyncIterator[Any]:
        types = self._types
        async with aclosing(numbered(self.answer(model, messages, request), messages)) as chunks:
            async for delta, finish, usage in chunks:
                if usage is not None:
                    # Before the finish: litellm replaces a usage that comes with or after it.
                    yield types.ModelResponseStream(
                        choices=[types.StreamingChoices(delta=types.Delta())], usage=usage
                    )
                choice = types.StreamingChoices(delta=types.Delta(**delta), finish_reason=finish)
                yield types.ModelResponseStream(choices=[choice])


async def direct_chunks(
    bridge: Bridge, request: ModelRequest, tap: Tap
) -> AsyncGenerator[Any, None]:
    """Yield None and then deltas, as the adapter does, without litellm in between."""
    chunks = numbered(
        bridge.answer(request.model.ref.name, request.messages, request), request.messages
    )
    async with aclosing(chunks):
        yield None
        async for delta, finish, usage in chunks:
            tap.look({"finish_reason": finish, "is_finished": finish is not None, "usage": usage})
            calls = [
                SimpleNamespace(**{**call, "function": SimpleNamespace(**call["function"])})
                for call in delta.get("tool_calls", ())
            ]
            yield SimpleNamespace(**{**delta, "tool_calls": calls})


async def numbered(
    chunks: AsyncIterator[CustomChunk], messages: tuple[dict[str, Any], ...]
) -> AsyncGenerator[tuple[dict[str, Any], str | None, dict[str, Any] | None], None]:
    """Yield delta, finish and usage of each chunk; calls without an id are counted on."""
    taken = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
    numbers = (f"call_{number}" for number in itertools.count(len(taken) + 1))
    index = itertools.count()
    async with aclosing(chunks):  # type: ignore[type-var]  # handlers are async generators
        async for chunk in chunks:
            match chunk:
                case CustomText():
                    yield {"content": chunk.text}, None, None
                case CustomReasoning():
                    yield {"reasoning_content": chunk.text}, None, None
                case CustomCall():
                    identifier = chunk.id or next(n for n in numbers if n not in taken)
                    yield {"tool_calls": [_call(chunk, identifier, next(index))]}, None, None
                case CustomFinish():
                    yield {}, chunk.reason, None if chunk.usage is None else _usage(chunk.usage)


def _call(chunk: CustomCall, identifier: str, index: int) -> dict[str, Any]:
    raw = chunk.arguments
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return {
        "index": index,
        "id": identifier,
        "type": "function",
        "function": {"name": chunk.name, "arguments": text},
    }


def _usage(usage: Usage) -> dict[str, Any]:
    completion = usage.output + usage.reasoning
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": completion,
        "total_tokens": usage.prompt + completion,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
