"""Failures are retried or not, after a wait, as in the recorded OpenCode.

The wait and the judgement are those that the loop calls before it sends a request again
(``loop/model_requests/request_failures.py``). Differences on purpose, each a rule over the case:

- a wait of our own never exceeds half a minute, also where the refusal had headers that ask for
  nothing: nobody watches a cell for 17 minutes because of an empty header;
- jitter spreads every wait of our own, as in the newest release; older ones had none, which is a
  jitter of zero.
"""

from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.golden.data import load
from tests.golden.upstream import ERRORS

from palimpsest.model.errors.retry import (
    MAX_DELAY_SECONDS,
    MAX_RETRIES,
    delay_seconds,
    is_retryable,
    is_transient,
)
from palimpsest.transcript.errors import ApiError, ErrorValue, UnknownError

Case = dict[str, Any]

VALUES: TypeAdapter[ErrorValue] = TypeAdapter(ErrorValue)
RENAMED = {
    "isRetryable": "retryable",
    "statusCode": "status",
    "responseBody": "response_body",
    "responseHeaders": "headers",
    "providerID": "provider",
}


def delays(source: str) -> list[Case]:
    found = load(source, "retry")
    return found if isinstance(found, list) else found["delays"]


def asks(case: Case) -> bool:
    """Return whether the refusal's headers ask for a wait, in a valid form."""
    headers = case["headers"] or {}
    return any(_number(headers.get(name)) for name in ("retry-after-ms", "retry-after"))


def _number(text: str | None) -> bool:
    return text is not None and text.replace(".", "", 1).isdigit()


def is_capped_by_us(case: Case) -> bool:
    """Return whether our cap applies: no wait in the headers, and a recorded wait above half a minute."""
    return case["headers"] is not None and not asks(case) and case["ms"] > MAX_DELAY_SECONDS * 1000


@pytest.mark.parametrize(
    "source", ["opencode", "opencode/seed-era-1.1.34", "opencode/seed-era-1.1.65"]
)
def test_the_wait_is_the_recorded_one(source: str) -> None:
    ours, expected = [], []
    for case in delays(source):
        if isinstance((case["headers"] or {}).get("retry-after"), str) and (
            "GMT" in case["headers"]["retry-after"]
        ):
            continue
        seconds = delay_seconds(case["attempt"], case["headers"], case.get("jitter", 0))
        ours.append(round(seconds * 1000))
        expected.append(MAX_DELAY_SECONDS * 1000 if is_capped_by_us(case) else case["ms"])

    assert ours == expected
    assert ours


def test_no_wait_of_the_newest_is_longer_than_ours_may_be() -> None:
    assert MAX_RETRIES == 5
    own = [case for case in delays("opencode") if not asks(case)]
    for case in own:
        assert delay_seconds(case["attempt"], case["headers"], case["jitter"]) <= MAX_DELAY_SECONDS


def error_of(recorded: Case) -> ErrorValue:
    data = {RENAMED.get(name, name): value for name, value in recorded["data"].items()}
    named = {"type": ERRORS[recorded["name"]], **data}
    return VALUES.validate_python({"message": "", **named} if "message" not in named else named)


def test_what_may_pass_is_sent_again_as_recorded() -> None:
    cases = load("opencode", "retry")["retryable"]

    ours = {str(case["error"]): is_retryable(error_of(case["error"])) for case in cases}

    assert ours == {str(case["error"]): case["result"] is not None for case in cases}
    assert len(set(ours.values())) == 2


@pytest.mark.parametrize(
    ("message", "again"),
    [
        ("HTTP 503", True),
        ("503 Service Temporarily Unavailable", True),
        ("error code: 524", True),
        ("max_tokens must be at most 500", False),
        ("There are 429 tools, which is too many", False),
        ("getaddrinfo ENOTFOUND api.example.com", True),
        ("The answer ended without a real end", False),
        ("Set a timeout of 5 seconds or more", False),
    ],
)
def test_numbers_and_words_are_read_where_they_mean_it(message: str, *, again: bool) -> None:
    assert is_transient(message) is again


def test_what_a_code_calls_hopeless_is_not_sent_again_whatever_its_words() -> None:
    refused = ApiError(
        message="Rate limit reached", status=429, metadata={"code": "insufficient_quota"}
    )

    assert not is_retryable(refused)
    assert not is_retryable(UnknownError(message="try again", explained=True))
