"""Gemini over several steps: its streamed answer is read completely, and sent back in its own format."""

import json
from typing import Any

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.raw_server import answer, serving
from tests.provider_rules.dialects import problems

from palimpsest.model.interface import StepFinished, StreamEvent, TextDelta, ToolCalled
from palimpsest.testing import FaultServer, isolated_session, says, thinks
from palimpsest.transcript.errors import ApiError, ErrorValue

pytestmark = pytest.mark.usefixtures("litellm")

USED = {
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3}
}
SIGNATURE = "c2lnbmVk"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-test")


def part(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a response chunk with parts of an answer, as Gemini streams it."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def call(code: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "python", "args": {"code": code}}, **more}


HELLO = part({"text": "Hello"})


async def streamed(*responses: dict[str, Any]) -> tuple[list[StreamEvent], ErrorValue | None]:
    sent = "".join(f"data: {json.dumps(response)}\n\n" for response in responses)
    async with serving(answer(sent, kind="text/event-stream")) as host:
        model = info("gemini", api_base=f"http://{host}/v1beta", name="gemini-3-pro-preview")
        return await run(request(model))


def words(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def finish(events: list[StreamEvent]) -> StepFinished:
    assert isinstance(events[-1], StepFinished)
    return events[-1]


@pytest.mark.parametrize(
    "responses",
    [
        (HELLO, part({"text": "", "thoughtSignature": SIGNATURE}, finish="STOP", **USED)),
        (HELLO, {"candidates": [{"content": {}, "finishReason": "STOP"}], **USED}),
        (HELLO, {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}], **USED}),
        (HELLO, {"candidates": [{"finishReason": "STOP", "index": 0}], **USED}),
        (HELLO, {"candidates": [{"finishReason": "STOP"}]}, USED),
        (part(), part({"thought": True}), part({"text": "Hello"}, finish="STOP", **USED)),
        (part({"text": "Hm.", "thought": True}), part({"text": "Hello", "thoughtSignature": SIGNATURE}, finish="STOP", **USED)),
    ],
)  # fmt: skip
async def test_empty_parts_and_bare_ends_say_nothing_and_lose_nothing(
    responses: tuple[dict[str, Any], ...],
) -> None:
    events, error = await streamed(*responses)

    assert (words(events), error) == ("Hello", None)
    ended = finish(events)
    assert (ended.reason, ended.usage.prompt, ended.usage.output, ended.usage.reasoning) == (
        "stop", 10, 5, 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    "responses",
    [
        (part(call("1", thoughtSignature=SIGNATURE), call("2"), finish="STOP", **USED),),
        (part(call("1", thoughtSignature=SIGNATURE)), part(call("2")), part({"text": ""}, finish="STOP", **USED)),
    ],
)  # fmt: skip
async def test_calls_at_once_keep_the_signature_of_the_first(
    responses: tuple[dict[str, Any], ...],
) -> None:
    events, error = await streamed(*responses)

    calls = [event for event in events if isinstance(event, ToolCalled)]
    assert error is None
    assert [call.input for call in calls] == [{"code": "1"}, {"code": "2"}]
    assert [call.id.partition("__thought__")[2] for call in calls] == [SIGNATURE, ""]
    assert finish(events).reason == "tool-calls"


@pytest.mark.parametrize("given", [{}, {"args": None}, {"args": {}}])
async def test_a_call_without_an_input_is_a_call(given: dict[str, Any]) -> None:
    events, error = await streamed(
        part({"functionCall": {"name": "python", **given}}, finish="STOP", **USED)
    )

    found = next(event for event in events if isinstance(event, ToolCalled))
    assert (found.tool, found.input, found.problem, error) == ("python", {}, None, None)


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("MAX_TOKENS", "length"),
        *[
            (ending, "content-filter")
            for ending in (
                "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR",
            )
        ],
        ("OTHER", "unknown"),
        ("A_NEW_REASON", "unknown"),
    ],
)  # fmt: skip
async def test_an_end_means_what_gemini_means_by_it(said: str, ours: str) -> None:
    events, error = await streamed(HELLO, {"candidates": [{"finishReason": said}], **USED})

    assert (words(events), error, finish(events).reason) == ("Hello", None, ours)


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "OTHER"])
async def test_a_prompt_that_was_blocked_is_filtered(reason: str) -> None:
    events, error = await streamed({"promptFeedback": {"blockReason": reason}, **USED})

    assert (error, finish(events).reason) == (None, "content-filter")


@pytest.mark.parametrize(
    "said",
    ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"],
)  # fmt: skip
async def test_an_end_that_is_a_failure_says_who_said_what_and_runs_no_call(said: str) -> None:
    told = {"finishReason": said, "finishMessage": "print(1 is no call"}

    events, error = await streamed(part(call("1")), {"candidates": [told], **USED})

    assert [event for event in events if isinstance(event, ToolCalled)] == []
    assert isinstance(error, ApiError)
    assert error.retryable
    assert error.message.startswith("http://127.0.0.1:")
    assert error.message.endswith(
        f"/v1beta ended the answer with '{said}': print(1 is no call. Wait a while, or choose another model with --model."
    )


def count(letter: str) -> str:
    """Count how often a letter is there."""
    return f"{letter} is there 7 times"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "identified"), [("gemini-3-pro-preview", True), ("gemini-2.5-pro", False)]
)
def test_every_step_goes_back_as_it_was(*, name: str, identified: bool) -> None:
    """Signatures are beside their calls, and results in the order of their calls."""
    server = FaultServer(
        thinks("Hm.", signature=SIGNATURE)
        .says("Let me look.")
        .calls("count", letter="a", call_id="one")
        .calls("count", letter="b", call_id="two"),
        thinks("So.", signature="c2Vjb25k").calls("count", letter="a", call_id="three"),
        says("Seven each."),
        says("You are welcome."),
        check=problems,
    )
    model = f"gemini/{name}"

    def called(letter: str, identifier: str, **more: Any) -> dict[str, Any]:
        own = {"id": identifier} if identified else {}
        return {"function_call": {"name": "count", "args": {"letter": letter}, **own}, **more}

    def result(letter: str, identifier: str) -> dict[str, Any]:
        own = {"id": identifier} if identified else {}
        found = {"content": f"{letter} is there 7 times"}
        return {"function_response": {"name": "count", "response": found, **own}}

    with server:
        settings = {
            "model": model,
            "models": {model: {"api_base": server.gemini_base}},
            "permission": "allow",
        }
        with isolated_session(settings=settings, tools=[count]) as session:
            answered = session.prompt("Count.")
            thanked = session.prompt("Thanks.")

    assert (answered.text, answered.error, answered.steps) == ("Seven each.", None, 3)
    assert (thanked.text, thanked.error) == ("You are welcome.", None)
    begun = [
        {"role": "user", "parts": [{"text": "Count."}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me look."},
                called("a", "one", thoughtSignature=SIGNATURE),
                called("b", "two"),
            ],
        },
        {"role": "user", "parts": [result("a", "one"), result("b", "two")]},
    ]
    again = [
        {"role": "model", "parts": [called("a", "three", thoughtSignature="c2Vjb25k")]},
        {"role": "user", "parts": [result("a", "three")]},
    ]
    assert [body["contents"] for body in server.bodies] == [
        begun[:1],
        begun,
        [*begun, *again],
        [
            *begun,
            *again,
            {"role": "model", "parts": [{"text": "Seven each."}]},
            {"role": "user", "parts": [{"text": "Thanks."}]},
        ],
    ]
