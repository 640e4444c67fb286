"""Turn whatever went wrong in a model call into one of the transcript's error values.

The classes that litellm raises are only hints: it calls a refused connection status 500, hides
retry-after outside the response, and wraps what broke in mid-stream (spec/model-and-store.md
A4). So an exception is opened down to the HTTP client's own and the system's, and what the server
really answered is read there. Nothing here imports litellm; names of classes are compared as text.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from palimpsest.model.custom import CustomFailure
from palimpsest.model.error_body import ErrorBody, read_body
from palimpsest.model.error_sentences import (
    address,
    auth_sentence,
    money_sentence,
    place,
    refused,
    sentence,
    silent_sentence,
)
from palimpsest.model.overflow import (
    is_billing,
    is_compaction_failure,
    is_overflow,
    is_rate_limit,
    observed_tokens,
)
from palimpsest.model.retry import HOPELESS_CODES, NO_CREDIT, SERVER_ERROR, passes
from palimpsest.model.unanswered import Unanswered, inside, unanswered
from palimpsest.transcript.errors import (
    AbortedError,
    ApiError,
    AuthError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    UnknownError,
)
from palimpsest.transcript.policies import Refusals
from palimpsest.transcript.scrub import REDACTED, secret_values
from palimpsest.transcript.scrub import scrub as without_secrets

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
AUTH_STATUS = frozenset({401})
AUTH_CODES = frozenset(
    {
        "API_KEY_INVALID",
        "UNAUTHENTICATED",
        "invalid_api_key",
        "authentication_error",
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "ExpiredTokenException",
        "MissingAuthenticationTokenException",
        "IncompleteSignatureException",
    }
)
"""Codes of refusals for want of a key, whatever status they come with."""
FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)
KEPT_HEADERS = re.compile(r"retry-after|ratelimit|request-id|^x-should-retry$", re.IGNORECASE)
MISSING_KEY = re.compile(
    r"missing credentials|api.?key client option must be set|missing .{0,40}api.?key"
    r"|no api.?key|x-api-key header is required|api key not (?:found|valid)|invalid.{0,20}api.?key"
    r"|incorrect api key",
    re.IGNORECASE,
)
CREDENTIAL_CLASSES = frozenset(
    {
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "ProfileNotFound",
        "DefaultCredentialsError",
        "RefreshError",
        "BedrockMissingCredentialsError",
    }
)
"""What clients of clouds raise before they ask anybody."""
MASKED_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*]{12,}|\bAIza[A-Za-z0-9_\-*]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._\-]{8,}"
)
"""What providers repeat of a wrong key: its beginning and end, stars between."""
LONGEST_BODY = 2_000

SILENT_CLASSES = frozenset(
    {
        "ReadTimeout",
        "APITimeoutError",
        "SocketTimeoutError",
        "Timeout",
        "WriteTimeout",
        "PoolTimeout",
        "TimeoutError",
    }
)
INVENTED_STATUS = 500
"""What litellm calls a failure to which no server gave a status."""


class AnsweredOtherwise(Exception):
    """A server answered with status 200, and with no stream: ``text`` is what it sent."""

    def __init__(self, text: str, response: Any = None) -> None:
        super().__init__(text[:LONGEST_BODY])
        self.text = text
        self.response = response


@dataclass(frozen=True, slots=True)
class Seen:
    """What could be read from an exception."""

    classes: frozenset[str]
    """Names of the exception's classes and of those it came from."""
    causes: tuple[BaseException, ...]
    """The exception and all that it was made of."""
    answered: bool
    """A server answered, whatever it said."""
    url: str | None
    """The address that was really asked."""
    led_from: str | None
    """The address that was asked first, when it led to another."""
    message: str
    """What the server said, or the client where no server answered."""
    status: int | None
    code: str | None
    headers: dict[str, str]
    body: str | None
    page: bool
    """A web page came, or something else that no model server says."""
    mid_stream: bool
    silent: bool
    """Nothing came for too long."""


