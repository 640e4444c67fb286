"""Undocumented behaviour of servers on the wire: extra fields, tags, endings and comments."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.openai_chunks import END, chunk
from tests.model.raw_server import answer, serving

from palimpsest.model.adapter.stream_joiner import StreamJoiner
from palimpsest.model.interface import (
    ReasoningDelta,
    StepFinished,
    StreamEvent,
    TextDelta,
    ToolCalled,
)
from palimpsest.transcript.errors import ApiError, ErrorValue

pytestmark = pytest.mark.usefixtures("litellm", "both_ways")


async def streamed(*pieces: str) -> tuple[list[StreamEvent], ErrorValue | None]:
    async with serving(answer("".join(pieces), kind="text/event-stream")) as host:
        return await run(request(info("openai", api_base=f"http://{host}/v1")))


def said(events: Iterable[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thought(events: Iterable[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


async def test_a_refusal_in_its_own_field_is_shown_and_no_answer() -> None:
    events, error = await streamed(
        chunk(role="assistant", refusal="I will not "),
        chunk(refusal="do that."),
        chunk("stop"),
        END,
    )

    assert error is None
    assert said(events) == "I will not do that."
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "content-filter"


async def test_the_older_function_call_is_a_tool_call() -> None:
    events, error = await streamed(
        chunk(function_call={"name": "python", "arguments": '{"co'}),
        chunk(function_call={"arguments": 'de": "1"}'}),
        chunk("function_call"),
        END,
    )

    assert error is None
    called = next(event for event in events if isinstance(event, ToolCalled))
    assert (called.tool, called.input) == ("python", {"code": "1"})
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "tool-calls"


async def test_an_end_of_the_stream_is_an_end_without_a_finish() -> None:
    events, error = await streamed(chunk(content="Hello."), END)

    assert error is None
    assert said(events) == "Hello."
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "stop"


async def test_an_end_after_nothing_is_no_answer() -> None:
    _, error = await streamed(END)

    assert isinstance(error, ApiError)
    assert error.retryable


async def test_comments_numbers_and_delays_between_events_are_passed_over() -> None:
    events, error = await streamed(
        ": OPENROUTER PROCESSING\n\n",
        "id: 1\nretry: 100\nevent: message\n",
        chunk(content="Hel"),
        ": ping\r\n\r\n",
        chunk(content="lo."),
        chunk("stop"),
        END,
    )

    assert (said(events), error) == ("Hello.", None)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 200])
def test_thinking_between_tags_is_thinking_wherever_it_is_cut(size: int) -> None:
    words = "\n<think>\nIs 1 < 2? </thin no.</think>\n\nYes: <think> is a word."
    joiner = StreamJoiner("other")
    events: list[StreamEvent] = []
    for at in range(0, len(words), size):
        events += joiner.delta_events(Delta(content=words[at : at + size]))
    events += joiner.end_stream()

    assert thought(events) == "Is 1 < 2? </thin no."
    assert said(events).lstrip("\n") == "Yes: <think> is a word."


@pytest.mark.parametrize("words", ["<th", "<b>bold</b>", "  <think", "plain"])
def test_what_only_looks_like_a_tag_is_said(words: str) -> None:
    joiner = StreamJoiner("other")

    events = [event for letter in words for event in joiner.delta_events(Delta(content=letter))]
    events += joiner.end_stream()

    assert (said(events), thought(events)) == (words, "")


class Delta:
    """A delta with one field."""

    def __init__(self, content: str) -> None:
        self.content = content


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -50_000, "completion_tokens": -9, "total_tokens": -50_009},
        {"prompt_tokens": -1, "completion_tokens": 5, "total_tokens": 4},
        {"prompt_tokens": 5, "completion_tokens": -5, "total_tokens": 0},
        {"prompt_tokens": 0, "completion_tokens": 1, "total_tokens": 1},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 10**15, "completion_tokens": 1, "total_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": False, "total_tokens": 1},
        {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "prompt_tokens_details": {"cached_tokens": -9}},
    ],
    ids=str,
)  # fmt: skip
async def test_an_impossible_usage_is_replaced_by_an_estimate(usage: dict[str, Any]) -> None:
    words = "a long answer " * 50
    told = json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage})  # fmt: skip

    events, error = await streamed(chunk(content=words), chunk("stop"), f"data: {told}\n\n", END)

    assert error is None
    [end] = [event for event in events if isinstance(event, StepFinished)]
    assert end.usage.estimated
    assert 1 <= end.usage.prompt < 10_000
    assert 1 <= end.usage.output < 10_000
    assert end.cost is not None
    assert 0 < end.cost < 1
