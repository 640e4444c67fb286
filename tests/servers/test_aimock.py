"""A session works with aimock, a third-party mock server, in every format that both support."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.sample_size import thinned
from tests.servers.aimock import MODELS, PATHS, Aimock, Fixture, Wire, aimock, settings_for
from tests.servers.recording_proxy import TrafficRecorder, relaying

from palimpsest.model.catalog.discovery import choose_model
from palimpsest.model.errors import retry
from palimpsest.public.session_object import Session
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.testing import isolated_session
from palimpsest.transcript.errors import ApiError, AuthError, ContextOverflowError
from palimpsest.transcript.parts import ReasoningPart, ToolPart
from palimpsest.transcript.values import Usage

pytestmark = pytest.mark.slow

LITELLM = ["openai through litellm", "anthropic through litellm"]
"""Formats that are asked directly unless the settings say otherwise."""
every = pytest.mark.parametrize("wire", thinned([*MODELS, *LITELLM], 4), indirect=True)
main = pytest.mark.parametrize(
    "wire", thinned(["openai", "anthropic", "gemini", *LITELLM], 4, 1), indirect=True
)
WAY = {"direct": True}
USED = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}


@pytest.fixture(scope="module")
def running() -> Iterator[Aimock]:
    with aimock("--strict", "--chunk-size", "5") as server:
        yield server


@pytest.fixture
def server(running: Aimock, monkeypatch: pytest.MonkeyPatch) -> Aimock:
    monkeypatch.setattr(retry, "FIRST_DELAY_SECONDS", 0.0)
    return running


@pytest.fixture
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the format of a test, and have its requests sent the way that its name says."""
    name: str = request.param
    monkeypatch.setitem(WAY, "direct", name not in LITELLM)
    return name.partition(" ")[0]


def count(letter: str) -> str:
    """Count how often a letter is there."""
    return f"{letter} is there 7 times"


def when(words: str, step: int = 0, **match: Any) -> dict[str, Any]:
    return {"userMessage": words, "turnIndex": step, **match}


def called(identifier: str, letter: str) -> dict[str, Any]:
    return {"id": identifier, "name": "count", "arguments": {"letter": letter}}


@contextmanager
def asking(server: Aimock | TrafficRecorder, wire: Wire, **settings: Any) -> Iterator[Session]:
    """Open a session in which every tool is allowed."""
    given = {**settings_for(server.url, wire), "permission": "allow", **WAY, **settings}
    with isolated_session(settings=given, tools=[count]) as session:
        yield session


def parts(answer: Answer, kind: type) -> list[Any]:
    return [part for message in answer.messages for part in message.parts if isinstance(part, kind)]


def asked_at(server: Aimock, wire: Wire) -> str:
    return f"{server.url}{PATHS[wire]}"


@every
def test_words_come_whole_with_their_tokens(server: Aimock, wire: Wire) -> None:
    words = "Zwölf Pinguine 🐧 stehen\n\n```python\nprint('{}')\n```\nam Strand."
    server.script({"match": when("birds"), "response": {"content": words, "usage": USED}})

    with asking(server, wire) as session:
        answer = session.prompt("How many birds?")

    assert (answer.text, answer.error, answer.stopped_by) == (words, None, "finished")
    if wire != "ollama":  # aimock reports no usage in this format
        assert answer.usage == Usage(input=900, output=20)
    assert server.requests[0]["body"]["messages"][-1]["content"].startswith("How many birds?")


def three_steps() -> tuple[Fixture, ...]:
    """Return two calls at once, one more that needs their results, and the final text."""
    both = [called("call_a", "a"), called("call_b", "b")]
    return (
        {
            "match": when("letters"),
            "response": {"content": "Let me count.", "toolCalls": both, "usage": USED},
        },
        {
            "match": when("letters", 1, toolResultContains="b is there 7 times"),
            "response": {"toolCalls": [called("call_c", "c")], "usage": USED},
        },
        {
            "match": when("letters", 2, toolResultContains="c is there 7 times"),
            "response": {"content": "Seven each.", "usage": USED},
        },
    )