def classify(
    exception: BaseException,
    provider: str,
    api_base: str | None = None,
    *,
    refusals: Refusals = "union",
) -> ErrorValue:
    """Return the error value that says what happened and what to do about it.

    ``refusals`` says whose words mean that a request was too long.
    """
    causes = tuple(inside(exception))
    own = next((one for one in causes if isinstance(one, CustomFailure)), None)
    if own is not None and own.final:
        return UnknownError(message=own.message, explained=True)
    seen = read(own or exception)
    if type(exception).__name__ in {"CancelledError", "AbortError"}:
        return AbortedError()
    url = seen.url or api_base
    where = place(provider, url)
    if seen.led_from is not None:
        where = f"{address(seen.led_from)} leads to {where}, which"
    reason = None if seen.answered else unanswered(seen.causes, where, address(api_base), url)
    if reason is not None and not (reason.begun and seen.mid_stream):
        return _unanswered(reason, seen)
    if _is_overflow(seen, refusals):
        return overflow_error(seen.message, refusals, seen.body)
    if _is_auth(seen):
        said = auth_sentence(provider, seen.message, address(url))
        return AuthError(provider=provider, message=said)
    if seen.code in FILTER_CODES or "ContentPolicyViolationError" in seen.classes:
        return ContentFilterError()
    if seen.status is None and not _is_connection(seen) and not passes(seen.message):
        return UnknownError(message=seen.message)
    code = refusal_code(seen.message, seen.code, refusals)
    return ApiError(
        message=_spoken(seen, provider, where, code),
        status=seen.status,
        retryable=_is_retryable(seen, code, refusals),
        headers=seen.headers or None,
        response_body=seen.body,
        metadata={"code": code} if code else None,
    )


def refusal_code(message: str, code: str | None, refusals: Refusals = "union") -> str | None:
    """Return the code that decides about a refusal: its own, or that of one that speaks of money."""
    if code not in HOPELESS_CODES and is_billing(message, refusals):
        return NO_CREDIT
    return code


def overflow_error(
    message: str, refusals: Refusals = "union", body: str | None = None
) -> ContextOverflowError:
    """Return the error of a request that a provider found too long, with the tokens it counted."""
    return ContextOverflowError(
        message=message,
        tokens=observed_tokens(message, refusals),
        compaction_failed=is_compaction_failure(message, refusals),
        response_body=body,
    )


def ended_early(where: str | None = None) -> ApiError:
    """Return the error of a stream that ended without a real finish."""
    heading = f"The stream from {where} ended early" if where else "The stream ended early"
    return ApiError(message=f"{heading}: the provider sent no end of the answer.", retryable=True)


def read(exception: BaseException) -> Seen:
    """Read status, code, message and headers from an exception and those inside it."""
    causes = tuple(inside(exception))
    wrapped = tuple(_wrapped(exception))
    core = wrapped[-1] if type(exception).__name__ == "MidStreamFallbackError" else exception
    mid_stream = core is not exception and not getattr(exception, "is_pre_first_chunk", False)
    response = _response(causes)
    otherwise = next((one for one in causes if isinstance(one, AnsweredOtherwise)), None)
    found = _said(core, response, otherwise)
    status = getattr(response, "status_code", None) if otherwise is None else _told_status(found)
    if response is None and otherwise is None:
        status = _status(core)
        status = None if core is not exception and status == INVENTED_STATUS else status
    message = scrub(found.message)
    nameless = "" if response is not None else type(core).__name__
    return Seen(
        classes=frozenset(
            base.__name__ for item in wrapped for base in type(item).__mro__ if base is not object
        ),
        causes=causes,
        answered=response is not None or otherwise is not None,
        url=_url(causes, response),
        led_from=_first_url(response),
        message=message or nameless,
        status=status,
        code=found.code,
        headers=_headers(causes),
        body=scrub(json.dumps(found.value))[:LONGEST_BODY] if found.value else None,
        page=found.page or (otherwise is not None and found.value is None),
        mid_stream=mid_stream and otherwise is None,
        silent=_is_silent(causes),
    )


