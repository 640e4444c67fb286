"""Deltas of any model become events, with usage, cost and failures judged the same way."""

from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from tests.model.adapter_requests import info, request, run

from palimpsest.model.adapter.answer_events import answer_events
from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.adapter.usage import openai_report
from palimpsest.model.interface import (
    ModelRequest,
    StepFinished,
    StreamEvent,
    TextDelta,
    ToolCalled,
)
from palimpsest.model.script import Failure
from palimpsest.rehearsal.rehearsal_model import ScriptedFailure
from palimpsest.transcript.errors import ApiError, ContextOverflowError
from palimpsest.transcript.values import Price, Usage

USAGE = Usage(input=10, output=6, reasoning=1, cache_read=90)
MODEL = info("parrot", price=Price(input=1.0, output=2.0, cache_read=0.1))


class Parrot:
    """A model that yields given deltas; the last of them may be how it ends, or how it fails."""

    def __init__(self, *deltas: Any) -> None:
        self.deltas = deltas
        self.closed = False

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        return answer_events(request, self._deltas)

    async def _deltas(self, _: ModelRequest, tap: StreamTap) -> AsyncGenerator[Any, None]:
        try:
            yield None
            for delta in self.deltas:
                if isinstance(delta, ScriptedFailure):
                    raise delta
                if isinstance(delta, Finish):
                    tap.finish, tap.usage = delta
                else:
                    yield delta
        finally:
            self.closed = True


class Finish(NamedTuple):
    """The end of an answer."""

    reason: str = "stop"
    usage: dict[str, Any] | None = None


def text(words: str) -> SimpleNamespace:
    return SimpleNamespace(content=words)


def call(number: int, raw: str) -> SimpleNamespace:
    function = SimpleNamespace(name="python", arguments=raw)
    return SimpleNamespace(
        tool_calls=[SimpleNamespace(index=number, id=f"call_{number}", function=function)]
    )


STORY = (
    SimpleNamespace(reasoning_content="Hm."),
    text("Let me "),
    text("look."),
    call(1, '{"code": "1"}'),
    call(2, '{"code": '),
    Finish("tool_calls", openai_report(USAGE)),
)


async def play(parrot: Parrot) -> tuple[list[StreamEvent], Any]:
    return await run(request(MODEL), parrot)


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


async def test_missing_usage_is_estimated() -> None:
    events, _ = await play(Parrot(text("One two three."), Finish()))

    assert isinstance(events[-1], StepFinished)
    assert (events[-1].usage.estimated, events[-1].usage.output) == (True, 4)


async def test_an_end_without_a_finish_is_a_broken_answer() -> None:
    events, error = await play(Parrot(text("Half"), call(1, "{}")))

    assert isinstance(error, ApiError)
    assert error.retryable
    assert not [e for e in events if isinstance(e, ToolCalled)]


@pytest.mark.parametrize("before", [(), (text("Half"),)])
async def test_a_failure_is_classified_as_a_providers(before: tuple[SimpleNamespace, ...]) -> None:
    refusal = ScriptedFailure(Failure(429, "Slow down.", {"retry-after": "3"}))

    _, error = await play(Parrot(*before, refusal))

    assert isinstance(error, ApiError)
    assert (error.status, error.retryable) == (429, True)
    assert error.headers == {"retry-after": "3"}
    assert "Slow down." in error.message


async def test_an_overflow_is_an_overflow() -> None:
    refusal = ScriptedFailure(Failure(400, "maximum context length is 8192 tokens"))

    _, error = await play(Parrot(refusal))

    assert isinstance(error, ContextOverflowError)


async def test_closing_the_stream_closes_the_deltas() -> None:
    parrot = Parrot(*[text("on and on ")] * 1_000)
    stream = parrot.stream(request(MODEL))
    async for event in stream:
        if isinstance(event, TextDelta):
            break

    await stream.aclose()

    assert parrot.closed
