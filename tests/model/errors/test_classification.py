"""Any exception of a client becomes an error that says what happened and what to do."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.model.errors.classification import classify
from palimpsest.model.errors.exception_details import scrub
from palimpsest.model.errors.overflow_detection import is_overflow
from palimpsest.model.errors.retry import is_retryable
from palimpsest.transcript.errors import (
    AbortedError,
    ApiError,
    AuthError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    UnknownError,
)


def raised(name: str, message: str = "boom", **fields: Any) -> Exception:
    """Return an exception of a class that litellm might have."""
    error: Exception = type(name, (Exception,), {})(message)
    for field, value in fields.items():
        setattr(error, field, value)
    return error


def of(name: str, message: str = "boom", **fields: Any) -> ErrorValue:
    return classify(raised(name, message, **fields), "openai")


def test_a_break_in_mid_stream_is_judged_by_what_it_wraps() -> None:
    inner = raised("RateLimitError", "slow down", status_code=429)
    inner.litellm_response_headers = {"Retry-After": "3"}  # type: ignore[attr-defined]

    error = of("MidStreamFallbackError", original_exception=inner, status_code=503)

    assert isinstance(error, ApiError)
    assert (error.status, error.retryable, error.headers) == (429, True, {"retry-after": "3"})


def test_headers_are_found_where_they_are_and_secrets_left_out() -> None:
    response = SimpleNamespace(headers={"retry-after-ms": "5", "set-cookie": "x", "x-api-key": "k"})

    error = of("RateLimitError", status_code=429, response=response)

    assert isinstance(error, ApiError)
    assert error.headers == {"retry-after-ms": "5"}


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("ContextWindowExceededError", {"status_code": 400}, ContextOverflowError),
        ("AuthenticationError", {"status_code": 401}, AuthError),
        ("ContentPolicyViolationError", {"status_code": 400}, ContentFilterError),
        ("ValueError", {}, UnknownError),
        ("BadRequestError", {"status_code": 400}, ApiError),
    ],
)
def test_each_class_has_its_value(name: str, fields: dict[str, Any], expected: type) -> None:
    assert isinstance(of(name, **fields), expected)


def test_a_cancel_is_an_abort() -> None:
    assert classify(asyncio.CancelledError(), "openai") == AbortedError()


def test_missing_credentials_are_told_by_their_words() -> None:
    error = of(
        "InternalServerError", "Missing credentials. Please pass an `api_key`", status_code=500
    )

    assert isinstance(error, AuthError)
    assert "Set the environment variable OPENAI_API_KEY" in error.message


@pytest.mark.parametrize(
    ("provider", "variables"),
    [
        (
            "bedrock",
            ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION_NAME"),
        ),
        ("bedrock_converse", ("AWS_SECRET_ACCESS_KEY", "AWS_REGION_NAME")),
        ("azure", ("AZURE_API_KEY", "AZURE_API_BASE", "AZURE_API_VERSION")),
        ("vertex_ai", ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_PROJECT", "VERTEXAI_LOCATION")),
        ("anthropic", ("ANTHROPIC_API_KEY",)),
    ],
)
def test_credentials_are_named_as_the_provider_really_needs_them(
    provider: str, variables: tuple[str, ...]
) -> None:
    error = classify(raised("AuthenticationError", "No.", status_code=401), provider)

    assert isinstance(error, AuthError)
    assert [variable for variable in variables if variable not in error.message] == []


def test_a_prefix_of_class_names_is_not_for_people() -> None:
    message = "litellm.NotFoundError: NotFoundError: OpenAIException - No such model."

    error = of("NotFoundError", message, status_code=404)

    assert isinstance(error, ApiError)
    assert error.message.startswith("The provider 'openai' answered 404: No such model. Check ")


@pytest.mark.parametrize(
    ("code", "retry"),
    [("insufficient_quota", False), ("invalid_prompt", False), ("rate_limit_exceeded", True)],
)
def test_the_code_decides_whether_429_may_pass(code: str, *, retry: bool) -> None:
    error = of("RateLimitError", status_code=429, body={"message": "No.", "code": code})

    assert isinstance(error, ApiError)
    assert error.retryable is retry


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Your credit balance is too low to access the API. Please go to Plans & Billing."),
        (402, "This request requires more credits, or fewer max_tokens."),
        (429, "Insufficient balance. Rate limit reached for free accounts."),
    ],
)
def test_an_account_without_money_is_said_and_not_asked_again(status: int, message: str) -> None:
    error = of("APIError", message, status_code=status)

    assert isinstance(error, ApiError)
    assert "has no credit left. Add some there, or choose another model" in error.message
    assert message in error.message
    assert not is_retryable(error)


@pytest.mark.parametrize(
    ("message", "again"),
    [
        ("Too large for tokens per minute (TPM): Limit 6000, Requested 7000.", True),
        ("All credentials are cooling down.", True),
        ("You exceeded your current quota, please check your plan and billing details.", True),
        ("The field 'messages' has 4290 items.", False),
        ("Credit cards are a fine subject for a poem.", False),
    ],
)
def test_a_refusal_for_haste_is_asked_again_whatever_its_status(
    message: str, *, again: bool
) -> None:
    error = of("BadRequestError", message, status_code=400)

    assert isinstance(error, ApiError)
    assert is_retryable(error) is again


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 277403 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens.",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Request size exceeds model context window",
        "the request exceeds the available context size",
        "Input is too long for requested model.",
        "Request entity too large",
        "413 (no body)",
        "prompt too long; exceeded max context length by 12 tokens",
        "Please reduce the length of the messages or completion.",
        "Your input exceeds the context window of this model.",
        "model_context_window_exceeded",
        "tokens in request more than max tokens allowed: too many tokens",
    ],
)
def test_an_overflow_is_known_by_its_words(message: str) -> None:
    assert is_overflow(message)


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached: too many tokens per minute (TPM)",
        "Too many requests",
        "You exceeded your current quota",
        "max_tokens must be at least 1",
        "Invalid value for 'messages'",
        "The context manager failed",
        "",
    ],
)
def test_what_only_sounds_alike_is_no_overflow(message: str) -> None:
    assert not is_overflow(message)


def test_a_rate_limit_is_never_an_overflow() -> None:
    assert not is_overflow("maximum context length is 8192 tokens", None, 429)
    assert is_overflow("anything", "context_length_exceeded", 400)
    assert is_overflow("anything", None, 413)


def test_keys_are_scrubbed_by_value_and_by_shape() -> None:
    environment = {"MY_TOKEN": "hunter2hunter2", "HOME": "/home/me"}

    text = "hunter2hunter2 sk-abcdefghijklmnop AIzaSyA1234567890123456789 Bearer abcdefghi /home/me"

    assert scrub(text, environment) == (
        "[redacted] [redacted] [redacted] Bearer [redacted] /home/me"
    )
