"""Extract a message for the user and an error code from the body of an error response.

Pure. Every kind of server has its own shape, some wrap another server's error as text, and proxies
often answer with a web page. Neither HTML nor the repr of a Python value is returned as the message.
"""

import ast
import html
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern

MAX_SENTENCE_CHARS = 700
"""Maximum characters of an error for the user; some servers send the whole request back."""
MAX_TITLE_CHARS = 120
"""Maximum characters of a web page's title or text in a message."""
MAX_FIELD_ERRORS = 3
"""Maximum errors of a validator's list that a message has."""
MAX_LEVELS = 6
"""Maximum levels of nested errors that are read."""

MESSAGES = ("message", "Message", "error_message", "errorMessage", "msg", "detail", "details")
"""Fields that hold the message, the most reliable first."""
MORE_MESSAGES = ("error_description", "faultstring", "reason", "title", "error", "errors")
CODES = ("code", "type", "__type", "error_type", "errorcode", "status", "error")
WITHOUT_REASON = lazy_pattern(
    r"^(?:provider returned error|upstream (?:request failed|error)|error|bad request"
    r"|internal server error|request failed.{0,30})\.?$",
    re.IGNORECASE,
)
"""Messages of a gateway about a failure of the server behind it, without the reason."""

PAGE = lazy_pattern(
    r"^\s*(?:<!--.*?-->\s*)?<(?:!doctype|html|head|body|\?xml|center|h1|pre)\b",
    re.IGNORECASE | re.DOTALL,
)
TITLE = lazy_pattern(r"<(title|h1|h2)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
INVISIBLE = lazy_pattern(r"<(script|style|head)\b.*?</\1>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
TAG = lazy_pattern(r"<[/!?]?[A-Za-z][^<>]{0,2000}>")
XML_SENTENCE = lazy_pattern(r"<Message>(.*?)</Message>", re.IGNORECASE | re.DOTALL)

CLASS_PREFIX = lazy_pattern(r"^(?:(?:litellm\.)?[A-Z]\w*(?:Error|Timeout|Exception)\s*:\s*)+")
PROVIDER_PREFIX = lazy_pattern(r"^[A-Za-z]\w*(?:Exception|Error)\s*-\s*")
STATUS_PREFIX = lazy_pattern(r"^Error code: \d+ - ")
LITELLM_ADVICE = lazy_pattern(
    r"\.? Handle with `litellm\.\w+`\.?|\.? ?Received Model Group=.*|\n?Available Model Group Fallbacks=.*"
    r"|\s*LiteLLM Retried: \d+ times.*|\s*LiteLLM: model group .*|\s*model=\S+\. context_window_fallbacks=.*|\s*Traceback \(most recent call last\):\n.*",
    re.DOTALL,
)
OBJECT_REPR = lazy_pattern(
    r"\s*(?:\w+:)?<[\w.]+ object at 0x[0-9a-f]+>|(?<=\w): <\w+(?:Error|Exception|Timeout)[:( ][^<>]{0,2000}>"
)
"""Python's default repr of an object, and the repr of an exception that aiohttp appends to a sentence."""
BYTES_REPR = lazy_pattern(r"^b(['\"])(.*)\1$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The message and code read from a body."""

    message: str
    """Empty where the body has no message."""
    code: str | None = None
    is_page: bool = False
    """Whether the body was a web page, from another kind of server."""
    value: dict[str, Any] | None = None


def read_body(text: str) -> ErrorBody:
    """Return the message and code in a response body, or in an exception's text that contains a body.

    >>> read_body('{"error": {"message": "No such model.", "code": "model_not_found"}}').message
    'No such model.'
    >>> read_body("<html><title>502 Bad Gateway</title></html>").message
    'a web page with the title "502 Bad Gateway"'
    """
    body = _parsed_body(text, 0)
    if not body.message and not body.is_page and parse_object(text) is not None:
        # Without a message the whole body is shown.
        return replace(body, message=_excerpt(text.strip()))
    return body


def server_message(body: str | None, message: str) -> str:
    """Return the server's own message in an error's body, without its address and our advice; else ``message``."""
    return (read_body(body).message if body else "") or message


def _parsed_body(text: str, depth: int) -> ErrorBody:
    # JSON is parsed before any prefix is stripped from the text.
    json_value = parse_object(text) if text.lstrip().startswith(("{", "[")) else None
    if json_value is not None and depth <= MAX_LEVELS:
        return _from_value(json_value, depth)
    text = unwrap_message(text)
    if depth > MAX_LEVELS:
        return ErrorBody(_excerpt(text))
    if PAGE.search(text):
        return _page_body(text)
    value = parse_object(text)
    if value is not None:
        return _from_value(value, depth)
    return ErrorBody(_excerpt(TAG.sub(" ", text)))


def unwrap_message(text: str) -> str:
    """Return a server's own message without the text that litellm and SDKs add around it."""
    text = text.strip()
    earlier_text = None
    while earlier_text != text:
        earlier_text = text
        for prefix in (CLASS_PREFIX, PROVIDER_PREFIX, STATUS_PREFIX):
            text = prefix.sub("", text)
    text = OBJECT_REPR.sub("", LITELLM_ADVICE.sub("", text)).strip()
    match = BYTES_REPR.match(text)
    if match:
        try:
            text = ast.literal_eval(text).decode("utf-8", "replace")
        except (ValueError, SyntaxError, AttributeError):
            text = match[2]
    return text.strip()


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the first object in a text, written as JSON, as a line of a stream or as a Python dict; else None."""
    for object_start in sorted({text.find("{"), text.find("[{")} - {-1}):
        value: Any = None
        try:
            value, _ = json.JSONDecoder().raw_decode(text, object_start)
        except (ValueError, RecursionError):
            try:
                value = ast.literal_eval(text[object_start:].strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, dict)), None)
        if isinstance(value, dict):
            return value
    return None


def _from_value(value: dict[str, Any], depth: int) -> ErrorBody:
    error_value = value.get("error", value.get("fault"))
    if isinstance(error_value, list):
        error_value = next((item for item in error_value if isinstance(item, dict)), error_value)
    if isinstance(error_value, dict) and error_value:
        inner_body = _from_object(error_value, depth)
        outer_code = _code(value)
        if inner_body.code or outer_code == "error":
            return inner_body
        return ErrorBody(inner_body.message, outer_code, value=inner_body.value)
    return _from_object(value, depth)


def _from_object(value: dict[str, Any], depth: int) -> ErrorBody:
    code = _code(value)
    message = _message_text(value, depth)
    upstream = _upstream_error(value, depth)
    if upstream is not None and upstream.message and (not message or WITHOUT_REASON.match(message)):
        return ErrorBody(upstream.message, upstream.code or code, value=upstream.value or value)
    message = unwrap_message(message)
    nested = parse_object(message) if message.startswith(("{", "[{")) else None
    if nested is not None and depth < MAX_LEVELS:
        nested_body = _from_value(nested, depth + 1)
        return ErrorBody(nested_body.message or message, nested_body.code or code, value=value)
    if PAGE.search(message):
        return ErrorBody(_page_body(message).message, code, value=value)
    return ErrorBody(_excerpt(message), code, value=value)


def _upstream_error(value: dict[str, Any], depth: int) -> ErrorBody | None:
    """Return the error of the server behind a gateway, which OpenRouter includes as text."""
    metadata = value.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return _parsed_body(raw, depth + 1) if isinstance(raw, str) and raw.strip() else None


def _message_text(value: dict[str, Any], depth: int) -> str:
    texts = (_field_text(value.get(name), depth) for name in (*MESSAGES, *MORE_MESSAGES))
    return next(filter(None, texts), "")


def _field_text(value: Any, depth: int) -> str:
    """Return the text of a field, which may be a validator's list of errors."""
    if isinstance(value, str):
        return value.strip()
    if depth > MAX_LEVELS:
        return ""
    if isinstance(value, dict):
        return _with_field_name(value, _message_text(value, depth + 1))
    if isinstance(value, list):
        texts = [_field_text(item, depth + 1) for item in value[:MAX_FIELD_ERRORS]]
        return "; ".join(text for text in texts if text)
    return ""


def _with_field_name(value: dict[str, Any], message: str) -> str:
    """Return a validator's message with the name of the field before it."""
    place = value.get("loc")
    if not message or not isinstance(place, list):
        return message
    return f"{'.'.join(str(step) for step in place)}: {message}"


def _code(value: dict[str, Any]) -> str | None:
    details = value.get("details")
    for detail in details if isinstance(details, list) else ():
        # Google's code only repeats the status; the reason is in its details.
        if isinstance(detail, dict) and isinstance(detail.get("reason"), str):
            return str(detail["reason"])
    for name in CODES:
        code = value.get(name)
        if isinstance(code, str) and code and not code.isdigit() and not re.search(r"\s", code):
            return code.rpartition("#")[2]
    return None


def _page_body(text: str) -> ErrorBody:
    message_match = XML_SENTENCE.search(text)
    if message_match:
        return ErrorBody(_excerpt(html.unescape(message_match[1])))
    title = next(
        (plain_title for _, inside in TITLE.findall(text) if (plain_title := _plain_text(inside))),
        "",
    )
    if title:
        return ErrorBody(
            f'a web page with the title "{_excerpt(title, MAX_TITLE_CHARS)}"', is_page=True
        )
    excerpt = _excerpt(_plain_text(INVISIBLE.sub(" ", text)), MAX_TITLE_CHARS)
    message = f'a web page that says "{excerpt}"' if excerpt else "an empty web page"
    return ErrorBody(message, is_page=True)


def _plain_text(text: str) -> str:
    return " ".join(html.unescape(TAG.sub(" ", text)).split())


def _excerpt(text: str, max_chars: int = MAX_SENTENCE_CHARS) -> str:
    text = text.strip()
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"