def scrub(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Remove everything that looks like a key, and every key of the environment."""
    variables = os.environ if environment is None else environment
    return MASKED_KEY.sub(REDACTED, without_secrets(text, secret_values(variables)))


def _wrapped(exception: BaseException) -> list[BaseException]:
    """Return the exception and, for a break in mid-stream, what it wraps."""
    found: list[BaseException] = []
    current: BaseException | None = exception
    while current is not None and current not in found:
        found.append(current)
        inner = getattr(current, "original_exception", None)
        current = inner if isinstance(inner, BaseException) else None
    return found


def _response(causes: Sequence[BaseException]) -> Any:
    """Return the answer of a server; litellm's own exceptions carry made up ones."""
    for one in reversed(causes):
        names = {base.__name__ for base in type(one).__mro__}
        if names & {"HTTPStatusError", "AnsweredOtherwise"}:
            return getattr(one, "response", None)
    return None


def _url(causes: Sequence[BaseException], response: Any) -> str | None:
    asked = getattr(response, "url", None)
    if asked is not None:
        return str(asked)
    for one in reversed(causes):
        if type(one).__module__.partition(".")[0] == "httpx":
            # A property that raises where no request is known.
            with suppress(RuntimeError):
                return str(one.request.url)  # type: ignore[attr-defined]
    return None


def _first_url(response: Any) -> str | None:
    history = getattr(response, "history", None)
    return str(history[0].url) if history else None


def _said(
    exception: BaseException, response: Any, otherwise: AnsweredOtherwise | None
) -> ErrorBody:
    """Return what the server said, wherever litellm left it."""
    if otherwise is not None:
        return read_body(otherwise.text)
    text: str | None = None
    if response is not None:
        # The body of a stream that nobody read is lost.
        with suppress(Exception):
            text = response.text
    if text is not None:
        return read_body(text) if text.strip() else ErrorBody("")
    body = getattr(exception, "body", None)
    if isinstance(body, dict):
        told = read_body(json.dumps(body, default=str))
        if told.message:
            return told
    return read_body(str(getattr(exception, "message", "") or exception))


def _told_status(found: ErrorBody) -> int | None:
    value = (found.value or {}).get("code")
    number = int(value) if isinstance(value, int | str) and str(value).isdigit() else 0
    return number if number in RETRYABLE_STATUS or SERVER_ERROR <= number < 600 else None


def _status(exception: BaseException) -> int | None:
    for owner in (exception, getattr(exception, "response", None)):
        value = getattr(owner, "status_code", getattr(owner, "status", None))
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return int(value)
    return None


def _headers(causes: Sequence[BaseException]) -> dict[str, str]:
    for item in reversed(causes):
        for name in ("litellm_response_headers", "headers"):
            found = _kept(getattr(item, name, None))
            if found:
                return found
        found = _kept(getattr(getattr(item, "response", None), "headers", None))
        if found:
            return found
    return {}


def _kept(headers: Any) -> dict[str, str]:
    if not hasattr(headers, "items"):
        return {}
    return {str(k).lower(): str(v) for k, v in headers.items() if KEPT_HEADERS.search(str(k))}


def _is_silent(causes: Sequence[BaseException]) -> bool:
    """Look for a read timeout, which litellm renames but which is still what it came from."""
    names = {type(one).__name__ for one in causes}
    return bool(names & SILENT_CLASSES) and "ConnectTimeout" not in names


def _is_overflow(seen: Seen, refusals: Refusals) -> bool:
    # The class is litellm's own guess at the words; a recorded agent goes by its own table only.
    if refusals == "union" and "ContextWindowExceededError" in seen.classes:
        return True
    return is_overflow(seen.message, seen.code, seen.status, refusals)


def _is_auth(seen: Seen) -> bool:
    if seen.status in AUTH_STATUS or seen.code in AUTH_CODES:
        return True
    if any(type(one).__name__ in CREDENTIAL_CLASSES for one in seen.causes):
        return True
    if seen.answered:
        return False
    return "AuthenticationError" in seen.classes or bool(MISSING_KEY.search(seen.message))


def _is_connection(seen: Seen) -> bool:
    names = {
        "APIConnectionError",
        "ConnectionError",
        "ConnectError",
        "TransportError",
        "ClientConnectionError",
        "Timeout",
        "TimeoutError",
        "APITimeoutError",
        "DecodingError",
    }
    return seen.answered or seen.mid_stream or bool(seen.classes & names)


def _unanswered(reason: Unanswered, seen: Seen) -> ApiError:
    return ApiError(
        message=reason.message,
        retryable=reason.passing,
        response_body=seen.message,
        metadata={"code": reason.code},
    )


def _is_retryable(seen: Seen, code: str | None, refusals: Refusals) -> bool:
    if code in HOPELESS_CODES:
        return False
    status = seen.status
    if not seen.answered and (seen.mid_stream or _is_connection(seen)):
        return status is None or status in RETRYABLE_STATUS or status >= SERVER_ERROR
    if status is not None and (status in RETRYABLE_STATUS or status >= SERVER_ERROR):
        return True
    return passes(seen.message) or is_rate_limit(seen.message, refusals)


def _spoken(seen: Seen, provider: str, where: str, code: str | None) -> str:
    if seen.silent and not seen.answered:
        return silent_sentence(provider, where)
    if code in {"insufficient_quota", NO_CREDIT}:
        return money_sentence(provider, where, seen.message, code)
    if seen.mid_stream and seen.status is None:
        return (
            f"The connection to {where} broke in the middle of the answer: {sentence(seen.message)}"
        )
    return refused(where, seen.status, seen.message, seen.code, page=seen.page)
