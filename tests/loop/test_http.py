"""Turns with a real HTTP server and its faults; every request is rebuilt from the log.

Both wire formats; the body that the server received is compared with the body that the
adapter makes of the rebuilt request. The server is strict: what the provider would refuse is refused.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.harness.session import until
from tests.provider_rules.dialects import problems
from tests.sample_size import sampled_cases, thinned

from palimpsest.model.script import ModelAnswer, calls, fails, overflows, says, thinks
from palimpsest.testing import FaultServer
from palimpsest.transcript.errors import (
    AbortedError,
    ApiError,
    AuthError,
    ContextOverflowError,
)
from palimpsest.transcript.parts import ReasoningPart, RetryPart, TextPart, ToolPart


@pytest.fixture(params=sampled_cases(PROVIDERS, "openai"))
async def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[HttpSessionHarness]:
    """A harness whose requests are all compared, after its test, with what the server received."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer(check=problems) as server:
        harness = HttpSessionHarness(request.param, tmp_path, server)
        yield harness
        await harness.check_requests()


async def test_streams_an_answer_with_thinking_and_usage(harness: HttpSessionHarness) -> None:
    harness.server.script(
        thinks("Let me see.").says("It is 4.").reports(input=50, output=5, cache_read=10)
    )

    answer = await harness.ask("2 + 2?")

    assert (answer.text, answer.error) == ("It is 4.", None)
    kinds = [part.type for part in answer.messages[0].parts]
    assert kinds == ["step-start", "reasoning", "text", "step-finish"]
    assert (answer.usage.input, answer.usage.output, answer.usage.cache_read) == (50, 5, 10)


async def test_runs_tools_and_sends_their_results_back(harness: HttpSessionHarness) -> None:
    (harness.root / "a.txt").write_text("one\ntwo\n")
    harness.server.script(
        thinks("Read it.").calls("read", path="a.txt").calls("list"),
        calls("grep", pattern="two"),
        says("Two."),
        says("Still two."),
    )

    answer = await harness.ask("What is in a.txt?")
    again = await harness.ask("Sure?")

    assert (answer.text, answer.steps, again.text) == ("Two.", 3, "Still two.")
    states = [p.state.status for m in answer.messages for p in m.parts if isinstance(p, ToolPart)]
    assert states == ["completed"] * 3


async def test_tool_calls_with_finish_stop_are_still_run(harness: HttpSessionHarness) -> None:
    reason = "stop" if harness.id.startswith("openai") else "end_turn"
    harness.server.script(calls("list").finishes(reason), says("Empty."))

    answer = await harness.ask("Look.")

    assert (answer.text, answer.steps) == ("Empty.", 2)


@pytest.mark.parametrize("status", thinned([429, 500, 503, 529], 2))
async def test_a_refusal_that_may_pass_is_retried(harness: HttpSessionHarness, status: int) -> None:
    harness.server.script(fails(status, retry_after_ms=10), says("There."))

    answer = await harness.ask("Hi")

    assert (answer.text, answer.error) == ("There.", None)
    retries = [part for part in answer.messages[0].parts if isinstance(part, RetryPart)]
    assert [retry.attempt for retry in retries] == [1]
    assert retries[0].error.status in {status, 500}


async def test_retry_after_is_obeyed_as_sent(harness: HttpSessionHarness) -> None:
    harness.server.script(fails(429, retry_after=1), says("There."))
    began = time.monotonic()

    await harness.ask("Hi")

    assert time.monotonic() - began > 0.9


@pytest.mark.parametrize("fault", ["disconnects", "malformed", "ends_early"])
async def test_an_answer_that_breaks_off_is_never_taken_for_whole(
    harness: HttpSessionHarness, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.01)
    broken: ModelAnswer = getattr(says("Half an "), fault)()
    half_call: ModelAnswer = getattr(calls("bash", command="touch ran"), fault)()
    harness.server.script(broken, half_call, says("Whole."))

    answer = await harness.ask("Hi", yes=True)

    assert (answer.text, answer.error) == ("Whole.", None)
    texts = [p for p in answer.messages[0].parts if isinstance(p, TextPart)]
    assert [(p.metadata or {}).get("failed_attempt") for p in texts] == [1, None]
    assert not (harness.root / "ran").exists()


async def test_five_retries_and_no_more(
    harness: HttpSessionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr("palimpsest.model.errors.retry.MAX_DELAY_SECONDS", 0.01)
    harness.server.script(*[fails(500) for _ in range(8)])

    answer = await harness.ask("Hi")

    assert isinstance(answer.error, ApiError)
    assert len(harness.server.requests) == 6


async def test_an_overflow_is_readable_and_not_retried(harness: HttpSessionHarness) -> None:
    wording = "openai" if harness.id.startswith("openai") else "anthropic"
    harness.server.script(overflows(wording))  # type: ignore[arg-type]

    answer = await harness.ask("Hi")

    assert isinstance(answer.error, ContextOverflowError)
    assert len(harness.server.requests) == 1


async def test_a_refused_key_names_what_to_set(harness: HttpSessionHarness) -> None:
    harness.server.script(fails(401, "Incorrect API key provided: sk-test-openai."))

    answer = await harness.ask("Hi")

    assert isinstance(answer.error, AuthError)
    assert "_API_KEY" in answer.error.message
    assert "sk-test-openai" not in answer.error.message


async def test_stopping_hangs_up_at_once(harness: HttpSessionHarness) -> None:
    harness.server.script(says("one ").stalls())
    running = asyncio.create_task(harness.ask("Hi"))
    session = await harness.session()
    await until(
        lambda: any(
            isinstance(part, TextPart) and part.text
            for message in session.snapshot().messages[1:]
            for part in message.parts
        )
    )

    session.cancel()
    answer = await running

    assert isinstance(answer.error, AbortedError)
    assert answer.text == "one "
    await until(lambda: harness.server.requests[0].closed_after is not None)


async def test_thinking_travels_back_with_its_signature(harness: HttpSessionHarness) -> None:
    harness.server.script(thinks("hm", signature="sig-9").calls("list"), says("Done."))

    answer = await harness.ask("Look.")

    thought = next(p for p in answer.messages[0].parts if isinstance(p, ReasoningPart))
    assert thought.text == "hm"
    body = str(harness.server.bodies[1])
    assert ("sig-9" in body) == harness.id.startswith("anthropic")
