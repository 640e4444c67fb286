"""Whatever form a server gives to what it ran itself, it is heard as that, with its sources, and never as a call of ours.

The forms are written by the documentation of Anthropic, Google, OpenAI, OpenRouter, Perplexity, Groq and xAI.
"""

import json
from typing import Any

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.openai_chunks import END, HEAD, chunk
from tests.model.raw_server import answer, serving
from tests.sample_size import thinned

from palimpsest.model.adapter.provider_calls import ProviderCalls
from palimpsest.model.adapter.stream_joiner import StreamJoiner
from palimpsest.model.interface import (
    StepFinished,
    StreamEvent,
    TextDelta,
    ToolCalled,
    ToolErred,
    ToolReturned,
)

pytestmark = pytest.mark.usefixtures("litellm", "both_ways")

URL = "https://example.org/penguins"
CITATION = {"type": "url_citation", "url_citation": {"url": URL, "title": "Penguins"}}


def top(finish: str | None = None, text: str = "", **fields: Any) -> str:
    """Return a chunk with fields beside its choices."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({**HEAD, 'choices': [choice], **fields})}\n\n"


def call(name: str, *, kind: str = "function", **given: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(given)}
    return {"index": 0, "id": "call_9", "type": kind, "function": function}


SEARCHED = {
    "index": 0,
    "type": "search",
    "arguments": '{"query": "penguins"}',
    "output": f"Title: Penguins URL: {URL}",
    "search_results": {"results": [{"title": "Penguins", "url": URL, "content": "..."}]},
}
FORMS: dict[str, tuple[str, str, str]] = {
    "annotations": (
        "web_search",
        chunk(content="Three.") + chunk(annotations=[CITATION]) + chunk("stop"),
        URL,
    ),
    "annotations with the finish": (
        "web_search",
        chunk(content="Three.") + chunk("stop", annotations=[CITATION]),
        URL,
    ),
    "citations": (
        "web_search",
        top(text="Three.", citations=[URL]) + top("stop", citations=[URL]),
        URL,
    ),
    "search results": (
        "web_search",
        top(text="Three.", search_results=[{"title": "Penguins", "url": URL, "date": "x"}])
        + top("stop"),
        URL,
    ),
    "executed tools": (
        "search",
        chunk(executed_tools=[{**SEARCHED, "output": None}])
        + chunk(executed_tools=[SEARCHED])
        + chunk(content="Three.")
        + chunk("stop"),
        URL,
    ),
    "a call of nobody's, and the answer": (
        "live_search",
        chunk(tool_calls=[call("live_search", query="penguins")])
        + chunk(content="Three.")
        + top("stop", citations=[URL]),
        URL,
    ),
}
ROUTES = ("openai", "xai", "openrouter", "groq", "perplexity", "deepseek", "some_server")


def told(events: list[StreamEvent]) -> list[tuple[str, str]]:
    """Return the tool and the result of each call that the provider ran."""
    called = {event.id: event.tool for event in events if isinstance(event, ToolCalled)}
    assert all(event.provider_executed for event in events if isinstance(event, ToolCalled))
    return [
        (
            called[event.id],
            event.output["output"] if isinstance(event, ToolReturned) else event.error,
        )
        for event in events
        if isinstance(event, ToolReturned | ToolErred)
    ]


@pytest.mark.parametrize("route", thinned(ROUTES, 2))
@pytest.mark.parametrize("form", FORMS)
async def test_a_search_in_any_form_is_one_with_its_sources(
    route: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{route.upper()}_API_KEY", "sk-test-0123456789")
    tool, stream, source = FORMS[form]
    async with serving(answer(stream + END, kind="text/event-stream")) as place:
        model = info(route, api_base=f"http://{place}/v1")
        events, error = await run(request(model))

    assert error is None
    ((name, result),) = told(events)
    assert (name, source in result) == (tool, True)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Three."
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "stop"


@pytest.mark.parametrize(
    "stream",
    [
        chunk(tool_calls=[call("python", code="1")]) + chunk(content="So.") + chunk("stop"),
        chunk(tool_calls=[call("Python", code="1")]) + chunk(content="So.") + chunk("stop"),
        chunk(tool_calls=[call("functions.python", code="1")])
        + chunk(content="S.")
        + chunk("stop"),
        chunk(tool_calls=[call("unknown", code="1")]) + chunk("tool_calls"),
        chunk(tool_calls=[call("unknown", code="1")]) + chunk("stop"),
        chunk(content="I call.") + chunk(tool_calls=[call("unknown", code="1")]) + chunk("stop"),
        chunk(tool_calls=[call("unknown")]) + chunk(content="So.") + chunk("tool_calls"),
        chunk(tool_calls=[call("unknown")]) + chunk(content="\n") + chunk("stop"),
    ],
)
async def test_a_call_for_us_stays_one(stream: str) -> None:
    async with serving(answer(stream + END, kind="text/event-stream")) as place:
        events, _ = await run(request(info("openai", api_base=f"http://{place}/v1")))

    (called,) = [event for event in events if isinstance(event, ToolCalled)]
    assert not called.provider_executed
    assert isinstance(events[-1], StepFinished)
    assert events[-1].reason == "tool-calls"


BLOCKS = [
    {"type": "text", "text": "I search."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "p"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": URL, "title": "P", "encrypted_content": "x"}
        ],
    },
    {
        "type": "text",
        "text": "Three.",
        "citations": [{"type": "web_search_result_location", "url": URL}],
    },
]


async def test_an_answer_that_comes_whole_is_heard_as_a_streamed_one() -> None:
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": BLOCKS,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 5},
    }
    async with serving(answer(json.dumps(whole))) as place:
        events, error = await run(request(info("anthropic", api_base=f"http://{place}")))

    assert error is None
    assert told(events) == [("web_search", f"1. P\n   {URL}")]
    (called,) = [event for event in events if isinstance(event, ToolCalled)]
    assert called.input == {"query": "p"}


RESPONSES: tuple[dict[str, Any], ...] = (
    {
        "type": "response.output_item.added",
        "item": {"type": "web_search_call", "id": "ws_1", "status": "in_progress"},
    },
    {
        "type": "response.output_item.done",
        "item": {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "p"},
        },
    },
    {
        "type": "response.output_text.annotation.added",
        "annotation": {"type": "url_citation", "url": URL, "title": "P"},
    },
    {
        "type": "response.output_item.done",
        "item": {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": "1+1",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
    },
    {
        "type": "response.output_item.done",
        "item": {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "echo",
            "arguments": "{}",
            "output": "Hello.",
        },
    },
    {
        "type": "response.output_item.done",
        "item": {"type": "mcp_call", "id": "mcp_2", "name": "echo", "error": "it broke"},
    },
    {
        "type": "response.output_item.done",
        "item": {"type": "function_call", "id": "fc_1", "name": "python"},
    },
)


def test_the_items_of_openais_responses_are_heard_too() -> None:
    ran = ProviderCalls()
    joiner = StreamJoiner("openai", {"python": "python"}, ran)
    for event in RESPONSES:
        ran.read_chunk(event)

    found = told(list(joiner.end_stream("stop")))

    assert [name for name, _ in found] == ["code_interpreter", "echo", "echo", "web_search"]
    assert "2" in found[0][1]
    assert found[1][1] == "Hello."
    assert "it broke" in found[2][1]
    assert URL in found[3][1]


def blocks_of(*events: dict[str, Any]) -> list[StreamEvent]:
    ran = ProviderCalls()
    joiner = StreamJoiner("anthropic", {}, ran)
    for event in events:
        ran.read_chunk(event)
    return list(joiner.end_stream("stop"))


def started(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "content_block": block}


ENDED = {"type": "content_block_stop"}


def test_a_block_without_an_end_and_a_result_that_comes_twice_are_one_call() -> None:
    found = blocks_of(started(BLOCKS[1]), started(BLOCKS[2]), ENDED, started(BLOCKS[2]), ENDED)

    assert told(found) == [("web_search", f"1. P\n   {URL}")]
    (called,) = [event for event in found if isinstance(event, ToolCalled)]
    assert called.metadata == {"dialect": "anthropic", "native": [BLOCKS[1]]}


async def test_what_gemini_ran_after_its_words_stands_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "sk-test-0123456789")
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "boom"}}
    first = {"candidates": [{"content": {"parts": [{"text": "I compute."}, code]}}]}
    last = {
        "candidates": [{"content": {"parts": [result, {"text": "No."}]}, "finishReason": "STOP"}]
    }
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (first, last))
    async with serving(answer(stream, kind="text/event-stream")) as place:
        model = info("gemini", name="gemini-2.5-pro", api_base=f"http://{place}/v1beta")
        events, error = await run(request(model))

    assert error is None
    said = [
        event.text if isinstance(event, TextDelta) else event.id
        for event in events
        if isinstance(event, TextDelta | ToolCalled)
    ]
    assert (said[0], said[2]) == ("I compute.", "No.")
    assert told(events) == [("code_execution", "The provider could not run it: boom")]
