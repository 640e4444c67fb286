"""Calls streamed as OpenAI's Responses come out once, whole and in order, or not at all."""

import json
import random
from typing import Any

import pytest
from tests.model.adapter.responses_events import (
    DIALECTS,
    USAGE,
    Dialect,
    Event,
    added,
    arguments_done,
    as_documented,
    body,
    delta,
    done,
    in_the_end_only,
    item,
    items,
    message,
    response,
    said,
)
from tests.model.adapter.test_native_call_streams import some_calls
from tests.model.adapter_requests import info, request, run
from tests.model.raw_server import answer, serving
from tests.sample_size import seeds, thinned

from palimpsest.model.interface import (
    StepFinished,
    StreamEvent,
    TextDelta,
    ToolCalled,
    ToolInputDelta,
)
from palimpsest.transcript.errors import ErrorValue

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("litellm"),
    # litellm's values of events without an index; the adapter silences it where it imported litellm itself.
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]


async def answered(
    stream: str, provider: str = "openai"
) -> tuple[list[StreamEvent], ErrorValue | None]:
    """Return what is heard of an answer with these bytes."""
    async with serving(answer(stream, kind="text/event-stream")) as place:
        model = info(provider, name="gpt-5-codex", api_base=f"http://{place}/v1")
        return await run(request(model))


def told(events: list[StreamEvent]) -> list[tuple[str, str, Any, str | None]]:
    return [
        (event.id, event.tool, event.input, event.problem)
        for event in events
        if isinstance(event, ToolCalled)
    ]


@pytest.mark.parametrize("seed", thinned(seeds(2, 60), 2))
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: str(one.__name__))
async def test_calls_are_what_was_written(dialect: Dialect, seed: int) -> None:
    chance = random.Random(seed)
    calls = some_calls(chance)

    events, error = await answered(body(list(dialect(calls, chance)), items(calls)))

    assert error is None
    # What stands in the end of the answer counts too, and is told once.
    assert told(events) == [(i, name, value, None) for i, name, value in calls]
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "tool-calls"


@pytest.mark.parametrize("dialect", thinned(DIALECTS, 2), ids=lambda one: str(one.__name__))
async def test_no_call_of_an_answer_that_was_cut_is_run(dialect: Dialect) -> None:
    chance = random.Random(1)
    events = list(dialect(some_calls(chance), chance))
    for length in range(len(events) + 1):
        heard, error = await answered(body(events[:length], end=None))
        assert error is not None
        assert told(heard) == []


@pytest.mark.parametrize("seed", thinned(seeds(2, 30), 3))
@pytest.mark.parametrize(
    "dialect",
    [known for known in DIALECTS if known is not in_the_end_only],
    ids=lambda one: str(one.__name__),
)
async def test_an_end_that_tells_nothing_takes_nothing_away(dialect: Dialect, seed: int) -> None:
    chance = random.Random(seed)
    calls = some_calls(chance)

    events, error = await answered(body(list(dialect(calls, chance)), []))

    assert error is None
    assert told(events) == [(i, name, value, None) for i, name, value in calls]


@pytest.mark.parametrize("seed", seeds(2, 30))
async def test_a_new_id_in_the_end_makes_no_second_call(seed: int) -> None:
    chance = random.Random(seed)
    calls = some_calls(chance)
    last = [
        {**item, "id": f"new_{n}", "call_id": f"other_{n}"} for n, item in enumerate(items(calls))
    ]

    events, _ = await answered(body(list(as_documented(calls, chance)), last))

    assert told(events) == [(i, name, value, None) for i, name, value in calls]


