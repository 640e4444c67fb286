"""A failed request waits as long as the server asks, up to a limit."""

import pytest

from palimpsest.model.errors.retry import delay_seconds, is_retryable
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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3s"}, 3),
        ({"retry-after": "1m30s"}, 90),
        ({"retry-after": "250ms"}, 0.25),
        ({"retry-after": "2h"}, 7_200),
        ({"retry-after": str(NOON + 20)}, 20),
        ({"retry-after": f"{(NOON + 20) * 1000:.0f}"}, 20),
        ({"retry-after": str(NOON - 20)}, 0),
        ({"retry-after": "2023-11-14T22:13:40Z"}, 20),
        ({"retry-after": "2023-11-15T00:13:40+02:00"}, 20),
        ({"retry-after": "3 parrots"}, 2),
        ({"retry-after": "s"}, 2),
    ],
)
def test_a_wait_is_a_duration_or_a_point_in_time(headers: dict[str, str], seconds: float) -> None:
    assert delay_seconds(1, headers, now=NOON) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-reset": str(NOON + 45)}, 45),
        ({"X-RateLimit-Reset": f"{(NOON + 45) * 1000:.0f}"}, 45),
        ({"ratelimit-reset": "12"}, 12),
        ({"x-ratelimit-reset": "12", "retry-after": "7"}, 7),
        # Of several limits those count that are used up.
        (
            {
                "anthropic-ratelimit-requests-remaining": "40",
                "anthropic-ratelimit-requests-reset": "2023-11-14T22:18:20Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2023-11-14T22:13:40Z",
            },
            20,
        ),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "8s",
                "x-ratelimit-remaining-tokens": "900",
                "x-ratelimit-reset-tokens": "9m",
            },
            8,
        ),
        # A day's limit is no order to wait that long.
        ({"x-ratelimit-reset": str(NOON + 80_000)}, 2),
        ({"x-ratelimit-reset-requests": "11m"}, 2),
        ({"x-ratelimit-remaining": "7", "x-ratelimit-reset": "60"}, 2),
        ({"x-preset": "60"}, 2),
    ],
)
def test_a_limits_reset_counts_up_to_ten_minutes(headers: dict[str, str], seconds: float) -> None:
    assert delay_seconds(1, headers, now=NOON) == pytest.approx(seconds)


def test_only_what_may_pass_is_worth_another_attempt() -> None:
    assert is_retryable(ApiError(message="m", retryable=True))
    assert not is_retryable(ApiError(message="m"))
    assert not is_retryable(ContextOverflowError(message="m"))
    assert not is_retryable(AuthError(provider="p", message="m"))
    assert not is_retryable(UnknownError(message="m"))
