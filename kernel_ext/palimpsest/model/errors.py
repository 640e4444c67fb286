"""Turn whatever went wrong in a model call into one of the transcript's error values.

The classes that litellm raises are only hints: it calls a refused connection status 500, hides
retry-after outside the response, and wraps what broke in mid-stream (spec/model-and-store.md
A4). So an exception is unwrapped, read for status, code, message and headers, and then judged.
Nothing here imports litellm; names of classes are compared as text.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.model.custom import CustomFailure
from palimpsest.model.overflow import (
    is_billing,
    is_compaction_failure,
    is_overflow,
    is_rate_limit,
    observed_tokens,
)
from palimpsest.model.providers import key_variable
from palimpsest.model.retry import HOPELESS_CODES, NO_CREDIT, SERVER_ERROR, passes
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
KEPT_HEADERS = re.compile(r"retry-after|ratelimit|request-id|^x-should-retry$", re.IGNORECASE)
MISSING_KEY = re.compile(
    r"missing credentials|api.?key client option must be set|missing .{0,40}api.?key"
    r"|no api.?key|x-api-key header is required|api key not (?:found|valid)|invalid.{0,20}api.?key"
    r"|incorrect api key",
    re.IGNORECASE,
)
REFUSED = re.compile(
    r"connection error|cannot connect|connection refused|all connection attempts failed"
    r"|name or service not known|nodename nor servname|getaddrinfo",
    re.IGNORECASE,
)
LOOPBACK = re.compile(r"//(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?::\d+)?")
MASKED_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*]{12,}|\bAIza[A-Za-z0-9_\-*]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._\-]{8,}"
)
"""What providers repeat of a wrong key: its beginning and end, stars between."""
LONGEST_BODY = 2_000

CLASS_PREFIX = re.compile(r"^(?:(?:litellm\.)?[A-Z]\w*(?:Error|Timeout)\s*:\s*)+")
PROVIDER_PREFIX = re.compile(r"^[A-Za-z]\w*Exception\s*-\s*")
STATUS_PREFIX = re.compile(r"^Error code: \d+ - ")
ADVICE_SUFFIX = re.compile(r"\.? Handle with `litellm\.\w+`\.?")
SILENCE = re.compile(r"timeout on reading|timed? ?out|read ?timeout", re.IGNORECASE)
SILENT_CLASSES = frozenset({"ReadTimeout", "APITimeoutError", "SocketTimeoutError", "Timeout"})
INVENTED_STATUS = 500
"""What litellm calls a failure to which no server gave a status."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What could be read from an exception."""

    classes: frozenset[str]
    """Names of the exception's classes and of those it came from."""
    message: str
    status: int | None
    code: str | None
    headers: dict[str, str]
    body: str | None
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
    own = _own_failure(exception)
    if own is not None and own.final:
        return UnknownError(message=own.message, explained=True)
    seen = read(own or exception)
    if seen.classes & {"CancelledError", "AbortError"}:
        return AbortedError()
    if _is_overflow(seen, refusals):
        return overflow_error(seen.message, refusals, seen.body)
    if _is_auth(seen):
        return AuthError(provider=provider, message=auth_sentence(provider, seen.message))
    if "ContentPolicyViolationError" in seen.classes:
        return ContentFilterError()
    if _is_refused(seen):
        return _refused(seen, provider, api_base)
    if seen.status is None and not _is_connection(seen) and not passes(seen.message):
        return UnknownError(message=seen.message)
    code = refusal_code(seen.message, seen.code, refusals)
    return ApiError(
        message=_spoken(seen, provider, code),
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


def _own_failure(exception: BaseException) -> CustomFailure | None:
    """Return the failure of a model of our own; litellm wraps it as one without a status."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exception]
    while waiting:
        current = waiting.pop()
        if isinstance(current, CustomFailure):
            return current
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            inner = getattr(current, "original_exception", None)
            waiting += [current.__cause__, current.__context__]
            waiting += [inner] if isinstance(inner, BaseException) else []
    return None


def auth_sentence(provider: str, detail: str = "") -> str:
    """Say which environment variable holds the key of a provider."""
    variable = key_variable(provider)
    said = f" ({provider} said: {detail})" if detail else ""
    return (
        f"The provider {provider!r} wants a key that is missing or wrong. Set the environment "
        f"variable {variable} to your key before the kernel starts, and restart the kernel.{said}"
    )


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


def ended_early() -> ApiError:
    """Return the error of a stream that ended without a real finish."""
    return ApiError(
        message="The stream ended early: the provider sent no end of the answer.", retryable=True
    )


def read(exception: BaseException) -> Seen:
    """Read status, code, message and headers from an exception and those inside it."""
    chain = tuple(_chain(exception))
    core = chain[-1] if type(exception).__name__ == "MidStreamFallbackError" else exception
    mid_stream = core is not exception
    status = _status(core)
    body = _body(core)
    message = scrub(_message(core, body))
    return Seen(
        classes=frozenset(
            base.__name__ for item in chain for base in type(item).__mro__ if base is not object
        ),
        message=message or type(core).__name__,
        status=None if mid_stream and status == INVENTED_STATUS else status,
        code=_code(body),
        headers=_headers(chain),
        body=scrub(json.dumps(body))[:LONGEST_BODY] if body else None,
        mid_stream=mid_stream,
        silent=_is_silent(exception, message),
    )


def scrub(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Remove everything that looks like a key, and every key of the environment."""
    variables = os.environ if environment is None else environment
    return MASKED_KEY.sub(REDACTED, without_secrets(text, secret_values(variables)))


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """Yield the exception and, for a break in mid-stream, what it wraps."""
    seen: set[int] = set()
    current: BaseException | None = exception
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        inner = getattr(current, "original_exception", None)
        current = inner if isinstance(inner, BaseException) else None


def _status(exception: BaseException) -> int | None:
    for owner in (exception, getattr(exception, "response", None)):
        value = getattr(owner, "status_code", getattr(owner, "status", None))
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return int(value)
    return None


def _headers(chain: tuple[BaseException, ...]) -> dict[str, str]:
    for item in reversed(chain):
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


def _body(exception: BaseException) -> dict[str, Any] | None:
    """Return the provider's error object, wherever litellm left it."""
    body = getattr(exception, "body", None)
    if isinstance(body, dict):
        inner = body.get("error")
        return inner if isinstance(inner, dict) else body
    text = str(getattr(exception, "message", "") or exception)
    return _json_in(text)


def _json_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:].replace("\\'", "'"))
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    inner = value.get("error")
    return inner if isinstance(inner, dict) else value


