"""An error response becomes a sentence with the address, the server's message, and what to do."""

import json
import re
import ssl
from typing import Any

import pytest
from tests.harness.tls_certificate import write_certificate
from tests.model.adapter_requests import info, request, run
from tests.model.error_bodies import REFUSALS, Refusal
from tests.model.raw_server import answer, serving
from tests.sample_size import thinned

from palimpsest.model.errors.retry import is_retryable
from palimpsest.model.interface import StepFinished, TextDelta, ToolCalled
from palimpsest.transcript.errors import (
    ApiError,
    AuthError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
)

pytestmark = pytest.mark.usefixtures("litellm", "both_ways")

VALUES = {
    "api": ApiError,
    "auth": AuthError,
    "overflow": ContextOverflowError,
    "filter": ContentFilterError,
}
ENVIRONMENT = {
    "GEMINI_API_KEY": "AIza-test",
    "MISTRAL_API_KEY": "mistral-test",
    "AZURE_API_KEY": "azure-test",
    "AZURE_API_VERSION": "2024-10-21",
    "AWS_ACCESS_KEY_ID": "AKIATEST",
    "AWS_SECRET_ACCESS_KEY": "aws-test",
    "AWS_REGION_NAME": "us-east-1",
}
NAMES = {"bedrock": "anthropic.claude-3-5-sonnet-20240620-v1:0"}
BASES = {"openai": "/v1", "hosted_vllm": "/v1", "gemini": "/v1beta", "mistral": "/v1"}
NOT_FOR_PEOPLE = re.compile(
    r"</?[a-zA-Z!][^>]*>|\{'|\{\"|b'|litellm\.|Traceback|Exception - |Received Model Group|model group|object at 0x|_fallback"
)
SENTENCE = re.compile(r"(Check|Set|Wait|Change|Ask|Add|Raise|Write|Look|Start) ")


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A TLS server context with a self-signed certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(tmp_path_factory.mktemp("tls")))
    return context


async def asked(wire: str, base: str) -> ErrorValue | None:
    name = NAMES.get(wire, "some-model")
    _, error = await run(request(info(wire, api_base=base, name=name)))
    return error


@pytest.mark.parametrize("case", thinned(REFUSALS, 6), ids=lambda case: f"{case.wire}-{case.name}")
async def test_a_refusal_says_who_answered_what_and_what_to_do(case: Refusal) -> None:
    sent = answer(case.body, status=case.status, kind=case.content, headers=case.headers)
    async with serving(sent) as host:
        error = await asked(case.wire, f"http://{host}{BASES.get(case.wire, '')}")

    assert isinstance(error, VALUES[case.kind]), error
    assert case.told in error.message
    assert not NOT_FOR_PEOPLE.search(error.message), error.message
    assert is_retryable(error) is case.again
    if case.kind in {"api", "auth"}:
        assert f"http://{host}" in error.message
        assert SENTENCE.search(error.message), error.message
    if isinstance(error, ApiError):
        assert error.status == case.status


def test_the_table_holds_sixty_bodies_of_many_servers() -> None:
    assert len(REFUSALS) >= 60
    assert len({case.wire for case in REFUSALS}) >= 8


async def test_a_model_that_a_gateway_does_not_know_is_a_name_to_be_checked() -> None:
    case = next(refusal for refusal in REFUSALS if refusal.name == "no group")
    async with serving(answer(case.body, status=case.status)) as host:
        error = await asked(case.wire, f"http://{host}/v1")

    assert error is not None
    assert error.message.endswith("Check the model's name: %agent models lists what can be used.")


async def test_a_budget_that_is_spent_at_a_gateway_is_not_asked_for_again() -> None:
    case = next(refusal for refusal in REFUSALS if refusal.name == "budget")
    async with serving(answer(case.body, status=case.status)) as host:
        error = await asked(case.wire, f"http://{host}/v1")

    assert error is not None
    assert error.message.startswith("The account at 'openai' has no quota left. Raise it there")


WIRES = pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini"])


def sentence_of(error: ErrorValue | None) -> str:
    assert isinstance(error, ApiError), error
    assert not NOT_FOR_PEOPLE.search(error.message), error.message
    assert SENTENCE.search(error.message), error.message
    return error.message


@WIRES
async def test_a_server_that_closes_without_an_answer_is_asked_again(wire: str) -> None:
    async with serving(b"") as host:
        error = await asked(wire, f"http://{host}/v1")

    assert f"http://{host}/v1" in sentence_of(error)
    assert "closed the connection without an answer" in sentence_of(error)
    assert "not running" not in sentence_of(error)
    assert error is not None
    assert is_retryable(error)


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "mistral", "ollama", "azure"])
async def test_a_request_whose_connection_was_closed_is_not_sent_again_in_secret(wire: str) -> None:
    """The answer to a second request would be shown as the first's."""
    async with serving(b"", answer("The second request.", status=400)) as host:
        error = await asked(wire, f"http://{host}{BASES.get(wire, '')}")

    assert "closed the connection without an answer" in sentence_of(error)


@WIRES
async def test_words_that_are_no_answer_send_one_to_the_address(wire: str) -> None:
    async with serving(answer("{malformed json: <<", kind="application/json")) as host:
        error = await asked(wire, f"http://{host}/v1")

    assert "answered: {malformed json: <<" in sentence_of(error)
    assert "Check the address in api_base" in sentence_of(error)


