"""A session works through litellm's proxy, as an organisation runs it in front of its models.

A session talks to the proxy in three formats, directly and through our litellm, and the proxy to our fault server.
"""

import re
from typing import Any

import pytest
from tests.servers.litellm_proxy import KEY

from palimpsest.model.catalog.discovery import choose_model
from palimpsest.model.errors import retry
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.testing import (
    FaultServer,
    fails,
    isolated_session,
    overflows,
    says,
    thinks,
    unauthorized,
)
from palimpsest.testing.fault_server import ServedAnswer
from palimpsest.transcript.errors import ApiError, AuthError, ContextOverflowError
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.values import Usage

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

VARIABLES = {
    "litellm_proxy": "LITELLM_PROXY_API_KEY",
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
WAY = {"direct": True}
"""The setting that says how a session asks."""
asked_as = pytest.mark.parametrize("provider", list(VARIABLES))
as_chat = pytest.mark.parametrize("provider", ["litellm_proxy", "openai"])
FOREIGN = re.compile(r"litellm\.|Exception - |model group|fallback|Traceback|object at 0x")


@pytest.fixture(autouse=True, params=[True, False], ids=["direct", "litellm"])
def keys(
    behind: FaultServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Each test is run both ways; a model of the provider ``litellm_proxy`` goes through litellm each time."""
    monkeypatch.setitem(WAY, "direct", request.param)
    monkeypatch.setattr(retry, "FIRST_DELAY_SECONDS", 0.0)
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, KEY)
    behind._answers.clear()
    behind.requests.clear()


def count(letter: str) -> str:
    """Count how often a letter is there."""
    return f"{letter} is there 7 times"


def place(proxy: str, provider: str) -> str:
    return proxy if provider == "anthropic" else f"{proxy}/v1"


def ask(proxy: str, provider: str, name: str) -> Answer:
    """Send one prompt in a session in which every tool is allowed."""
    model = f"{provider}/{name}"
    facts: dict[str, Any] = {
        "api_base": place(proxy, provider),
        "window": 100_000,
        "output": 4_000,
    }
    settings = {"model": model, "models": {model: facts}, "permission": "allow", **WAY}
    with isolated_session(settings=settings, tools=[count]) as session:
        return session.prompt("Count the letters.")


def told(answer: Answer, proxy: str, provider: str) -> str:
    """Return a failure's message, which must name the proxy's address and no Python internals."""
    assert answer.error is not None
    assert answer.stopped_by == "error"
    message = str(answer.error.message)
    assert place(proxy, provider) in message, message
    assert not FOREIGN.search(message), message
    return message


# For an OpenAI model in Anthropic's format it uses the Responses API, which the fault server lacks.
TWO_FORMATS = [
    (provider, name)
    for provider in VARIABLES
    for name in ("chat", "claude", "gemini")
    if (provider, name) != ("anthropic", "chat")
]


@pytest.mark.parametrize(("provider", "name"), TWO_FORMATS)
def test_tools_run_in_two_steps_through_two_formats(
    behind: FaultServer, proxy: str, provider: str, name: str
) -> None:
    behind.script(
        thinks("Hm.")
        .says("Let me count.")
        .calls("count", letter="a")
        .calls("count", letter="b")
        .reports(input=900, output=20),
        says("Seven each.").reports(input=950, output=5),
    )

    answer = ask(proxy, provider, name)

    assert (answer.text, answer.error) == ("Seven each.", None)
    assert (answer.steps, answer.stopped_by) == (2, "finished")
    ran = [
        part for message in answer.messages for part in message.parts if isinstance(part, ToolPart)
    ]
    assert [(part.state.input, part.state.output) for part in ran] == [
        ({"letter": one}, f"{one} is there 7 times") for one in "ab"
    ]
    assert answer.usage.input == 1_850
    assert answer.usage.output + answer.usage.reasoning == 25
    second = str(behind.bodies[1])
    assert "a is there 7 times" in second
    assert "b is there 7 times" in second
    assert KEY not in str(behind.requests[0].headers)


@asked_as
def test_a_wrong_key_is_told_with_the_variable(
    proxy: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[provider], "sk-wrong-0123456789")

    answer = ask(proxy, provider, "chat")

    assert isinstance(answer.error, AuthError)
    assert f"Set the environment variable {VARIABLES[provider]}" in told(answer, proxy, provider)


@asked_as
def test_a_model_that_it_does_not_have_is_a_name_to_be_checked(proxy: str, provider: str) -> None:
    message = told(ask(proxy, provider, "nothing"), proxy, provider)

    assert "Invalid model name passed in model=nothing" in message
    assert message.endswith("Check the model's name: %agent models lists what can be used.")


@asked_as
def test_a_server_behind_it_that_is_down_is_told_and_asked_again(proxy: str, provider: str) -> None:
    answer = ask(proxy, provider, "down")

    assert isinstance(answer.error, ApiError)
    assert answer.error.retryable
    message = told(answer, proxy, provider)
    assert re.search(r"answered 500: (Connection error|Cannot connect to host)", message)
    assert message.endswith("Wait a while, or choose another model with --model.")


REFUSALS: list[tuple[ServedAnswer, str, int]] = [
    (fails(429, "Slow down.", retry_after=0), "answered 429: Slow down. Wait a while", 6),
    (fails(500, "Kaputt."), "answered 500: Kaputt. Wait a while", 6),
    (fails(400, "Field x is wrong."), "answered 400: Field x is wrong. Change what it names", 1),
    (unauthorized(), "Incorrect API key provided", 1),
]


@asked_as
@pytest.mark.parametrize(("refusal", "words", "times"), REFUSALS)
def test_a_refusal_from_behind_is_told_in_the_words_of_who_refused(
    behind: FaultServer, proxy: str, provider: str, refusal: ServedAnswer, words: str, times: int
) -> None:
    behind.script(*[refusal] * times)

    answer = ask(proxy, provider, "chat")

    assert words in told(answer, proxy, provider)
    assert len(behind.requests) == times


@asked_as
def test_a_request_that_is_too_long_behind_it_is_an_overflow(
    behind: FaultServer, proxy: str, provider: str
) -> None:
    behind.script(overflows())

    answer = ask(proxy, provider, "chat")

    assert isinstance(answer.error, ContextOverflowError)
    assert answer.stopped_by == "window"
    assert not FOREIGN.search(answer.error.message)


@as_chat
@pytest.mark.parametrize("broken", [says("Half of").errs("Kaputt."), says("Half of").disconnects()])
def test_an_answer_that_breaks_behind_it_is_asked_for_again(
    behind: FaultServer, proxy: str, provider: str, broken: ServedAnswer
) -> None:
    behind.script(broken, says("A whole answer."))

    answer = ask(proxy, provider, "chat")

    assert (answer.text, answer.error) == ("A whole answer.", None)
    assert len(behind.requests) == 2


@as_chat
def test_an_answer_that_always_breaks_is_told_in_a_sentence(
    behind: FaultServer, proxy: str, provider: str
) -> None:
    behind.script(*[says("Half of").errs("Kaputt.")] * 6)

    answer = ask(proxy, provider, "chat")

    assert "broke the answer off: Kaputt. Wait a while" in told(answer, proxy, provider)
    assert answer.text == "Half of"


def test_its_own_limit_is_waited_for_and_told(behind: FaultServer, proxy: str) -> None:
    behind.script(*[says("Once.")] * 3)

    answers = [ask(proxy, "openai", "limited") for _ in range(2)]

    message = told(answers[-1], proxy, "openai")
    assert "answered 429: No deployments available" in message
    assert len(behind.requests) <= 1


def test_it_is_asked_for_its_models(proxy: str) -> None:
    chosen = choose_model({"OPENAI_BASE_URL": f"{proxy}/v1", "OPENAI_API_KEY": KEY})

    assert chosen.provider == "openai"
    assert chosen.name in {"chat", "claude", "gemini", "down", "limited"}


def test_tokens_are_those_that_the_model_behind_it_reports(behind: FaultServer, proxy: str) -> None:
    behind.script(says("Hi.").reports(input=900, output=20, cache_read=800))

    answer = ask(proxy, "litellm_proxy", "chat")

    assert answer.usage == Usage(input=900, output=20, cache_read=800)
