"""Convert any exception of a model call to one of the transcript's error values.

The classes that litellm raises are only hints, so the server's real answer decides, which
``exception_details`` reads; ``connection_failures`` finds why there was no answer, and ``explanations``
writes the message.
"""

import re

from palimpsest.model.errors.connection_failures import connection_failure
from palimpsest.model.errors.exception_details import (
    RETRYABLE_STATUS,
    ExceptionDetails,
    read_exception,
)
from palimpsest.model.errors.explanations import (
    WAIT,
    address,
    auth_sentence,
    broken_off,
    money_sentence,
    place,
    refused,
    sentence,
    silent_sentence,
    unreadable_sentence,
)
from palimpsest.model.errors.overflow_detection import (
    is_billing,
    is_compaction_failure,
    is_overflow,
    is_rate_limit,
    observed_tokens,
)
from palimpsest.model.errors.retry import HOPELESS_CODES, NO_CREDIT, SERVER_ERROR, passes
from palimpsest.transcript.context_values.policies import Refusals
from palimpsest.transcript.errors import (
    AbortedError,
    ApiError,
    AuthError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    UnknownError,
)

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
        # A litellm proxy without a database knows one key, and fails when it looks up another.
        "no_db_connection",
        "IncompleteSignatureException",
    }
)
"""Error codes that mean a missing or wrong key, whatever status they come with."""
FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)
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
"""Exceptions that cloud clients raise before they send a request."""


def classify(
    exception: BaseException,
    provider: str,
    api_base: str | None = None,
    *,
    refusals: Refusals = "union",
) -> ErrorValue:
    """Return the error value that says what happened and what to do about it.

    ``refusals`` names the table of messages that mean that a request was too long.
    """
    seen = read_exception(exception)
    if type(exception).__name__ in {"CancelledError", "AbortError"}:
        return AbortedError()
    url = seen.url or api_base
    where = place(provider, url)
    if seen.led_from is not None:
        where = f"{address(seen.led_from)} leads to {where}, which"
    reason = (
        None if seen.answered else connection_failure(seen.causes, where, address(api_base), url)
    )
    if reason is not None and not (reason.begun and seen.mid_stream):
        return ApiError(
            message=reason.message,
            retryable=reason.passing,
            response_body=seen.message,
            metadata={"code": reason.code},
        )
    # The class is litellm's guess from the message; a recorded agent's policy uses that agent's table only.
    guessed = refusals == "union" and "ContextWindowExceededError" in seen.classes
    if guessed or is_overflow(seen.message, seen.code, seen.status, refusals):
        return overflow_error(seen.message, refusals, seen.body)
    if _is_auth(seen):
        said = auth_sentence(provider, seen.message, address(url))
        return AuthError(provider=provider, message=said)
    if seen.code in FILTER_CODES or "ContentPolicyViolationError" in seen.classes:
        return ContentFilterError()
    if seen.status is None and not _is_connection(seen) and not passes(seen.message):
        return UnknownError(message=seen.message)
    code = refusal_code(seen.message, seen.code, refusals)
    passing = _is_retryable(seen, code, refusals)
    return ApiError(
        message=_spoken(seen, provider, where, code, passing=passing),
        status=seen.status,
        retryable=passing,
        headers=seen.headers or None,
        response_body=seen.message if seen.unreadable else seen.body,
        metadata={"code": code} if code else None,
    )


def refusal_code(message: str, code: str | None, refusals: Refusals = "union") -> str | None:
    """Return the code to classify an error by: its own, or ``no_credit`` if the message is about billing."""
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
    message = f"{heading}: the provider sent no end of the answer. {WAIT}"
    return ApiError(message=message, retryable=True)


def ended_badly(where: str, finish: str, told: str) -> ApiError:
    """Return the error of an answer that the provider itself reported as failed."""
    said = f"{finish!r}: {told}" if told else repr(finish)
    message = f"{sentence(f'{where} ended the answer with {said}')} {WAIT}"
    return ApiError(message=message, retryable=True)


def _is_auth(seen: ExceptionDetails) -> bool:
    if seen.status in AUTH_STATUS or seen.code in AUTH_CODES:
        return True
    if any(type(one).__name__ in CREDENTIAL_CLASSES for one in seen.causes):
        return True
    if seen.answered:
        return False
    return "AuthenticationError" in seen.classes or bool(MISSING_KEY.search(seen.message))


def _is_connection(seen: ExceptionDetails) -> bool:
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
    return seen.answered or seen.streamed or bool(seen.classes & names)


def _is_retryable(seen: ExceptionDetails, code: str | None, refusals: Refusals) -> bool:
    if code in HOPELESS_CODES:
        return False
    status = seen.status
    if not seen.answered and _is_connection(seen):
        return status is None or status in RETRYABLE_STATUS or status >= SERVER_ERROR
    if status is not None and (status in RETRYABLE_STATUS or status >= SERVER_ERROR):
        return True
    return passes(seen.message) or is_rate_limit(seen.message, refusals)


def _spoken(
    seen: ExceptionDetails, provider: str, where: str, code: str | None, *, passing: bool
) -> str:
    if seen.silent and not seen.answered:
        return silent_sentence(provider, where)
    if code in {"insufficient_quota", "budget_exceeded", NO_CREDIT}:
        return money_sentence(provider, where, seen.message, code)
    if seen.unreadable:
        return unreadable_sentence(provider, where)
    if seen.mid_stream and seen.status is None:
        return broken_off(where, seen.message, connection=seen.broken)
    return refused(where, seen.status, seen.message, seen.code, page=seen.page, passing=passing)
