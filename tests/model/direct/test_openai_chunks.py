"""Chunks of servers that only nearly speak OpenAI's chat completions are read for what they say."""

import json
from typing import Any

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.openai_chunks import END, HEAD, chunk
from tests.model.raw_server import answer, serving

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.interface import ReasoningDelta, StepFinished, StreamEvent, TextDelta
from palimpsest.transcript.errors import ApiError, ErrorValue


async def streamed(*pieces: str) -> tuple[list[StreamEvent], ErrorValue | None]:
    model = DirectModel(LitellmModel(), read_timeout_seconds=20.0)
    async with serving(answer("".join(pieces), kind="text/event-stream")) as host:
        return await run(request(info("openai", api_base=f"http://{host}/v1")), model)


def event(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"


async def test_a_content_in_parts_is_said_and_thought() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}

    events, error = await streamed(
        chunk(content=[thinking]),
        chunk(content=[{"type": "text", "text": "Yes."}, 7]),
        chunk("stop"),
        END,
    )

    assert error is None
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == ["Hm."]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Yes."]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "ping"},
        {},
        {**HEAD, "choices": []},
        {**HEAD, "choices": None},
        {"x_groq": {"id": "r"}},
    ],
    ids=str,
)
async def test_a_chunk_that_says_nothing_is_passed_over(odd: dict[str, Any]) -> None:
    events, error = await streamed(event(odd), chunk(content="Hi."), event(odd), chunk("stop"), END)

    assert error is None
    assert isinstance(events[-1], StepFinished)


@pytest.mark.parametrize("begun", [True, False])
async def test_an_error_without_the_field_for_errors_is_one(begun: bool) -> None:  # noqa: FBT001
    failed = {
        "object": "error",
        "message": "The prompt is odd.",
        "type": "BadRequestError",
        "code": 400,
    }

    _, error = await streamed(*([chunk(content="Hi.")] if begun else []), event(failed))

    assert isinstance(error, ApiError)
    assert "The prompt is odd." in error.message
    assert (error.status, error.retryable) == (400, False)
