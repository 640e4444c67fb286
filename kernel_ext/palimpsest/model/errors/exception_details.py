"""Extract the server's real answer from a model call's exception, or the reason why there was none.

litellm reports a refused connection as status 500, hides retry-after outside the response, and wraps
failures in mid-stream. So exceptions are unwrapped down to those of the HTTP client and of the system. litellm is not imported; names of classes are compared as text.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from palimpsest.model.errors.connection_failures import causes_of
from palimpsest.model.errors.response_body import ErrorBody, read_body
from palimpsest.model.errors.retry import MIN_SERVER_ERROR_STATUS
from palimpsest.transcript.redaction.secret_patterns import REDACTED
from palimpsest.transcript.redaction.secret_patterns import scrub as without_secrets
from palimpsest.transcript.redaction.secret_removal import secret_values

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
KEPT_HEADERS = re.compile(r"retry-after|ratelimit|request-id|^x-should-retry$", re.IGNORECASE)
MASKED_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*]{12,}|\bAIza[A-Za-z0-9_\-*]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._\-]{8,}"
)
"""A wrong key in a provider's message: its beginning and end, with asterisks between."""
MAX_BODY_CHARS = 2_000

TIMEOUT_CLASSES = frozenset({
    "ReadTimeout", "APITimeoutError", "SocketTimeoutError", "Timeout", "WriteTimeout",
    "PoolTimeout", "TimeoutError",
})  # fmt: skip
UNREADABLE_CLASSES = frozenset({
    "KeyError", "IndexError", "TypeError", "AttributeError", "AssertionError", "JSONDecodeError",
    "UnicodeDecodeError", "ValidationError", "StreamTooLong",
})  # fmt: skip
"""Exceptions raised by parsing an event of a stream that is not in the expected format."""
NETWORK_MODULES = frozenset({"httpx", "httpcore", "h11", "h2", "aiohttp"})
FIRST_ERROR_STATUS, STATUS_END = 400, 600
"""The first status of an error, and the first number above all statuses."""
INVENTED_STATUS = 500
"""litellm's status for a failure without a server's status."""


class NotAStream(Exception):
    """A server answered with status 200 but no stream; ``text`` is its answer."""

    def __init__(self, text: str, response: Any = None) -> None:
        super().__init__(text[:MAX_BODY_CHARS])
        self.text = text
        self.response = response


class StreamedError(Exception):
    """A server reported an error inside its stream; ``body`` is the error."""

    def __init__(self, body: Any) -> None:
        self.body = body if isinstance(body, dict) else {"message": str(body)}
        self.message = str(self.body.get("message") or body)
        code = self.body.get("code")
        is_status = isinstance(code, int) and FIRST_ERROR_STATUS <= code < STATUS_END
        self.status_code = code if is_status else None
        super().__init__(self.message[:MAX_BODY_CHARS])


class AnswerInterrupted(Exception):
    """The stream of an answer failed, with the reason in ``original_exception``."""

    def __init__(self, original: Exception, *, is_pre_first_chunk: bool) -> None:
        super().__init__(str(original))
        self.original_exception = original
        self.is_pre_first_chunk = is_pre_first_chunk


INTERRUPTED_CLASSES = frozenset({"AnswerInterrupted", "MidStreamFallbackError"})
"""Exceptions that wrap a failure while an answer was read: ours, and litellm's."""


@dataclass(frozen=True, slots=True)
class ExceptionDetails:
    """The details of a failed request, read from its exception."""

    classes: frozenset[str]
    """Names of the classes of the exception and of those that it wraps."""
    causes: tuple[BaseException, ...]
    """The exception and all its causes."""
    has_answer: bool
    """Whether a server answered at all."""
    url: str | None
    """The address that the request reached."""
    redirected_from: str | None
    """The address of the first request, if it was redirected."""
    message: str
    """The server's message, or the client's where no server answered."""
    status: int | None
    code: str | None
    headers: dict[str, str]
    body: str | None
    is_page: bool
    """Whether the answer was a web page, or anything else that no model server sends."""
    while_streaming: bool
    """Whether the exception was raised while the answer was read, perhaps before its first token."""
    mid_stream: bool
    """Whether the stream failed after its first token."""
    has_unreadable_event: bool
    """Whether an event of the stream could not be read."""
    is_broken_connection: bool
    """Whether the connection broke, at any point."""
    was_silent: bool
    """Whether no data arrived within the timeout."""