def _message(exception: BaseException, body: dict[str, Any] | None) -> str:
    told = body.get("message") if body else None
    if isinstance(told, str) and told:
        return told
    text = str(getattr(exception, "message", "") or exception).strip()
    for prefix in (CLASS_PREFIX, PROVIDER_PREFIX, CLASS_PREFIX, STATUS_PREFIX):
        text = prefix.sub("", text)
    return ADVICE_SUFFIX.sub("", text)


def _code(body: dict[str, Any] | None) -> str | None:
    if body is None:
        return None
    for name in ("code", "type"):
        value = body.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def _is_silent(exception: BaseException, message: str) -> bool:
    """Look for a read timeout, which litellm renames but which is still what it came from."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exception]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if type(current).__name__ in SILENT_CLASSES:
            return True
        waiting += [current.__cause__, current.__context__]
    return bool(SILENCE.search(message))


def _is_overflow(seen: Seen, refusals: Refusals) -> bool:
    # The class is litellm's own guess at the words; a recorded agent goes by its own table only.
    if refusals == "union" and "ContextWindowExceededError" in seen.classes:
        return True
    return is_overflow(seen.message, seen.code, seen.status, refusals)


def _is_auth(seen: Seen) -> bool:
    if seen.status in AUTH_STATUS or "AuthenticationError" in seen.classes:
        return True
    return bool(MISSING_KEY.search(seen.message))


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
    return seen.mid_stream or bool(seen.classes & names)


def _is_refused(seen: Seen) -> bool:
    return not seen.mid_stream and bool(REFUSED.search(seen.message))


def _refused(seen: Seen, provider: str, api_base: str | None) -> ApiError:
    where = api_base or provider
    if api_base and LOOPBACK.search(api_base):
        message = (
            f"The model server at {where} is not running. Start it (for Ollama: `ollama serve`), "
            f"or choose another model."
        )
        return ApiError(
            message=message, response_body=seen.message, metadata={"code": "not_running"}
        )
    message = f"The provider at {where} cannot be reached: {seen.message}"
    return ApiError(message=message, retryable=True, response_body=seen.message)


def _is_retryable(seen: Seen, code: str | None, refusals: Refusals) -> bool:
    if code in HOPELESS_CODES:
        return False
    if seen.mid_stream or _is_connection(seen):
        return seen.status is None or seen.status in RETRYABLE_STATUS or seen.status >= SERVER_ERROR
    status = seen.status or 0
    if status in RETRYABLE_STATUS or status >= SERVER_ERROR:
        return True
    return passes(seen.message) or is_rate_limit(seen.message, refusals)


def _spoken(seen: Seen, provider: str, code: str | None) -> str:
    if seen.silent:
        return f"The provider {provider!r} said nothing for too long, so the request was given up."
    if code == "insufficient_quota":
        return f"The account at {provider!r} has no quota left: {seen.message}"
    if code == NO_CREDIT:
        return (
            f"The account at {provider!r} has no credit left. Add some there, or choose another model"
            f" with --model. ({provider} said: {seen.message})"
        )
    if seen.mid_stream and seen.status is None:
        return f"The connection broke in the middle of the answer: {seen.message}"
    return seen.message
