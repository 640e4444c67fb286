"""The adapter distinguishes complete answers from broken ones, on the wire of two providers."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest
from tests.model.adapter_requests import HELLO, SYSTEM, asking_model, info, request, run
from tests.sample_size import sampled_cases, thinned

from palimpsest.model.adapter.litellm_model import LOADER, LitellmModel
from palimpsest.model.interface import (
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StepFinished,
    StepStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCalled,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
)
from palimpsest.model.script import (
    ModelAnswer,
    calls,
    fails,
    out_of_quota,
    overflows,
    says,
    stalls,
    thinks,
    unauthorized,
    writes,
)
from palimpsest.testing import FaultServer
from palimpsest.transcript.errors import ApiError, AuthError, ContextOverflowError, UnknownError
from palimpsest.transcript.values import Usage

pytestmark = pytest.mark.usefixtures("litellm", "both_ways")
both = pytest.mark.parametrize("provider", ["openai", "anthropic"])
CALL_ID = {"openai": "call_1", "anthropic": "toolu_1"}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


def finish(events: list[StreamEvent]) -> StepFinished:
    assert isinstance(events[-1], StepFinished)
    return events[-1]


def text(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@both
async def test_streams_thinking_words_and_calls_in_order(
    server: FaultServer, provider: str
) -> None:
    server.script(
        thinks("Hm.").says("Let me look.").calls("python", code="1").calls("python", code="2")
    )

    events, error = await run(request(info(provider, server)))

    first, second = CALL_ID[provider], CALL_ID[provider][:-1] + "2"
    signed = {
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "sig-1"}],
        "family": "anthropic",
    }
    assert error is None
    assert events[:-1] == [
        StepStarted(),
        ReasoningStarted("reasoning_1"),
        ReasoningDelta("reasoning_1", "Hm."),
        ReasoningEnded("reasoning_1", signed if provider == "anthropic" else None),
        TextStarted("text_2"),
        TextDelta("text_2", "Let "),
        TextDelta("text_2", "me "),
        TextDelta("text_2", "look."),
        TextEnded("text_2"),
        ToolInputStarted(first, "python"),
        ToolInputDelta(first, '{"code": '),
        ToolInputDelta(first, '"1"}'),
        ToolInputEnded(first),
        ToolInputStarted(second, "python"),
        ToolInputDelta(second, '{"code": '),
        ToolInputDelta(second, '"2"}'),
        ToolInputEnded(second),
        ToolCalled(first, "python", {"code": "1"}, '{"code": "1"}'),
        ToolCalled(second, "python", {"code": "2"}, '{"code": "2"}'),
    ]
    assert finish(events).reason == "tool-calls"


@both
async def test_usage_counts_every_token_once_and_costs_what_the_catalog_says(
    server: FaultServer, provider: str
) -> None:
    server.script(says("Hi.").reports(input=20, output=9, cache_read=100))

    events, _ = await run(request(info(provider, server)))

    assert finish(events).usage == Usage(input=20, output=9, cache_read=100, total=129)
    assert finish(events).cost == pytest.approx((20 * 3 + 9 * 15 + 100 * 0.3) / 1e6)


async def test_anthropic_reports_what_it_wrote_to_its_cache(server: FaultServer) -> None:
    server.script(says("Hi.").reports(input=20, output=9, cache_read=100, cache_write=50))

    events, _ = await run(request(info("anthropic", server)))

    expected = Usage(input=20, output=9, cache_read=100, cache_write=50, total=179)
    assert finish(events).usage == expected


async def test_openai_reports_thinking_within_the_answer(server: FaultServer) -> None:
    server.script(thinks("Hm.").says("Hi.").reports(input=20, output=9, reasoning=30))

    events, _ = await run(request(info("openai", server)))

    assert finish(events).usage == Usage(input=20, output=9, reasoning=30, total=59)


async def test_missing_usage_is_estimated_and_says_so(server: FaultServer) -> None:
    server.script(says("One two three.").reports_nothing())

    events, _ = await run(request(info("openai", server)))

    usage = finish(events).usage
    assert usage.estimated
    assert (usage.output, usage.input > 10) == (4, True)


@both
async def test_tool_calls_are_told_by_their_presence(server: FaultServer, provider: str) -> None:
    reason = "stop" if provider == "openai" else "end_turn"
    server.script(calls("python", code="1").finishes(reason))

    events, _ = await run(request(info(provider, server)))

    assert finish(events).reason == "tool-calls"


@both
async def test_a_long_answer_is_cut_and_says_so(server: FaultServer, provider: str) -> None:
    server.script(says("One").finishes("length" if provider == "openai" else "max_tokens"))

    events, error = await run(request(info(provider, server)))

    assert (text(events), finish(events).reason, error) == ("One", "length", None)


@both
async def test_a_refusal_is_a_content_filter(server: FaultServer, provider: str) -> None:
    server.script(says("No").finishes("content_filter" if provider == "openai" else "refusal"))

    events, _ = await run(request(info(provider, server)))

    assert finish(events).reason == "content-filter"


@both
async def test_an_unknown_finish_is_unknown(server: FaultServer, provider: str) -> None:
    server.script(says("One").finishes("rested"))

    events, _ = await run(request(info(provider, server)))

    assert finish(events).reason == "unknown"


async def test_a_finish_that_means_failure_is_one(server: FaultServer) -> None:
    server.script(says("One").finishes("network_error"))

    events, error = await run(request(info("openai", server)))

    assert text(events) == "One"
    assert isinstance(error, ApiError)
    assert error.retryable


@both
@pytest.mark.parametrize("fault", thinned(["disconnects", "ends_early", "malformed", "errs"], 2))
async def test_a_broken_answer_is_never_a_finished_one(
    server: FaultServer, provider: str, fault: str
) -> None:
    answer = says("Half of it").calls("python", code="1")
    broken: ModelAnswer = answer.errs("Overloaded") if fault == "errs" else getattr(answer, fault)()
    server.script(broken.says("never seen"))

    events, error = await run(request(info(provider, server)))

    assert text(events).startswith("Half of")
    assert not [event for event in events if isinstance(event, ToolCalled | StepFinished)]
    assert isinstance(error, ApiError)
    assert (error.retryable, error.status) == (True, None)
    assert len(server.requests) == 1


@both
async def test_malformed_input_is_a_problem_of_the_call(server: FaultServer, provider: str) -> None:
    server.script(writes("python", '{"code": '))

    events, error = await run(request(info(provider, server)))

    call = next(event for event in events if isinstance(event, ToolCalled))
    assert (call.input, call.raw, error) == ({}, '{"code": ', None)
    assert "no valid JSON" in (call.problem or "")


@both
async def test_a_call_without_arguments_gets_an_empty_input(
    server: FaultServer, provider: str
) -> None:
    server.script(writes("python", ""))

    events, _ = await run(request(info(provider, server)))

    call = next(event for event in events if isinstance(event, ToolCalled))
    assert (call.input, call.problem) == ({}, None)


@both
async def test_kilobyte_ids_are_kept_as_they_are(server: FaultServer, provider: str) -> None:
    long_id = "call_ab__thought__" + "x" * 3_000
    server.script(calls("python", call_id=long_id, code="1"))

    events, _ = await run(request(info(provider, server)))

    assert next(event for event in events if isinstance(event, ToolCalled)).id == long_id


async def test_equal_ids_are_told_apart(server: FaultServer) -> None:
    server.script(
        calls("python", call_id="same", code="1").calls("python", call_id="same", code="2")
    )

    events, _ = await run(request(info("openai", server)))

    found = [event for event in events if isinstance(event, ToolCalled)]
    assert [call.input["code"] for call in found] == ["1", "2"]
    assert len({call.id for call in found}) == 2


async def test_withheld_thinking_travels_sealed(server: FaultServer) -> None:
    server.script(thinks("", redacted="sealed").thinks("Open.").says("Hi."))

    events, _ = await run(request(info("anthropic", server)))

    ended = next(event for event in events if isinstance(event, ReasoningEnded))
    assert ended.metadata is not None
    assert ended.metadata["thinking_blocks"] == [
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "thinking", "thinking": "Open.", "signature": "sig-1"},
    ]


@both
@pytest.mark.parametrize("status", thinned([408, 409, 429, 500, 502, 503, 529], 3))
async def test_a_refusal_that_may_pass_is_retryable_and_was_sent_once(
    server: FaultServer, provider: str, status: int
) -> None:
    server.script(fails(status, retry_after=2))

    events, error = await run(request(info(provider, server)))

    assert events == []
    assert isinstance(error, ApiError)
    assert (error.retryable, (error.headers or {}).get("retry-after")) == (True, "2")
    assert len(server.requests) == 1


@both
async def test_retry_after_comes_in_milliseconds_too(server: FaultServer, provider: str) -> None:
    server.script(fails(429, retry_after_ms=1500))

    _, error = await run(request(info(provider, server)))

    assert isinstance(error, ApiError)
    assert error.headers == {"retry-after-ms": "1500"}


@both
@pytest.mark.parametrize("status", thinned([400, 403, 404], 3))
async def test_a_refusal_for_good_is_not_retryable(
    server: FaultServer, provider: str, status: int
) -> None:
    server.script(fails(status, "The tool schema is wrong."))

    _, error = await run(request(info(provider, server)))

    assert isinstance(error, ApiError)
    assert not error.retryable
    assert f"{server.url}/" in error.message
    assert f" answered {status}: The tool schema is wrong. " in error.message


@both
@pytest.mark.parametrize("wording", ["openai", "anthropic", "413"])
async def test_what_does_not_fit_is_an_overflow(
    server: FaultServer, provider: str, wording: str
) -> None:
    refusals = {"openai": overflows(), "anthropic": overflows("anthropic"), "413": fails(413)}
    server.script(refusals[wording])

    _, error = await run(request(info(provider, server)))

    assert isinstance(error, ContextOverflowError)


@both
async def test_an_empty_account_is_not_retryable(server: FaultServer, provider: str) -> None:
    server.script(out_of_quota())

    _, error = await run(request(info(provider, server)))

    assert isinstance(error, ApiError)
    assert (error.retryable, error.status) == (False, 429)
    assert "no quota left" in error.message


@both
async def test_a_wrong_key_names_the_variable_to_set(server: FaultServer, provider: str) -> None:
    server.script(unauthorized())

    _, error = await run(request(info(provider, server)))

    assert isinstance(error, AuthError)
    assert f"{provider.upper()}_API_KEY" in error.message


@both
async def test_a_missing_key_names_the_variable_to_set(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{provider.upper()}_API_KEY")

    _, error = await run(request(info(provider)))

    assert isinstance(error, AuthError)
    assert f"{provider.upper()}_API_KEY" in error.message


@both
async def test_a_local_server_that_is_not_running_is_named(provider: str) -> None:
    with FaultServer() as gone:
        base = gone.url

    _, error = await run(request(info(provider, api_base=base)))

    assert isinstance(error, ApiError)
    assert (error.retryable, error.status) == (False, None)
    assert f"{base} is not running. Start it" in error.message


async def test_a_provider_that_does_not_exist_is_named() -> None:
    _, error = await run(request(info("nowhere")))

    assert isinstance(error, UnknownError)
    assert "There is no provider 'nowhere'" in error.message


async def test_any_openai_compatible_server_answers_without_a_key(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server.script(says("Hi."), says("Ho."))

    first, _ = await run(request(info("openai", server, name="meta-llama-3-8b")))
    second, _ = await run(request(info("my-server", server, name="qwen")))

    assert (text(first), text(second)) == ("Hi.", "Ho.")
    assert [body["model"] for body in server.bodies] == ["meta-llama-3-8b", "qwen"]


@pytest.mark.parametrize("provider", sampled_cases(["openai", "anthropic"], "openai"))
@pytest.mark.slow
async def test_silence_ends_the_request(server: FaultServer, provider: str) -> None:
    server.script(says("One").stalls(), stalls())
    model = asking_model(read_timeout_seconds=1.0)

    begun, error = await run(request(info(provider, server)), model)
    nothing, silent = await run(request(info(provider, server)), model)

    assert (text(begun), text(nothing)) == ("One", "")
    for found in (error, silent):
        assert isinstance(found, ApiError)
        assert found.retryable
        assert "said nothing for too long" in found.message


@pytest.mark.parametrize("provider", sampled_cases(["openai", "anthropic"], "openai"))
@pytest.mark.slow
async def test_a_slow_drip_outlives_the_read_timeout(server: FaultServer, provider: str) -> None:
    server.script(says("one two three four five six").drips(0.3))

    events, error = await run(
        request(info(provider, server)), asking_model(read_timeout_seconds=1.5)
    )

    assert (text(events), error) == ("one two three four five six", None)


@both
@pytest.mark.parametrize("after", ["accepted", "words"])
async def test_a_cancel_closes_the_socket_at_once(
    server: FaultServer, provider: str, after: str
) -> None:
    server.script(stalls() if after == "accepted" else says("One").stalls())
    heard = asyncio.Event()

    async def listen() -> None:
        async for _ in asking_model().stream(request(info(provider, server))):
            heard.set()

    listening = asyncio.create_task(listen())
    await heard.wait()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening

    assert await asyncio.to_thread(server.wait_until, lambda: server.open_connections == 0, 30.0)


@both
async def test_closing_the_iterator_closes_the_socket(server: FaultServer, provider: str) -> None:
    server.script(says("One two three").stalls())
    stream = asking_model().stream(request(info(provider, server)))
    async for event in stream:
        if isinstance(event, TextDelta):
            break

    await stream.aclose()

    assert await asyncio.to_thread(server.wait_until, lambda: server.open_connections == 0, 30.0)


@both
async def test_eight_answers_stream_side_by_side(server: FaultServer, provider: str) -> None:
    server.script(*[says("one two three") for _ in range(8)])

    answers = await asyncio.gather(*[run(request(info(provider, server))) for _ in range(8)])

    assert [text(events) for events, _ in answers] == ["one two three"] * 8


@both
def test_one_model_serves_one_loop_after_another(server: FaultServer, provider: str) -> None:
    server.script(says("one"), says("two"), says("three"))
    model = asking_model()

    answers = [asyncio.run(run(request(info(provider, server)), model)) for _ in range(3)]

    assert [text(events) for events, _ in answers] == ["one", "two", "three"]


async def test_strict_servers_get_no_field_they_do_not_know(server: FaultServer) -> None:
    server.script(says("Hi."))
    assistant = {
        "role": "assistant",
        "content": "Well.",
        "reasoning_content": "Hm.",
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}],
    }
    marked = {**HELLO, "cache_control": {"type": "ephemeral"}}

    await run(request(info("openai", server), SYSTEM, HELLO, assistant, marked))

    assert server.bodies[0]["messages"] == [
        SYSTEM,
        HELLO,
        {"role": "assistant", "content": "Well."},
        HELLO,
    ]


async def test_anthropic_gets_thinking_and_marks_back(server: FaultServer) -> None:
    server.script(says("Hi."))
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    mark = {"cache_control": {"type": "ephemeral"}}
    call = {"id": "toolu_1", "type": "function", "function": {"name": "python", "arguments": "{}"}}

    await run(
        request(
            info("anthropic", server),
            {**SYSTEM, **mark},
            HELLO,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call],
                "thinking_blocks": [thought],
            },
            {"role": "tool", "tool_call_id": "toolu_1", "content": "4", **mark},
            {**HELLO, **mark},
        )
    )

    body = server.bodies[0]
    assert body["system"] == [{"type": "text", "text": "Be brief.", **mark}]
    assert body["messages"][1]["content"][0] == thought
    result, word = body["messages"][2]["content"]
    assert (result["type"], result["content"], result["cache_control"]) == (
        "tool_result",
        "4",
        mark["cache_control"],
    )
    assert word == {"type": "text", "text": "Hello", **mark}


@both
async def test_the_length_of_an_answer_is_always_asked_for(
    server: FaultServer, provider: str
) -> None:
    server.script(says("Hi."), says("Hi."))

    await run(request(info(provider, server)))
    await run(request(info(provider, server), max_tokens=77))

    assert [body["max_tokens"] for body in server.bodies] == [1_000, 77]


@both
async def test_no_key_is_kept_or_shown(server: FaultServer, provider: str) -> None:
    server.script(fails(400, "Bad key sk-test-openai-0123456789 or sk-ant-test-0123456789."))

    _, error = await run(request(info(provider, server)))

    assert isinstance(error, ApiError)
    assert "0123456789" not in error.model_dump_json()
    assert server.requests[0].had_key
    assert "0123456789" not in repr(server.requests[0].headers)


@pytest.mark.parametrize(
    ("provider", "base", "keyed"),
    [("openai", None, True), ("openai", "http://h/v1", False), ("anthropic", None, False)],
)
def test_only_openais_own_server_is_told_which_session_asks(
    provider: str,
    base: str | None,
    keyed: bool,  # noqa: FBT001 - a row of the table
) -> None:
    asked = dataclasses.replace(request(info(provider, api_base=base), HELLO), session_id="ses_1")

    arguments = LitellmModel().arguments(asked, LOADER.wait_for_litellm())

    assert arguments.get("prompt_cache_key") == ("ses_1" if keyed else None)


@pytest.mark.parametrize(("window", "asked"), [(16_000, {"num_ctx": 16_000}), (0, {})])
def test_ollama_is_asked_for_the_window_that_there_is(window: int, asked: dict[str, int]) -> None:
    local = info("ollama", api_base="http://h").model_copy(update={"window": window})

    arguments = LitellmModel().arguments(request(local, HELLO), LOADER.wait_for_litellm())

    assert {name: arguments[name] for name in arguments if name == "num_ctx"} == asked


def test_a_server_of_ones_own_gets_its_own_key_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = request(info("my-server", api_base="http://h/v1"))
    monkeypatch.setenv("MY_SERVER_API_KEY", "mine")

    assert LitellmModel().arguments(asked, LOADER.wait_for_litellm())["api_key"] == "mine"


async def test_gemini_that_says_nothing_is_given_up_in_time(server: FaultServer) -> None:
    server.script(stalls())
    silent = info("gemini", api_base=server.gemini_base, name="some-model")

    _, error = await run(request(silent), asking_model(read_timeout_seconds=0.3))

    assert isinstance(error, ApiError)
    assert error.retryable
    assert "said nothing for too long" in error.message
