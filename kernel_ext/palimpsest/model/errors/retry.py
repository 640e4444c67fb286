"""Decide whether a failed request is worth another attempt, and how long to wait.

Pure: the clock and the random jitter are passed in. The waiting itself, with its countdown and its
cancel, belongs to the loop.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.errors import ApiError, ErrorValue, UnknownError

MAX_RETRIES = 5
FIRST_DELAY_SECONDS = 2.0
BACKOFF_FACTOR = 2.0
MAX_DELAY_SECONDS = 30.0
MAX_JITTER_SHARE = 0.25
"""Maximum share of our own delays that is added to them, so that many kernels do not retry at the same time."""
MAX_WAIT_SECONDS = 2_147_483.647
"""The largest signed 32-bit count of milliseconds; no provider requests a longer wait."""

MAX_RESET_SECONDS = 600.0
"""Maximum seconds until the reset of a rate limit; later resets are ignored when the wait is computed."""
MIN_POINT_SECONDS = 1_000_000_000.0
"""A number of at least this is a point in time, in seconds or milliseconds since 1970; as a duration it would be 31 years."""
RESET = lazy_pattern(r"\breset\b")
DURATION_PART = lazy_pattern(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s)", re.IGNORECASE)
DURATION = lazy_pattern(rf"(?:{DURATION_PART.pattern}\s*)+", re.IGNORECASE)
UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}

MIN_SERVER_ERROR_STATUS = 500
NO_CREDIT = "no_credit"
"""Our own code for an error about billing, with any code and status."""

HOPELESS_CODES = frozenset(
    {NO_CREDIT, "insufficient_quota", "budget_exceeded", "usage_not_included", "invalid_prompt"}
    | {"billing_hard_limit_reached", "not_running", "certificate", "tls", "no_address"}
    | {"redirects", "proxy"}
)
"""Codes that mean that a retry would fail again, regardless of the message."""

TRANSIENT_MESSAGES = lazy_pattern(
    r"overloaded|service.unavailable|server.(?:is.)?(?:busy|unavailable)|provider returned error"
    r"|internal (?:server )?error|server[ _]error|too.many.requests|rate.?(?:limit|increased)"
    r"|rate_limit|resource.?(?:has been )?exhausted|no_kv_space|at capacity|try again|retry your request"
    r"|connection (?:error|reset|closed|refused|lost|aborted|timed out)|socket hang up|fetch failed"
    r"|network error|terminated$|econn[a-z]+|etimedout|epipe|enotfound|eai_again"
    r"|server disconnected|peer closed|incomplete (?:chunked )?read|payload is not completed"
    r"|transfer.?encoding|timed? out|(?:request|read|connect|gateway|upstream|header)[ -]?time-?out"
    r"|(?:status|code|http|error)\W{0,4}(?:429|500|502|503|504|524)\b|^(?:429|500|502|503|504|524)\b"
    r"|response decompression|incorrect header check",
    re.IGNORECASE,
)
"""Messages of providers, and of the network on the way to them, that mean a transient failure."""


TIMEOUT_MESSAGE = lazy_pattern(r"\W*time-?out\W*", re.IGNORECASE)
"""A whole message that means a missing answer; inside a sentence the word may be a parameter's name."""


def is_retryable(error: ErrorValue) -> bool:
    """Return whether sending the same request again may help; a request that is too long is not retryable."""
    match error:
        case ApiError():
            if (error.metadata or {}).get("code") in HOPELESS_CODES:
                return False
            is_server_error = error.status is not None and error.status >= MIN_SERVER_ERROR_STATUS
            text = f"{error.message}\n{error.response_body or ''}"
            return error.retryable or is_server_error or is_transient(text)
        case UnknownError(explained=None):
            text = error.message
            return is_transient(text) or TIMEOUT_MESSAGE.fullmatch(text) is not None
        case _:
            return False


def is_transient(text: str) -> bool:
    """Return whether the text of an error means that it is transient."""
    return bool(TRANSIENT_MESSAGES.search(text))


def delay_seconds(
    attempt: int,
    headers: Mapping[str, str] | None = None,
    jitter: float = 0.0,
    now: float | None = None,
) -> float:
    """Return the seconds to wait after failed attempt ``attempt``, counted from 1.

    A wait that the provider requests is obeyed; else the delay doubles from two seconds to thirty.

    Args:
        attempt: How many attempts have failed.
        headers: The headers of the error response; names in any case.
        jitter: A number from 0 to 1 that spreads our own delays.
        now: Seconds since 1970, to understand a date.
    """
    requested = requested_seconds(headers or {}, now)
    if requested is not None:
        return min(requested, MAX_WAIT_SECONDS)
    backoff = (
        FIRST_DELAY_SECONDS * BACKOFF_FACTOR ** (attempt - 1) * (1 + MAX_JITTER_SHARE * jitter)
    )
    return min(backoff, MAX_DELAY_SECONDS)


def requested_seconds(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the wait that a provider requests; None if it requests none.

    ``retry-after-ms`` and ``retry-after`` are obeyed at any length: a number of seconds, a duration such as
    ``1m30s``, a date or a point in time. A limit's reset (``x-ratelimit-reset...``) is only when the limit is
    full again, so it counts only without those headers, for exhausted limits, and up to ten minutes.
    ``now`` is in seconds since 1970; without it points in time are ignored.
    """
    values = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(values.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = _seconds(values.get("retry-after"), now)
    return _reset_seconds(values, now) if seconds is None else seconds


def _reset_seconds(headers: Mapping[str, str], now: float | None) -> float | None:
    """Return the seconds until exhausted limits are full again; None where unknown or too far away."""
    reset_waits = []
    for name, value in headers.items():
        if RESET.search(name) is None:
            continue
        remaining_count = _number(headers.get(RESET.sub("remaining", name)))
        seconds = _seconds(value, now)
        if seconds is not None and not remaining_count:
            reset_waits.append(seconds)
    wait = max(reset_waits, default=None)
    return wait if wait is not None and wait <= MAX_RESET_SECONDS else None


def _seconds(text: str | None, now: float | None) -> float | None:
    """Parse a header's value as seconds: a number, a duration, a date or a point in time."""
    if text is None:
        return None
    value = _number(text)
    if value is not None and value < MIN_POINT_SECONDS:
        return value
    if value is not None:
        seconds = value / 1000 if value >= MIN_POINT_SECONDS * 1000 else value
        return max(0.0, seconds - now) if now is not None else None
    if DURATION.fullmatch(text.strip()):
        parts = DURATION_PART.findall(text.lower())
        return sum(float(number) * UNIT_SECONDS[unit] for number, unit in parts)
    return _wait_until(text, now) if now is not None else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _wait_until(text: str, now: float) -> float | None:
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError):
            moment = parse(text.strip())
            moment = moment.replace(tzinfo=moment.tzinfo or UTC)
            return max(0.0, (moment - datetime.fromtimestamp(now, UTC)).total_seconds())
    return None