def read_exception(exception: BaseException) -> ExceptionDetails:
    """Read status, code, message and headers from an exception and its causes."""
    causes = tuple(causes_of(exception))
    wrapped_errors = tuple(_wrapped_errors(exception))
    is_interrupted = type(exception).__name__ in INTERRUPTED_CLASSES
    unwrapped_error = wrapped_errors[-1] if is_interrupted else exception
    while_streaming = unwrapped_error is not exception
    response = _response(causes)
    not_a_stream = next((cause for cause in causes if isinstance(cause, NotAStream)), None)
    body = _error_body(unwrapped_error, response, not_a_stream)
    if not_a_stream is not None:
        status = _status_in_body(body)
    elif response is not None:
        status = getattr(response, "status_code", None)
    else:
        status = _status(unwrapped_error)
        status = None if while_streaming and status == INVENTED_STATUS else status
    message = scrub(body.message)
    redirects = getattr(response, "history", None)
    class_name = "" if response is not None else type(unwrapped_error).__name__
    return ExceptionDetails(
        classes=frozenset(
            base.__name__ for error in wrapped_errors for base in type(error).__mro__[:-1]
        ),
        causes=causes,
        has_answer=response is not None or not_a_stream is not None,
        url=_url(causes, response),
        redirected_from=str(redirects[0].url) if redirects else None,
        message=message or class_name,
        status=status,
        code=body.code,
        headers=_headers(causes),
        body=scrub(json.dumps(body.value))[:MAX_BODY_CHARS] if body.value else None,
        is_page=body.is_page or (not_a_stream is not None and body.value is None),
        while_streaming=while_streaming,
        mid_stream=while_streaming
        and not_a_stream is None
        and not getattr(exception, "is_pre_first_chunk", False),
        has_unreadable_event=while_streaming and not_a_stream is None and _is_unreadable(causes),
        is_broken_connection=any(_is_network_error(cause) for cause in causes),
        was_silent=_has_timed_out(causes),
    )


def scrub(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return text without everything that looks like a key, and without the environment's keys."""
    variables = os.environ if environment is None else environment
    return MASKED_KEY.sub(REDACTED, without_secrets(text, secret_values(variables)))


def _wrapped_errors(exception: BaseException) -> list[BaseException]:
    errors: list[BaseException] = []
    current: BaseException | None = exception
    while current is not None and current not in errors:
        errors.append(current)
        inner = getattr(current, "original_exception", None)
        current = inner if isinstance(inner, BaseException) else None
    return errors


def _response(causes: Sequence[BaseException]) -> Any:
    """Return a server's real response; litellm's own exceptions carry made-up ones."""
    for cause in reversed(causes):
        names = {base.__name__ for base in type(cause).__mro__}
        if names & {"HTTPStatusError", "NotAStream"}:
            return getattr(cause, "response", None)
    return None


def _url(causes: Sequence[BaseException], response: Any) -> str | None:
    url = getattr(response, "url", None)
    if url is not None:
        return str(url)
    for cause in reversed(causes):
        if type(cause).__module__.partition(".")[0] == "httpx":
            # A property that raises where no request is known.
            with suppress(RuntimeError):
                return str(cause.request.url)  # type: ignore[attr-defined]
    return None


def _error_body(
    exception: BaseException, response: Any, not_a_stream: NotAStream | None
) -> ErrorBody:
    """Return the body of the server's error, from any place where litellm puts it."""
    if not_a_stream is not None:
        return read_body(not_a_stream.text)
    text: str | None = None
    if response is not None:
        # The body of a stream that was not read is lost.
        with suppress(Exception):
            text = response.text
    if text is not None:
        return read_body(text) if text.strip() else ErrorBody("")
    body = getattr(exception, "body", None)
    if isinstance(body, dict):
        parsed_body = read_body(json.dumps(body, default=str))
        if parsed_body.message:
            return parsed_body
    return read_body(str(getattr(exception, "message", "") or exception))


def _status_in_body(body: ErrorBody) -> int | None:
    value = (body.value or {}).get("code")
    number = int(value) if isinstance(value, int | str) and str(value).isdigit() else 0
    return (
        number
        if number in RETRYABLE_STATUS or MIN_SERVER_ERROR_STATUS <= number < STATUS_END
        else None
    )


def _status(exception: BaseException) -> int | None:
    for owner in (exception, getattr(exception, "response", None)):
        value = getattr(owner, "status_code", getattr(owner, "status", None))
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return int(value)
    return None


def _headers(causes: Sequence[BaseException]) -> dict[str, str]:
    for cause in reversed(causes):
        names = ("litellm_response_headers", "headers")
        candidates = [getattr(cause, name, None) for name in names]
        candidates.append(getattr(getattr(cause, "response", None), "headers", None))
        if headers := next(filter(None, map(_kept_headers, candidates)), None):
            return headers
    return {}


def _kept_headers(headers: Any) -> dict[str, str]:
    if not hasattr(headers, "items"):
        return {}
    return {str(k).lower(): str(v) for k, v in headers.items() if KEPT_HEADERS.search(str(k))}


def _is_network_error(exception: BaseException) -> bool:
    module = type(exception).__module__.partition(".")[0]
    return isinstance(exception, OSError) or module in NETWORK_MODULES


def _is_unreadable(causes: Sequence[BaseException]) -> bool:
    has_class = any(type(cause).__name__ in UNREADABLE_CLASSES for cause in causes)
    return has_class and not any(_is_network_error(cause) for cause in causes)


def _has_timed_out(causes: Sequence[BaseException]) -> bool:
    """Return whether a read timeout is among the causes; litellm wraps it in a class of another name."""
    names = {type(cause).__name__ for cause in causes}
    return bool(names & TIMEOUT_CLASSES) and "ConnectTimeout" not in names