@WIRES
async def test_only_a_refused_connection_is_a_server_that_does_not_run(wire: str) -> None:
    async with serving(b"") as host:
        gone = f"http://{host}/v1"

    error = await asked(wire, gone)

    assert f"The model server at {gone} is not running. Start it" in sentence_of(error)
    assert error is not None
    assert not is_retryable(error)


@WIRES
async def test_a_certificate_of_their_own_is_named(wire: str, certificate: ssl.SSLContext) -> None:
    async with serving(b"", tls=certificate) as host:
        error = await asked(wire, f"https://{host}/v1")

    assert f"The certificate of https://{host}/v1" in sentence_of(error)
    assert "SSL_CERT_FILE" in sentence_of(error)
    assert error is not None
    assert not is_retryable(error)


@WIRES
async def test_tls_to_a_plain_server_says_so(wire: str) -> None:
    async with serving(b"HTTP/1.1 400 Bad Request\r\n\r\n") as host:
        error = await asked(wire, f"https://{host}/v1")

    assert "did not answer in TLS" in sentence_of(error)
    assert "with http://" in sentence_of(error)


TALKERS = pytest.mark.parametrize(
    "wire", ["openai", "anthropic", "gemini", "mistral", "ollama", "azure"]
)


@TALKERS
async def test_plain_http_to_a_server_of_tls_names_the_address_and_https(
    wire: str, certificate: ssl.SSLContext
) -> None:
    """OpenSSL sends nothing to a client without TLS, so this looks like a server that crashed."""
    async with serving(b"", tls=certificate) as host:
        error = await asked(wire, f"http://{host}{BASES.get(wire, '')}")

    assert f"http://{host}" in sentence_of(error)
    assert "closed the connection without an answer" in sentence_of(error)
    assert "if it speaks TLS, write its address with https://." in sentence_of(error)


@TALKERS
@pytest.mark.parametrize(
    "alert", thinned([10, 22], 2), ids=["unexpected message", "record overflow"]
)
async def test_an_answer_that_is_a_tls_alert_is_not_asked_for_again(wire: str, alert: int) -> None:
    async with serving(bytes([0x15, 3, 3, 0, 2, 2, alert])) as host:
        error = await asked(wire, f"http://{host}{BASES.get(wire, '')}")

    assert f"http://{host}" in sentence_of(error)
    assert "speaks TLS" in sentence_of(error)
    assert "Write its address with https://." in sentence_of(error)
    assert error is not None
    assert not is_retryable(error)


@WIRES
@pytest.mark.parametrize("base", ["127.0.0.1:8000/v1", "htp://127.0.0.1:8000/v1"])
async def test_an_address_without_a_scheme_is_no_address(wire: str, base: str) -> None:
    error = await asked(wire, base)

    assert f"{base} is no address of a server. Write it with http://" in sentence_of(error)
    assert error is not None
    assert not is_retryable(error)


@WIRES
async def test_redirects_without_end_are_told(wire: str) -> None:
    async with serving(answer("", status=308, headers={"location": "/v1/there"})) as host:
        error = await asked(wire, f"http://{host}/v1")

    assert "leads from one address to another without end" in sentence_of(error)


async def test_a_login_page_behind_a_redirect_is_told_with_both_addresses() -> None:
    page = answer("<html><title>Sign in</title></html>", kind="text/html")
    led = answer("", status=302, headers={"location": "/login"})
    async with serving(led, page) as host:
        error = await asked("openai", f"http://{host}/v1")

    assert sentence_of(error).startswith(
        f"http://{host}/v1/chat/completions leads to http://{host}/login, which answered: "
        'a web page with the title "Sign in".'
    )


@WIRES
@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("<html><title>Sign in</title></html>", "text/html", '"Sign in"'),
        ('{"error": {"message": "The model is not there.", "code": 1}}', "application/json", "The model is not there."),
        ('{"error": "The model is not there."}', "text/event-stream", "The model is not there."),
        ("Ollama is running", "text/plain", "Ollama is running"),
    ],
)  # fmt: skip
async def test_a_success_that_is_no_answer_is_told_at_once(
    wire: str, body: str, kind: str, told: str
) -> None:
    async with serving(answer(body, kind=kind)) as host:
        error = await asked(wire, f"http://{host}/v1")

    assert f"http://{host}/v1" in sentence_of(error)
    assert told in sentence_of(error)
    assert error is not None
    assert not is_retryable(error)


WHOLE: dict[str, dict[str, Any]] = {
    "openai": {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "python", "arguments": '{"code": "1"}'}}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
    },
    "anthropic": {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "call_1", "name": "python", "input": {"code": "1"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "output_tokens": 5},
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Let me look."},
                        {"functionCall": {"name": "python", "args": {"code": "1"}}},
                    ],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12},
    },
}  # fmt: skip


@WIRES
async def test_a_whole_answer_where_a_stream_was_asked_for_is_used(wire: str) -> None:
    body = json.dumps(WHOLE[wire], indent=2 if wire == "gemini" else None)
    async with serving(answer(body)) as host:
        events, error = await run(request(info(wire, api_base=f"http://{host}/v1")))

    assert error is None
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Let me look."
    call = next(event for event in events if isinstance(event, ToolCalled))
    assert (call.tool, call.input) == ("python", {"code": "1"})
    ended = events[-1]
    assert isinstance(ended, StepFinished)
    assert (ended.reason, ended.usage.prompt, ended.usage.output) == ("tool-calls", 7, 5)
