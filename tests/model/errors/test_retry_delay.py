"""A failed request waits as long as the server asks, up to a limit."""

import pytest

from palimpsest.model.errors.retry import delay_seconds, retryable
from palimpsest.transcript.errors import ApiError, AuthError, ContextOverflowError, UnknownError

NOON = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def test_doubles_from_two_seconds_to_thirty() -> None:
    assert [delay_seconds(attempt) for attempt in range(1, 7)] == [2, 4, 8, 16, 30, 30]


def test_jitter_adds_at_most_a_quarter_below_the_cap() -> None:
    assert [delay_seconds(attempt, jitter=1.0) for attempt in (1, 4, 5)] == [2.5, 20, 30]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0),
        ({"retry-after": "120"}, 120),
        ({"retry-after-ms": "99999999999"}, 2_147_483.647),
        ({"retry-after": "soon"}, 2),
        ({"retry-after": "-1"}, 2),
        ({"retry-after": "nan"}, 2),
        ({}, 2),
    ],
)
def test_obeys_the_provider_as_sent(headers: dict[str, str], seconds: float) -> None:
    assert delay_seconds(1, headers, jitter=0.0, now=NOON) == seconds


def test_only_what_may_pass_is_worth_another_attempt() -> None:
    assert retryable(ApiError(message="m", retryable=True))
    assert not retryable(ApiError(message="m"))
    assert not retryable(ContextOverflowError(message="m"))
    assert not retryable(AuthError(provider="p", message="m"))
    assert not retryable(UnknownError(message="m"))