@every
def test_calls_at_once_and_one_after_the_other_are_answered(server: Aimock, wire: Wire) -> None:
    server.script(*three_steps())

    with relaying(server.url) as relay, asking(relay, wire) as session:
        answer = session.prompt("Count the letters.")

    assert (answer.text, answer.error) == ("Seven each.", None)
    assert (answer.steps, answer.stopped_by) == (3, "finished")
    ran = [(part.tool, part.state.input, part.state.output) for part in parts(answer, ToolPart)]
    assert ran == [("count", {"letter": one}, f"{one} is there 7 times") for one in "abc"]
    if wire != "ollama":
        assert answer.usage == Usage(input=2_700, output=60)
    told = server.requests[-1]["body"]["messages"]
    assert [one["role"] for one in told if one["role"] != "system"] == [
        "user", "assistant", "tool", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert [one["content"] for one in told if one["role"] == "tool"] == [
        f"{one} is there 7 times" if wire != "gemini" else f'{{"content":"{one} is there 7 times"}}'
        for one in "abc"
    ]
    if wire in {"openai", "anthropic"}:
        calls = [call["id"] for one in told for call in one.get("tool_calls") or ()]
        results = [one["tool_call_id"] for one in told if one["role"] == "tool"]
        assert calls == results == ["call_a", "call_b", "call_c"]
    assert "count" in {tool["function"]["name"] for tool in server.requests[-1]["body"]["tools"]}


@main
def test_thinking_is_kept_and_signed_thinking_goes_back(server: Aimock, wire: Wire) -> None:
    """Aimock refuses a request to Claude whose calls are not preceded by signed thinking."""
    thought = {"reasoning": "Let me think.", "reasoningSignature": "c2lnbmVk"}
    server.script(
        {"match": when("one"), "response": {**thought, "toolCalls": [called("call_a", "a")]}},
        {"match": {"userMessage": "one", "turnIndex": 1}, "response": {"content": "Seven."}},
    )

    with relaying(server.url) as relay, asking(relay, wire, variant="high") as session:
        answer = session.prompt("Count one letter.")

    assert (answer.text, answer.error, answer.steps) == ("Seven.", None, 2)
    assert [part.text for part in parts(answer, ReasoningPart)] == ["Let me think."]
    if wire == "anthropic":
        first, second = relay.bodies
        assert first["thinking"] == second["thinking"]
        assert second["messages"][1]["content"][0] == {
            "type": "thinking", "thinking": "Let me think.", "signature": "c2lnbmVk",
        }  # fmt: skip
    else:
        assert "Let me think." not in str(relay.bodies)


@main
@pytest.mark.parametrize(
    ("reason", "stopped"), [("length", "length"), ("content_filter", "content_filter")]
)
def test_an_answer_that_ends_otherwise_says_so(
    server: Aimock, wire: Wire, reason: str, stopped: str
) -> None:
    ends = {"anthropic": {"content_filter": "refusal"}}.get(wire, {}).get(reason, reason)
    server.script({"match": when("much"), "response": {"content": "So", "finishReason": ends}})

    with asking(server, wire) as session:
        answer = session.prompt("Say much.")

    assert answer.text == "So"
    assert answer.stopped_by == stopped


REFUSALS: list[tuple[int, dict[str, Any], type, str, str]] = [
    (401, {"message": "Incorrect key.", "type": "authentication_error"}, AuthError, "Incorrect key.", "Set the environment variable"),
    (403, {"message": "Not this model.", "type": "permission_error"}, ApiError, "answered 403: Not this model.", "Ask who runs the server"),
    (404, {"message": "No such model.", "type": "not_found_error"}, ApiError, "answered 404: No such model.", "Check the model's name"),
    (400, {"message": "Field x is wrong.", "type": "invalid_request_error"}, ApiError, "answered 400: Field x is wrong.", "Change what it names"),
    (402, {"message": "Insufficient credits.", "type": "billing"}, ApiError, "Insufficient credits.", "Add some there"),
]  # fmt: skip


@every
@pytest.mark.parametrize(("status", "body", "kind", "said", "do"), thinned(REFUSALS, 6))
def test_a_refusal_is_one_sentence_with_the_address_and_what_to_do(
    server: Aimock, wire: Wire, status: int, body: dict[str, Any], kind: type, said: str, do: str
) -> None:
    server.script({"match": when("Ask"), "response": {"error": body, "status": status}})

    with asking(server, wire) as session:
        answer = session.prompt("Ask.")

    assert isinstance(answer.error, kind), answer.error
    assert said in answer.error.message
    assert do in answer.error.message
    assert asked_at(server, wire) in answer.error.message
    assert answer.stopped_by == "error"
    assert len(server.requests) == 1


@every
def test_a_request_that_is_too_long_is_an_overflow(server: Aimock, wire: Wire) -> None:
    words = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    error = {"message": words, "type": "invalid_request_error", "code": "context_length_exceeded"}
    server.script({"match": {}, "response": {"error": error, "status": 400}})

    with asking(server, wire) as session:
        answer = session.prompt("Ask.")

    assert isinstance(answer.error, ContextOverflowError)
    assert answer.stopped_by == "window"


@every
def test_a_rate_limit_is_waited_for_as_long_as_it_says(server: Aimock, wire: Wire) -> None:
    busy = {"error": {"message": "Slow down.", "type": "rate_limit_error"}, "status": 429}
    server.script(
        {"match": when("Ask", sequenceIndex=0), "response": {**busy, "retryAfter": 0}},
        {"match": when("Ask", sequenceIndex=1), "response": {"content": "Here."}},
    )

    with asking(server, wire) as session:
        answer = session.prompt("Ask.")

    assert (answer.text, answer.error, answer.stopped_by) == ("Here.", None, "finished")
    assert [request["response"]["status"] for request in server.requests] == [429, 200]


CHAOS = {"drop": {"dropRate": 1}, "malformed": {"malformedRate": 1}, "disconnect": {"disconnectRate": 1}}  # fmt: skip


@every
@pytest.mark.parametrize("chaos", thinned(CHAOS, 3))
def test_a_server_that_fails_is_asked_again_and_named(
    server: Aimock, wire: Wire, chaos: str
) -> None:
    server.script({"match": when("Ask"), "response": {"content": "Never."}, "chaos": CHAOS[chaos]})

    with asking(server, wire) as session:
        answer = session.prompt("Ask.")

    assert isinstance(answer.error, ApiError), answer.error
    assert answer.error.message.startswith(asked_at(server, wire)), answer.error
    assert answer.stopped_by == "error"
    assert (answer.text, len(server.requests)) == ("", 1 if chaos == "malformed" else 6)
    assert {
        "drop": "answered 500",
        "malformed": "no model server answers there",
        "disconnect": "closed the connection without an answer",
    }[chaos] in answer.error.message


@every
def test_a_stream_that_is_cut_is_asked_for_again_and_nothing_is_said_twice(
    server: Aimock, wire: Wire
) -> None:
    long = {"content": "A whole answer of several pieces."}
    server.script(
        {"match": when("Ask", sequenceIndex=0), "response": long, "truncateAfterChunks": 2},
        {"match": when("Ask", sequenceIndex=1), "response": long},
    )

    with asking(server, wire) as session:
        answer = session.prompt("Ask.")

    assert (answer.text, answer.error) == ("A whole answer of several pieces.", None)
    assert len(server.requests) == 2


KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Aimock]:
    with aimock("--strict", AIMOCK_API_KEYS="right-key-0123456789") as server:
        server.key = "right-key-0123456789"
        server.script({"match": when("Ask"), "response": {"content": "Here."}})
        yield server


