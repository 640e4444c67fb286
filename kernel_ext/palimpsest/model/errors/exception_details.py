"""Extract from a model call's exception what the server really answered, or why there was no answer.

litellm reports a refused connection as status 500, hides retry-after outside the response, and wraps
failures in mid-stream (spec/model-and-store.md A4). So an exception is unwrapped down to those of the HTTP
client and of the system. Nothing here imports litellm; names of classes are compared as text.
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
from palimpsest.model.errors.retry import SERVER_ERROR
from palimpsest.transcript.redaction.secret_patterns import REDACTED
from palimpsest.transcript.redaction.secret_patterns import scrub as without_secrets
from palimpsest.transcript.redaction.secret_removal import secret_values

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
KEPT_HEADERS = re.compile(r"retry-after|ratelimit|request-id|^x-should-retry$", re.IGNORECASE)
MASKED_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][A-Za-z0-9_\-*]{12,}|\bAIza[A-Za-z0-9_\-*]{20,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._\-]{8,}"
)
"""A wrong key as providers repeat it: its beginning and end, with asterisks between."""
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
UNREADABLE_CLASSES = frozenset(
    {
        "KeyError",
        "IndexError",
        "TypeError",
        "AttributeError",
        "AssertionError",
        "JSONDecodeError",
        "UnicodeDecodeError",
        "ValidationError",
        "StreamTooLong",
    }
)
"""Exceptions raised by parsing an event of a stream that is not in the expected format."""
NETWORK_MODULES = frozenset({"httpx", "httpcore", "h11", "h2", "aiohttp"})
CLIENT_ERROR, LAST_STATUS = 400, 600
"""The first status of an error, and what all are below."""
INVENTED_STATUS = 500
"""The status that litellm gives to a failure that has none from a server."""


class NotAStream(Exception):
    """A server answered with status 200 but no stream; ``text`` is what it sent."""

    def __init__(self, text: str, response: Any = None) -> None:
        super().__init__(text[:LONGEST_BODY])
        self.text = text
        self.response = response


class StreamedError(Exception):
    """A server reported an error inside its stream; ``body`` is what it sent of it."""

    def __init__(self, body: Any) -> None:
        self.body = body if isinstance(body, dict) else {"message": str(body)}
        self.message = str(self.body.get("message") or body)
        code = self.body.get("code")
        is_status = isinstance(code, int) and CLIENT_ERROR <= code < LAST_STATUS
        self.status_code = code if is_status else None
        super().__init__(self.message[:LONGEST_BODY])


class AnswerInterrupted(Exception):
    """The stream of an answer failed; ``original_exception`` says how."""

    def __init__(self, original: Exception, *, is_pre_first_chunk: bool) -> None:
        super().__init__(str(original))
        self.original_exception = original
        self.is_pre_first_chunk = is_pre_first_chunk


INTERRUPTED_CLASSES = frozenset({"AnswerInterrupted", "MidStreamFallbackError"})
"""Exceptions around what failed while an answer was read: ours, and litellm's."""


@dataclass(frozen=True, slots=True)
class ExceptionDetails:
    """What could be read from an exception."""

    classes: frozenset[str]
    """Names of the exception's classes and of those it came from."""
    causes: tuple[BaseException, ...]
    """The exception and all its causes."""
    answered: bool
    """A server answered, whatever it said."""
    url: str | None
    """The address to which the request really went."""
    led_from: str | None
    """The address of the first request, when it redirected to another."""
    message: str
    """The server's message, or the client's where no server answered."""
    status: int | None
    code: str | None
    headers: dict[str, str]
    body: str | None
    page: bool
    """The answer was a web page, or something else that no model server sends."""
    streamed: bool
    """It was raised while the answer was read, perhaps before its first token."""
    mid_stream: bool
    unreadable: bool
    """An event of the stream could not be read."""
    broken: bool
    """The connection broke, at any point."""
    silent: bool
    """No data arrived within the timeout."""


def read_exception(exception: BaseException) -> ExceptionDetails:
    """Read status, code, message and headers from an exception and those inside it."""
    causes = tuple(causes_of(exception))
    wrapped = tuple(_wrapped(exception))
    core = wrapped[-1] if type(exception).__name__ in INTERRUPTED_CLASSES else exception
    mid_stream = core is not exception and not getattr(exception, "is_pre_first_chunk", False)
    response = _response(causes)
    otherwise = next((one for one in causes if isinstance(one, NotAStream)), None)
    found = _said(core, response, otherwise)
    status = getattr(response, "status_code", None) if otherwise is None else _told_status(found)
    if response is None and otherwise is None:
        status = _status(core)
        status = None if core is not exception and status == INVENTED_STATUS else status
    message = scrub(found.message)
    history = getattr(response, "history", None)
    nameless = "" if response is not None else type(core).__name__
    return ExceptionDetails(
        classes=frozenset(
            base.__name__ for item in wrapped for base in type(item).__mro__ if base is not object
        ),
        causes=causes,
        answered=response is not None or otherwise is not None,
        url=_url(causes, response),
        led_from=str(history[0].url) if history else None,
        message=message or nameless,
        status=status,
        code=found.code,
        headers=_headers(causes),
        body=scrub(json.dumps(found.value))[:LONGEST_BODY] if found.value else None,
        page=found.page or (otherwise is not None and found.value is None),
        streamed=core is not exception,
        mid_stream=mid_stream and otherwise is None,
        unreadable=core is not exception and otherwise is None and _is_unreadable(causes),
        broken=any(_is_of_network(one) for one in causes),
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
    """Return a server's real response; litellm's own exceptions carry made-up ones."""
    for one in reversed(causes):
        names = {base.__name__ for base in type(one).__mro__}
        if names & {"HTTPStatusError", "NotAStream"}:
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


def _said(exception: BaseException, response: Any, otherwise: NotAStream | None) -> ErrorBody:
    """Return the body of the server's error, wherever litellm left it."""
    if otherwise is not None:
        return read_body(otherwise.text)
    text: str | None = None
    if response is not None:
        # The body of a stream that was not read is lost.
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


def _is_of_network(exception: BaseException) -> bool:
    module = type(exception).__module__.partition(".")[0]
    return isinstance(exception, OSError) or module in NETWORK_MODULES


def _is_unreadable(causes: Sequence[BaseException]) -> bool:
    if any(_is_of_network(one) for one in causes):
        return False
    return any(type(one).__name__ in UNREADABLE_CLASSES for one in causes)


def _is_silent(causes: Sequence[BaseException]) -> bool:
    """Tell whether a read timeout is among the causes; litellm renames it on the outside."""
    names = {type(one).__name__ for one in causes}
    return bool(names & SILENT_CLASSES) and "ConnectTimeout" not in names
