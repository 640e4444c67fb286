"""Stream a model that runs in this process in the form of a provider's stream, without litellm.

Its chunks become the deltas that litellm would make of a provider's, so that joining, usage, cost,
cache and failures are the same; and a kernel that uses no other model never imports litellm.
"""

import itertools
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.adapter.tool_call_joiner import json_text
from palimpsest.model.custom_provider import (
    CustomCall,
    CustomChunk,
    CustomFinish,
    CustomReasoning,
    CustomText,
    StreamingHandler,
)
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import sendable
from palimpsest.transcript.values import Usage


async def custom_deltas(
    handler: StreamingHandler, request: ModelRequest, tap: StreamTap
) -> AsyncGenerator[Any, None]:
    """Yield None when the handler has begun to answer, then the deltas, as the adapter does."""
    messages = sendable(request.messages, request.model)
    parameters = request.all_parameters | {"model": request.model.ref.name}
    chunks = numbered(
        handler.stream(messages, request.tools, parameters, request.session_id, request.purpose),
        messages,
    )
    started = False
    async with aclosing(chunks):
        async for delta, finish, usage in chunks:
            if not started:
                started = True
                yield None
            tap.look({"finish_reason": finish, "is_finished": finish is not None, "usage": usage})
            yield delta


async def numbered(
    chunks: AsyncIterator[CustomChunk], messages: tuple[dict[str, Any], ...]
) -> AsyncGenerator[tuple[SimpleNamespace, str | None, dict[str, Any] | None], None]:
    """Yield delta, finish and usage of each chunk; calls without an id are numbered."""
    taken = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
    numbers = (f"call_{number}" for number in itertools.count(len(taken) + 1))
    index = itertools.count()
    async with aclosing(chunks):  # type: ignore[type-var]  # handlers are async generators
        async for chunk in chunks:
            match chunk:
                case CustomText():
                    yield SimpleNamespace(content=chunk.text), None, None
                case CustomReasoning():
                    yield SimpleNamespace(reasoning_content=chunk.text), None, None
                case CustomCall():
                    identifier = chunk.id or next(n for n in numbers if n not in taken)
                    call = _call(chunk, identifier, next(index))
                    yield SimpleNamespace(tool_calls=[call]), None, None
                case CustomFinish():
                    usage = None if chunk.usage is None else _usage(chunk.usage)
                    yield SimpleNamespace(), chunk.reason, usage


def _call(chunk: CustomCall, identifier: str, index: int) -> SimpleNamespace:
    function = SimpleNamespace(name=chunk.name, arguments=json_text(chunk.arguments))
    return SimpleNamespace(index=index, id=identifier, type="function", function=function)


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
