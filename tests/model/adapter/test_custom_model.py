"""A custom model streams as any provider's does, without litellm."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.model.adapter_requests import HELLO, PYTHON, SYSTEM, info, request, run

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.custom_provider import (
    CustomCall,
    CustomChunk,
    CustomFailure,
    CustomFinish,
    CustomReasoning,
    CustomText,
)
from palimpsest.model.interface import StepFinished, StreamEvent, TextDelta, ToolCalled
from palimpsest.transcript.errors import ApiError, ContextOverflowError
from palimpsest.transcript.values import Price, Usage

USAGE = Usage(input=10, output=6, reasoning=1, cache_read=90)
MODEL = info("parrot", price=Price(input=1.0, output=2.0, cache_read=0.1))


class Parrot:
    """A fake custom model that yields given chunks and records its requests."""

    def __init__(self, *chunks: CustomChunk | CustomFailure) -> None:
        self.chunks = chunks
        self.asked: list[tuple[Any, ...]] = []
        self.closed = False

    async def stream(
        self, messages: Any, tools: Any, parameters: Any, session_id: str | None, purpose: str
    ) -> AsyncIterator[CustomChunk]:
        self.asked.append((messages, tools, parameters, session_id, purpose))
        try:
            for chunk in self.chunks:
                if isinstance(chunk, CustomFailure):
                    raise chunk
                yield chunk
        finally:
            self.closed = True


STORY = (
    CustomReasoning("Hm."),
    CustomText("Let me "),
    CustomText("look."),
    CustomCall("python", {"code": "1"}),
    CustomCall("python", '{"code": '),
    CustomFinish("tool_calls", USAGE),
)


async def play(parrot: Parrot, **parameters: Any) -> tuple[list[StreamEvent], Any]:
    model = LitellmModel()
    model.register_custom("parrot", parrot)
    return await run(request(MODEL, **parameters), model)


async def test_everything_arrives_with_its_usage_and_cost() -> None:
    events, error = await play(Parrot(*STORY))

    assert error is None
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Let me ", "look."]
    calls = [e for e in events if isinstance(e, ToolCalled)]
    assert [(c.id, c.input, bool(c.problem)) for c in calls] == [
        ("call_1", {"code": "1"}, False),
        ("call_2", {}, True),
    ]
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "tool-calls"
    assert events[-1].usage == USAGE.model_copy(update={"total": 107})
    assert events[-1].cost == pytest.approx((10 * 1 + 7 * 2 + 90 * 0.1) / 1e6)


async def test_the_handler_is_told_everything() -> None:
    parrot = Parrot(CustomFinish())

    await play(parrot, temperature=0.5)

    messages, tools, parameters, session_id, purpose = parrot.asked[0]
    assert (messages, tools) == ((SYSTEM, HELLO), (PYTHON,))
    assert parameters == {
        "max_tokens": 1_000,
        "reasoning_effort": None,
        "temperature": 0.5,
        "model": "some-model",
    }
    assert (session_id, purpose) == (None, "step")


async def test_missing_usage_is_estimated() -> None:
    events, _ = await play(Parrot(CustomText("One two three."), CustomFinish()))

    assert isinstance(events[-1], StepFinished)
    assert (events[-1].usage.estimated, events[-1].usage.output) == (True, 4)


async def test_an_end_without_a_finish_is_a_broken_answer() -> None:
    events, error = await play(Parrot(CustomText("Half"), CustomCall("python", {})))

    assert isinstance(error, ApiError)
    assert error.retryable
    assert not [e for e in events if isinstance(e, ToolCalled)]


@pytest.mark.parametrize("before", [(), (CustomText("Half"),)])
async def test_a_failure_is_classified_as_a_providers(before: tuple[CustomChunk, ...]) -> None:
    refusal = CustomFailure(429, "Slow down.", {"retry-after": "3"})

    _, error = await play(Parrot(*before, refusal))

    assert isinstance(error, ApiError)
    assert (error.status, error.retryable) == (429, True)
    assert error.headers == {"retry-after": "3"}
    assert "Slow down." in error.message


async def test_an_overflow_is_an_overflow() -> None:
    _, error = await play(Parrot(CustomFailure(400, "maximum context length is 8192 tokens")))

    assert isinstance(error, ContextOverflowError)


async def test_closing_the_stream_closes_the_handler() -> None:
    parrot = Parrot(*[CustomText("on and on ")] * 1_000)
    model = LitellmModel()
    model.register_custom("parrot", parrot)
    stream = model.stream(request(MODEL))
    async for event in stream:
        if isinstance(event, TextDelta):
            break

    await stream.aclose()

    assert parrot.closed


async def test_calls_are_counted_on_from_those_before() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "python", "arguments": "{}"}}
    model = LitellmModel()
    model.register_custom("parrot", Parrot(CustomCall("python", {}), CustomFinish()))

    events, _ = await run(
        request(
            MODEL,
            HELLO,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "4"},
        ),
        model,
    )

    assert [e.id for e in events if isinstance(e, ToolCalled)] == ["call_2"]