@main
def test_a_wrong_key_is_told_with_the_variable_and_a_right_one_answers(
    guarded: Aimock, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEYS[wire], "wrong-key-0123456789")
    with asking(guarded, wire) as session:
        refused = session.prompt("Ask.")
    monkeypatch.setenv(KEYS[wire], "right-key-0123456789")
    with asking(guarded, wire) as session:
        answer = session.prompt("Ask.")

    assert isinstance(refused.error, AuthError), refused.error
    assert f"Set the environment variable {KEYS[wire]} to your key" in refused.error.message
    assert asked_at(guarded, wire) in refused.error.message
    assert "wrong-key" not in refused.error.message
    assert (answer.text, answer.error) == ("Here.", None)


def test_a_server_of_the_environment_is_asked_for_its_models(server: Aimock) -> None:
    server.script(
        {"match": {"model": "text-embedding-3-small"}, "response": {"content": "No."}},
        {"match": {"model": "qwen3-coder"}, "response": {"content": "Yes."}},
    )

    chosen = choose_model({"OPENAI_BASE_URL": f"{server.url}/v1"})

    assert chosen.id == "openai/qwen3-coder"


def test_a_kernel_works_with_its_variables_through_a_foreign_server(
    server: Aimock, tmp_path: Path
) -> None:
    code = {"id": "call_a", "name": "python", "arguments": {"code": "print(sum(weights))"}}
    server.script(
        {"match": when("sum"), "response": {"content": "Let me add.", "toolCalls": [code]}},
        {"match": when("sum", 1, toolResultContains="12"), "response": {"content": "Twelve."}},
    )
    environment = {
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_MODEL": "gpt-5.1",
        "OPENAI_API_KEY": "x",
    }

    with Kernel(cwd=tmp_path, env=environment) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("weights = [3, 4, 5]")
        markdown = kernel.run("%agent -y What is the sum of weights?").markdown()

    assert "print(sum(weights))" in markdown
    assert "Twelve." in markdown
