"""A stream with invalid events ends with a clear error, never with a Python exception's text."""

import json
import logging
import re

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.raw_server import answer, serving
from tests.sample_size import thinned

from palimpsest.model.interface import TextDelta
from palimpsest.transcript.errors import ApiError

pytestmark = pytest.mark.usefixtures("litellm", "both_ways")

CHOICE = {"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}
CHUNK = {
    "id": "x",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
    "choices": [CHOICE],
}
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
BEGUN = {
    "openai": [CHUNK],
    "mistral": [CHUNK],
    "gemini": [{"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}}]}],
    "anthropic": [
        {"type": "message_start", "message": MESSAGE},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    ],
}
CHAT = (
    '{"choices": "x"}', "7", "[]", '{"choices": [7]}', '{"choices": [{"delta": "x"}]}', '{"choices": [{"index": 0}]}',
    '{"choices": [{"index": 0, "delta": {"tool_calls": "x"}}]}', '{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": "a"}]}}]}',
    "{malformed",
)  # fmt: skip
ODD = {
    "openai": CHAT,
    "mistral": CHAT,
    "gemini": (
        '{"candidates": "x"}', "7", "[]", '{"candidates": [7]}', '{"candidates": [{"content": "x"}]}', '{"candidates": [{"content": {"parts": "x"}}]}',
        '{"candidates": [{"content": {"parts": [7]}}]}', '{"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}', "{malformed",
    ),
    "anthropic": (
        "7", "[]", "{}", '{"type": "content_block_delta"}', '{"type": "content_block_start", "index": 1}', '{"type": "message_delta"}',
        '{"type": "new_kind"}', "{malformed",
    ),
}  # fmt: skip
PYTHONS = re.compile(
    r"Traceback|object has no attribute|argument of type|validation error|Expecting |litellm|\.py\b|answered: '"
)
DO = re.compile(r"(Check|Wait) ")


def lines(wire: str, events: list[str]) -> str:
    """Return events as a stream; Anthropic's have a name before them."""
    named = {event: re.match(r'\{"type": "(\w+)"', event) for event in events}
    return "".join(
        (f"event: {found[1]}\n" if wire == "anthropic" and (found := named[event]) else "")
        + f"data: {event}\n\n"
        for event in events
    )


@pytest.mark.parametrize("begun", thinned([False, True], 2))
@pytest.mark.parametrize(
    ("wire", "odd"), thinned([(wire, odd) for wire in ODD for odd in ODD[wire]], 5)
)
async def test_an_event_that_cannot_be_read_is_told_in_a_sentence(
    *, wire: str, odd: str, begun: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    for name in ("GEMINI", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", "AIza-test")
    before = [json.dumps(event) for event in BEGUN[wire]] if begun else []
    base = {"gemini": "/v1beta", "anthropic": ""}.get(wire, "/v1")
    with caplog.at_level(logging.ERROR):
        sent = lines(wire, [*before, odd])
        async with serving(answer(sent, kind="text/event-stream")) as host:
            events, error = await run(request(info(wire, api_base=f"http://{host}{base}")))

    assert isinstance(error, ApiError), events
    assert f"http://{host}{base}" in error.message
    assert not PYTHONS.search(error.message), error.message
    assert DO.search(error.message), error.message
    assert error.retryable
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == ("Hel" if begun else "")
    assert caplog.records == []


@pytest.mark.parametrize("begun", [False, True])
async def test_an_error_in_the_stream_is_the_servers_own_and_no_broken_connection(
    *, begun: bool
) -> None:
    failed = '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    before = [json.dumps(event) for event in BEGUN["anthropic"]] if begun else []
    sent = lines("anthropic", [*before, failed])
    async with serving(answer(sent, kind="text/event-stream")) as host:
        _, error = await run(request(info("anthropic", api_base=f"http://{host}")))

    assert isinstance(error, ApiError)
    told = "broke the answer off" if begun else "answered"
    assert error.message == (
        f"http://{host} {told}: Overloaded. Wait a while, or choose another model with --model."
    )


@pytest.mark.parametrize("begun", [False, True])
async def test_any_error_in_the_stream_names_the_address_and_may_pass(*, begun: bool) -> None:
    """A proxy reports errors of the server behind it inside the stream, in any wording."""
    failed = '{"type": "error", "error": {"type": "api_error", "message": "Event has no kind"}}'
    before = [json.dumps(event) for event in BEGUN["anthropic"]] if begun else []
    sent = lines("anthropic", [*before, failed])
    async with serving(answer(sent, kind="text/event-stream")) as host:
        _, error = await run(request(info("anthropic", api_base=f"http://{host}")))

    assert isinstance(error, ApiError)
    assert error.message.startswith(f"http://{host} ")
    assert "Event has no kind. Wait a while" in error.message
    assert error.retryable
