"""Convert any exception of a model call to one of the transcript's error values.

The classes that litellm raises are only hints, so the server's real answer decides, which ``exception_details`` reads;
``connection_failures`` finds the reason for no answer, and ``explanations`` writes the message.
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
    address_without_key,
    auth_sentence,
    broken_answer_sentence,
    money_sentence,
    refusal_text,
    server_name,
    silent_sentence,
    unreadable_sentence,
    with_full_stop,
)
from palimpsest.model.errors.overflow_detection import (
    is_billing,
    is_compaction_failure,
    is_overflow,
    is_rate_limit,
    observed_tokens,
)
from palimpsest.model.errors.retry import (
    HOPELESS_CODES,
    MIN_SERVER_ERROR_STATUS,
    NO_CREDIT,
    is_transient,
)
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
    {"API_KEY_INVALID", "UNAUTHENTICATED", "invalid_api_key", "authentication_error"}
    | {"UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"}
    | {"MissingAuthenticationTokenException", "IncompleteSignatureException", "no_db_connection"}
)
"""Error codes that mean a missing or wrong key, with any status. A litellm proxy without a database has one key, and fails
with the last one when it looks up another."""
FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)
MISSING_KEY = re.compile(
    r"missing credentials|api.?key client option must be set|missing .{0,40}api.?key"
    r"|no api.?key|x-api-key header is required|api key not (?:found|valid)|invalid.{0,20}api.?key"
    r"|incorrect api key",
    re.IGNORECASE,
)
CREDENTIAL_CLASSES = frozenset({
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError",
    "ProfileNotFound", "DefaultCredentialsError", "RefreshError",
    "BedrockMissingCredentialsError",
})  # fmt: skip
"""Exceptions that cloud clients raise before they send a request."""


def classify(
    exception: BaseException,
    provider: str,
    api_base: str | None = None,
    *,
    refusals: Refusals = "union",
) -> ErrorValue:
    """Return the error value of an exception, with a message about the failure and its remedy.

    ``refusals`` names the table of messages that mean that a request was too long.
    """
    details = read_exception(exception)
    if type(exception).__name__ in {"CancelledError", "AbortError"}:
        return AbortedError()
    url = details.url or api_base
    server = server_name(provider, url)
    if details.redirected_from is not None:
        server = f"{address_without_key(details.redirected_from)} leads to {server}, which"
    failure = None
    if not details.has_answer:
        failure = connection_failure(details.causes, server, address_without_key(api_base), url)
    if failure is not None and not (failure.may_be_midway and details.mid_stream):
        return ApiError(
            message=failure.message,
            retryable=failure.is_temporary,
            response_body=details.message,
            metadata={"code": failure.code},
        )
    # The class is litellm's guess from the message; a recorded agent's policy uses that agent's table only.
    is_guess = refusals == "union" and "ContextWindowExceededError" in details.classes
    if is_guess or is_overflow(details.message, details.code, details.status, refusals):
        return overflow_error(details.message, refusals, details.body)
    if _is_auth(details):
        messagel_stop = auth_sentence(provider, details.message, address_without_key(url))
        return AuthError(provider=provider, message=messagel_stop)
    if details.code in FILTER_CODES or "ContentPolicyViolationError" in details.classes:
        return ContentFilterError()
    if details.status is None and not _is_connection(details) and not is_transient(details.message):
        return UnknownError(message=details.message)
    code = refusal_code(details.message, details.code, refusals)
    is_temporary = _is_retryable(details, code, refusals)
    return ApiError(
        message=_error_text(details, provider, server, code, is_temporary=is_temporary),
        status=details.status,
        retryable=is_temporary,
        headers=details.headers or None,
        response_body=details.message if details.has_unreadable_event else details.body,
        metadata={"code": code} if code else None,
    )


def refusal_code(message: str, code: str | None, refusals: Refusals = "union") -> str | None:
    """Return the code to classify an error by: its own, or ``no_credit`` if the message is about billing."""
    return NO_CREDIT if code not in HOPELESS_CODES and is_billing(message, refusals) else code


def overflow_error(
    message: str, refusals: Refusals = "union", body: str | None = None
) -> ContextOverflowError:
    """Return the error of a request that a provider refused as too long, with the tokens it counted."""
    return ContextOverflowError(
        message=message,
        tokens=observed_tokens(message, refusals),
        compaction_failed=is_compaction_failure(message, refusals),
        response_body=body,
    )


def early_end_error(server: str | None = None) -> ApiError:
    """Return the error of a stream that ended without a real finish."""
    heading = f"The stream from {server} ended early" if server else "The stream ended early"
    message = f"{heading}: the provider sent no end of the answer. {WAIT}"
    return ApiError(message=message, retryable=True)


def failed_answer_error(server: str, finish: str, detail: str) -> ApiError:
    """Return the error of an answer that the provider itself reported as failed."""
    reason = f"{finish!r}: {detail}" if detail else repr(finish)
    message = f"{with_full_stop(f'{server} ended the answer with {reason}')} {WAIT}"
    return ApiError(message=message, retryable=True)


def _is_auth(details: ExceptionDetails) -> bool:
    if details.status in AUTH_STATUS or details.code in AUTH_CODES:
        return True
    if any(type(cause).__name__ in CREDENTIAL_CLASSES for cause in details.causes):
        return True
    if details.has_answer:
        return False
    return "AuthenticationError" in details.classes or bool(MISSING_KEY.search(details.message))


def _is_connection(details: ExceptionDetails) -> bool:
    names = {
        "APIConnectionError", "ConnectionError", "ConnectError", "TransportError",
        "ClientConnectionError", "Timeout", "TimeoutError", "APITimeoutError", "DecodingError",
    }  # fmt: skip
    return details.has_answer or details.while_streaming or bool(details.classes & names)


def _is_retryable(details: ExceptionDetails, code: str | None, refusals: Refusals) -> bool:
    if code in HOPELESS_CODES:
        return False
    status = details.status
    if not details.has_answer and _is_connection(details):
        return status is None or status in RETRYABLE_STATUS or status >= MIN_SERVER_ERROR_STATUS
    if status is not None and (status in RETRYABLE_STATUS or status >= MIN_SERVER_ERROR_STATUS):
        return True
    return is_transient(details.message) or is_rate_limit(details.message, refusals)


def _error_text(
    details: ExceptionDetails, provider: str, server: str, code: str | None, *, is_temporary: bool
) -> str:
    if details.was_silent and not details.has_answer:
        return silent_sentence(provider, server)
    if code in {"insufficient_quota", "budget_exceeded", NO_CREDIT}:
        return money_sentence(provider, server, details.message, code)
    if details.has_unreadable_event:
        return unreadable_sentence(provider, server)
    if details.mid_stream and details.status is None:
        return broken_answer_sentence(
            server, details.message, connection=details.is_broken_connection
        )
    status, message, is_page = details.status, details.message, details.is_page
    return refusal_text(
        server, status, message, details.code, is_page=is_page, is_temporary=is_temporary
    )