ONE = {"path": "a"}
TEXT = '{"path": "a"}'
ODD: dict[str, tuple[list[Event], list[tuple[str, Any]]]] = {
    "no input": ([done(0, item(0, "c", "read", "", "completed"))], [("read", {})]),
    "an empty one": ([done(0, item(0, "c", "read", "{}", "completed"))], [("read", {})]),
    "two alike": (
        [done(0, item(0, "c", "read", TEXT)), done(1, item(1, "d", "read", TEXT))],
        [("read", ONE), ("read", ONE)],
    ),
    "two with one id": (
        [done(0, item(0, "c", "read", TEXT)), done(1, item(1, "c", "read", TEXT))],
        [("read", ONE), ("read", ONE)],
    ),
    "without ids": (
        [
            added(0, {**item(0, "", "read", ""), "id": ""}),
            {**arguments_done(0, TEXT), "item_id": ""},
            added(1, {**item(1, "", "python", ""), "id": ""}),
            {**arguments_done(1, "{}"), "item_id": ""},
        ],
        [("read", ONE), ("python", {})],
    ),
    "an input of nobody": ([arguments_done(0, TEXT)], [("function_call", ONE)]),
    "a free form": (
        [
            added(0, {"id": "x", "type": "custom_tool_call", "call_id": "c", "name": "python"}),
            {
                "type": "response.custom_tool_call_input.delta",
                "item_id": "x",
                "output_index": 0,
                "delta": '{"code": "1"}',
            },
        ],
        [("python", {"code": "1"})],
    ),
}


@pytest.mark.parametrize("odd", ODD)
async def test_odd_events_make_the_calls_that_they_tell(odd: str) -> None:
    events, expected = ODD[odd]

    heard, error = await answered(body(events))

    assert error is None
    assert [(tool, given) for _, tool, given, _ in told(heard)] == expected
    assert len({event.id for event in heard if isinstance(event, ToolCalled)}) == len(expected)


async def test_an_input_is_shown_while_it_is_written_and_once() -> None:
    events = [added(0, item(0, "c", "read", "")), delta(0, '{"pa'), delta(0, 'th": "a"}')]
    events += [arguments_done(0, TEXT), done(0, item(0, "c", "read", TEXT, "completed"))]

    heard, _ = await answered(body(events))

    shown = [event.text for event in heard if isinstance(event, ToolInputDelta)]
    assert shown == ['{"pa', 'th": "a"}']


async def test_a_half_written_input_is_a_problem_and_no_guess() -> None:
    events = [added(0, item(0, "c", "read", "")), delta(0, '{"pa')]
    last = [item(0, "c", "read", '{"pa', "incomplete")]
    more = {"incomplete_details": {"reason": "max_output_tokens"}}

    heard, error = await answered(body(events, last, end="incomplete", **more))

    assert error is None
    assert [problem is not None for *_, problem in told(heard)] == [True]
    assert isinstance(heard[-1], StepFinished)
    assert heard[-1].reason == "length"


@pytest.mark.parametrize(
    "events",
    [
        [said(0, "Hi."), done(0, message(0, "Hi."))],
        [done(0, message(0, "Hi."))],
        [],
    ],
    ids=["deltas", "item", "end"],
)
async def test_a_text_is_told_once_wherever_it_stands(events: list[Event]) -> None:
    heard, error = await answered(body(events, [message(0, "Hi.")]))

    assert error is None
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == "Hi."


async def test_a_refusal_is_told_as_one() -> None:
    refused = {**said(0, "I cannot."), "type": "response.refusal.delta"}

    heard, error = await answered(body([refused]))

    assert error is None
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == "I cannot."
    assert isinstance(heard[-1], StepFinished)
    assert heard[-1].reason == "content-filter"


async def test_a_failed_answer_runs_nothing() -> None:
    why = {"code": "server_error", "message": "It broke."}
    failed = response("failed", items([("c", "read", ONE)]), error=why)
    stream = body(list(as_documented([("c", "read", ONE)], random.Random(1))), end=None)
    stream += f"data: {json.dumps({'type': 'response.failed', 'response': failed})}\n\n"

    heard, error = await answered(stream)

    assert error is not None
    assert "It broke." in error.message
    assert told(heard) == []


async def test_an_answer_that_was_not_streamed_is_heard_whole() -> None:
    """A model that litellm does not know is asked without a stream."""
    answer_body = response("completed", [message(0, "Hi."), *items([("c", "read", ONE)])])
    whole = answer(json.dumps({**answer_body, "usage": USAGE}))
    async with serving(whole) as place:
        model = info("openai", name="responses/unknown", api_base=f"http://{place}/v1")
        heard, error = await run(request(model))

    assert error is None
    assert [(tool, given) for _, tool, given, _ in told(heard)] == [("read", ONE)]
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == "Hi."
