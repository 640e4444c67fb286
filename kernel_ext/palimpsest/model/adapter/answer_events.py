"""Turn the deltas of one answer into our events, to its real end, with its usage and cost.

All sources of deltas share it: litellm, a model of this process, or the provider's own stream. A step is complete
only when the provider itself reported its end, which the tap recorded beside the deltas.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from typing import Any

from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.adapter.stream_joiner import BROKEN_FINISHES, StreamJoiner
from palimpsest.model.adapter.usage import normalise_usage, with_estimates
from palimpsest.model.errors import classification
from palimpsest.model.errors.explanations import address_without_key, server_name
from palimpsest.model.interface import (
    LISTED_AS,
    ModelRequest,
    StepFinished,
    StepStarted,
    StreamEvent,
)
from palimpsest.model.providers import is_loopback
from palimpsest.model.tokenizer import counter
from palimpsest.model.wire.provider_messages import prompt_text
from palimpsest.model.wire.tool_call_text import tool_name
from palimpsest.transcript.errors import ModelFailed
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import Usage

READ_TIMEOUT_SECONDS = 300.0
"""Seconds of silence that end a request; reasoning models may think for minutes without sending anything."""
LOCAL_READ_TIMEOUT_SECONDS = 900.0
"""The same for a local model, which may read a long prompt for minutes before its first token."""
MAX_BURST_SECONDS = 0.01
"""Maximum seconds for which buffered chunks are read before other tasks of the event loop run."""
DEFAULT_ESTIMATOR = "tiktoken/o200k_base"
PLACEHOLDER_KEY = "not-needed"
"""Local servers need no key, but the client requires one."""


def read_timeout_seconds(api_base: str | None, seconds: float | None) -> float:
    """Return how long a server may be silent: ``seconds`` if given, else longer for a local server."""
    if seconds is not None:
        return seconds
    return LOCAL_READ_TIMEOUT_SECONDS if is_loopback(api_base) else READ_TIMEOUT_SECONDS


DeltaSource = Callable[[ModelRequest, StreamTap], AsyncGenerator[Any, None]]
"""Yields None once a request was accepted, then the deltas of its answer."""


async def yielding_to_others(values: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    """Yield values, and let other tasks run: a burst never waits, so that a cancel would not be handled."""
    last_pause = time.monotonic()
    async for value in values:
        if time.monotonic() - last_pause > MAX_BURST_SECONDS:
            await asyncio.sleep(0)
            last_pause = time.monotonic()
        yield value


async def answer_events(
    request: ModelRequest, deltas: DeltaSource
) -> AsyncGenerator[StreamEvent, None]:
    """Yield the events of an answer; raises ModelFailed for any failure, and for an answer without a real end."""
    tap, model = StreamTap(), request.model
    try:
        async with aclosing(_events(request, tap, deltas(request, tap))) as events:
            async for event in events:
                yield event
    except (asyncio.CancelledError, GeneratorExit, ModelFailed):
        raise
    except Exception as error:
        provider, refusals = model.ref.provider, request.refusals
        failure = classification.classify(error, provider, model.api_base, refusals=refusals)
        raise ModelFailed(failure) from error


async def _events(
    request: ModelRequest, tap: StreamTap, deltas: AsyncGenerator[Any, None]
) -> AsyncGenerator[StreamEvent, None]:
    target_profile = profile(request.model.ref)
    joiner = StreamJoiner(
        target_profile.family,
        {tool_name(tool.name, target_profile): tool.name for tool in request.tools},
        tap.provider_calls,
        tap.responses_calls,
    )
    async with aclosing(deltas):
        async for delta in deltas:
            if delta is None:
                yield StepStarted()
                continue
            for event in joiner.delta_events(delta):
                yield event
    if tap.finish is None and tap.is_done and (joiner.written_text or joiner.reasoning):
        tap.finish = "stop"
    if tap.finish is None:
        raise ModelFailed(
            classification.early_end_error(address_without_key(request.model.api_base))
        )
    if tap.finish.lower() in BROKEN_FINISHES:
        server = server_name(request.model.ref.provider, request.model.api_base)
        raise ModelFailed(classification.failed_answer_error(server, tap.finish, tap.explanation))
    for event in joiner.end_stream(tap.finish):
        yield event
    joiner.is_refused = joiner.is_refused or tap.is_refused
    usage = _usage(request, joiner, tap)
    metadata = {"provider_finish": tap.finish}
    if request.model.listed_as:
        metadata[LISTED_AS] = request.model.listed_as
    cost = usage.cost(request.model.price)
    yield StepFinished(joiner.finish_reason(tap.finish), usage, cost, metadata)


def _usage(request: ModelRequest, joiner: StreamJoiner, tap: StreamTap) -> Usage:
    reported_usage = normalise_usage(tap.usage)
    text, reasoning_text = joiner.written_text, "".join(joiner.reasoning)
    if reported_usage is not None and reported_usage.prompt:
        has_answer_tokens = bool(reported_usage.output + reported_usage.reasoning)
        if has_answer_tokens or not (text or reasoning_text):
            return reported_usage
    prompt = prompt_text(request.messages, request.tools)
    count_tokens = counter(DEFAULT_ESTIMATOR)
    return with_estimates(prompt, text, reasoning_text, count_tokens, reported_usage)
