"""Decide whether a failed request is worth another attempt, and how long to wait.

Pure: the clock and the random jitter are passed in. The waiting itself, with its countdown and its
cancel, belongs to the loop.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from palimpsest.transcript.errors import ApiError, ErrorValue, UnknownError

MAX_RETRIES = 5
FIRST_DELAY_SECONDS = 2.0
FACTOR = 2.0
CAP_SECONDS = 30.0
JITTER_SHARE = 0.25
"""At most this share is added to a delay of our own, so that many kernels do not retry at the same time."""
LONGEST_SECONDS = 2_147_483.647
"""What a signed 32-bit count of milliseconds can hold; no provider asks for more than that."""

SERVER_ERROR = 500
NO_CREDIT = "no_credit"
"""Our own code for an error about billing, whatever code and status it came with."""

HOPELESS_CODES = frozenset(
    {
        NO_CREDIT,
        "insufficient_quota",
        "budget_exceeded",
        "usage_not_included",
        "invalid_prompt",
        "billing_hard_limit_reached",
        "not_running",
        "certificate",
        "tls",
        "no_address",
        "redirects",
        "proxy",
    }
)
"""Codes that mean that a retry would fail again, whatever the message says."""

PASSING = re.compile(
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


SILENT = re.compile(r"\W*time-?out\W*", re.IGNORECASE)
"""A message that is only this word means that no answer came; inside a sentence it may be the name of a
parameter."""


def retryable(error: ErrorValue) -> bool:
    """Tell whether sending the same request again may help; a too long one stays too long."""
    match error:
        case ApiError():
            if (error.metadata or {}).get("code") in HOPELESS_CODES:
                return False
            server = error.status is not None and error.status >= SERVER_ERROR
            told = f"{error.message}\n{error.response_body or ''}"
            return error.retryable or server or passes(told)
        case UnknownError(explained=None):
            return passes(error.message) or SILENT.fullmatch(error.message) is not None
        case _:
            return False


def passes(words: str) -> bool:
    """Tell whether the text of an error means that it is transient."""
    return bool(PASSING.search(words))


def delay_seconds(
    attempt: int,
    headers: Mapping[str, str] | None = None,
    jitter: float = 0.0,
    now: float | None = None,
    cap_seconds: float | None = None,
) -> float:
    """Return the seconds to wait after failed attempt ``attempt``, counted from 1.

    What the provider asks for is obeyed as sent; without it the delay doubles from two seconds
    to thirty.

    Args:
        attempt: How many attempts have failed.
        headers: The headers of the error response; names in any case.
        jitter: A number from 0 to 1 that spreads delays of our own.
        now: Seconds since 1970, to understand a date.
        cap_seconds: The longest delay of our own, 30 s if not given.
    """
    asked = asked_seconds(headers or {}, now)
    if asked is not None:
        return min(asked, LONGEST_SECONDS)
    backoff = FIRST_DELAY_SECONDS * FACTOR ** (attempt - 1) * (1 + JITTER_SHARE * jitter)
    return min(backoff, CAP_SECONDS if cap_seconds is None else cap_seconds, LONGEST_SECONDS)


def asked_seconds(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return what ``retry-after-ms`` or ``retry-after`` asks for, or None."""
    lower = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    after = lower.get("retry-after")
    seconds = _number(after)
    if seconds is not None:
        return seconds
    return _until(after, now) if after is not None and now is not None else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(text: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - datetime.fromtimestamp(now, UTC)).total_seconds()
    return max(0.0, seconds)
