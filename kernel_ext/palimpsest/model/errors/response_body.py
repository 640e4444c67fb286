"""Extract a message for the user and an error code from the body of an error response.

Pure. Every kind of server has a shape of its own, several wrap another server's error as text, and
proxies in between often answer with a web page. Neither HTML nor the repr of a Python value is
returned as the message.
"""

import ast
import html
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern

LONGEST_SENTENCE = 700
"""Characters of an error that the user is shown; some servers send the whole request back."""
DEEPEST = 6
"""How many errors may be wrapped in each other."""

MESSAGES = ("message", "Message", "error_message", "errorMessage", "msg", "detail", "details")
"""Fields that hold the message, the most reliable first."""
MORE_MESSAGES = ("error_description", "faultstring", "reason", "title", "error", "errors")
CODES = ("code", "type", "__type", "error_type", "errorcode", "status", "error")
VAGUE = lazy_pattern(
    r"^(?:provider returned error|upstream (?:request failed|error)|error|bad request"
    r"|internal server error|request failed.{0,30})\.?$",
    re.IGNORECASE,
)
"""Messages of a gateway that only say that the server behind it failed."""

PAGE = lazy_pattern(
    r"^\s*(?:<!--.*?-->\s*)?<(?:!doctype|html|head|body|\?xml|center|h1|pre)\b",
    re.IGNORECASE | re.DOTALL,
)
TITLE = lazy_pattern(r"<(title|h1|h2)\b[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
UNSEEN = lazy_pattern(r"<(script|style|head)\b.*?</\1>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
TAG = lazy_pattern(r"<[/!?]?[A-Za-z][^<>]{0,2000}>")
XML_SENTENCE = lazy_pattern(r"<Message>(.*?)</Message>", re.IGNORECASE | re.DOTALL)

CLASS_PREFIX = lazy_pattern(r"^(?:(?:litellm\.)?[A-Z]\w*(?:Error|Timeout|Exception)\s*:\s*)+")
PROVIDER_PREFIX = lazy_pattern(r"^[A-Za-z]\w*(?:Exception|Error)\s*-\s*")
STATUS_PREFIX = lazy_pattern(r"^Error code: \d+ - ")
ADVICE = lazy_pattern(
    r"\.? Handle with `litellm\.\w+`\.?|\.? ?Received Model Group=.*|\n?Available Model Group Fallbacks=.*"
    r"|\s*LiteLLM Retried: \d+ times.*|\s*LiteLLM: model group .*|\s*model=\S+\. context_window_fallbacks=.*|\s*Traceback \(most recent call last\):\n.*",
    re.DOTALL,
)
OBJECT = lazy_pattern(
    r"\s*(?:\w+:)?<[\w.]+ object at 0x[0-9a-f]+>|(?<=\w): <\w+(?:Error|Exception|Timeout)[:( ][^<>]{0,2000}>"
)
"""Python's default repr of an object, and aiohttp's of an exception after the sentence that it caused."""
BYTES = lazy_pattern(r"^b(['\"])(.*)\1$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What was read from a body."""

    message: str
    """The message; empty where the body holds none."""
    code: str | None = None
    page: bool = False
    """It was a web page, so another kind of server answered."""
    value: dict[str, Any] | None = None


def read_body(text: str) -> ErrorBody:
    """Read a body as it came, or the text of an exception that holds one.

    >>> read_body('{"error": {"message": "No such model.", "code": "model_not_found"}}').message
    'No such model.'
    >>> read_body("<html><title>502 Bad Gateway</title></html>").message
    'a web page with the title "502 Bad Gateway"'
    """
    found = _read(text, 0)
    if not found.message and not found.page and parsed(text) is not None:
        # It holds no message, so it is shown as it came.
        return replace(found, message=_short(text.strip()))
    return found


def _read(text: str, depth: int) -> ErrorBody:
    # JSON is parsed before any prefix is stripped from the text.
    whole = parsed(text) if text.lstrip().startswith(("{", "[")) else None
    if whole is not None and depth <= DEEPEST:
        return _from_value(whole, depth)
    text = unwrapped(text)
    if depth > DEEPEST:
        return ErrorBody(_short(text))
    if PAGE.search(text):
        return _page(text)
    value = parsed(text)
    if value is not None:
        return _from_value(value, depth)
    return ErrorBody(_short(TAG.sub(" ", text)))


def unwrapped(text: str) -> str:
    """Strip what litellm and SDKs put around a server's own message."""
    text = text.strip()
    before = None
    while before != text:
        before = text
        for prefix in (CLASS_PREFIX, PROVIDER_PREFIX, STATUS_PREFIX):
            text = prefix.sub("", text)
    text = OBJECT.sub("", ADVICE.sub("", text)).strip()
    found = BYTES.match(text)
    if found:
        try:
            text = ast.literal_eval(text).decode("utf-8", "replace")
        except (ValueError, SyntaxError, AttributeError):
            text = found[2]
    return text.strip()


def parsed(text: str) -> dict[str, Any] | None:
    """Return the object in a text: JSON, a line of a stream, or the repr of a Python dict."""
    for start in sorted({place for one in ("{", "[{") if (place := text.find(one)) >= 0}):
        value: Any = None
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            try:
                value = ast.literal_eval(text[start:].strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
        if isinstance(value, list):
            value = next((one for one in value if isinstance(one, dict)), None)
        if isinstance(value, dict):
            return value
    return None


def _from_value(value: dict[str, Any], depth: int) -> ErrorBody:
    inner = value.get("error", value.get("fault"))
    if isinstance(inner, list):
        inner = next((one for one in inner if isinstance(one, dict)), inner)
    if isinstance(inner, dict) and inner:
        found = _from_object(inner, depth)
        outer = _code(value)
        return (
            found
            if found.code or outer == "error"
            else ErrorBody(found.message, outer, value=found.value)
        )
    return _from_object(value, depth)


def _from_object(value: dict[str, Any], depth: int) -> ErrorBody:
    code = _code(value)
    message = _sentence(value, depth)
    behind = _behind(value, depth)
    if behind is not None and behind.message and (not message or VAGUE.match(message)):
        return ErrorBody(behind.message, behind.code or code, value=behind.value or value)
    message = unwrapped(message)
    nested = parsed(message) if message.startswith(("{", "[{")) else None
    if nested is not None and depth < DEEPEST:
        found = _from_value(nested, depth + 1)
        return ErrorBody(found.message or message, found.code or code, value=value)
    if PAGE.search(message):
        return ErrorBody(_page(message).message, code, value=value)
    return ErrorBody(_short(message), code, value=value)


def _behind(value: dict[str, Any], depth: int) -> ErrorBody | None:
    """Return the error of the server behind a gateway, which OpenRouter keeps as text."""
    metadata = value.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return _read(raw, depth + 1) if isinstance(raw, str) and raw.strip() else None


def _sentence(value: dict[str, Any], depth: int) -> str:
    for name in (*MESSAGES, *MORE_MESSAGES):
        said = _words(value.get(name), depth)
        if said:
            return said
    return ""


def _words(value: Any, depth: int) -> str:
    """Return the text of a field, which may be a validator's list of errors."""
    if isinstance(value, str):
        return value.strip()
    if depth > DEEPEST:
        return ""
    if isinstance(value, dict):
        return _located(value, _sentence(value, depth + 1))
    if isinstance(value, list):
        found = [_words(one, depth + 1) for one in value[:3]]
        return "; ".join(one for one in found if one)
    return ""


def _located(value: dict[str, Any], said: str) -> str:
    """Put the name of the field that a validator's message is about before it."""
    place = value.get("loc")
    if not said or not isinstance(place, list):
        return said
    return f"{'.'.join(str(step) for step in place)}: {said}"


def _code(value: dict[str, Any]) -> str | None:
    details = value.get("details")
    for detail in details if isinstance(details, list) else ():
        # Google's code says no more than the status; the reason is in its details.
        if isinstance(detail, dict) and isinstance(detail.get("reason"), str):
            return str(detail["reason"])
    for name in CODES:
        code = value.get(name)
        if isinstance(code, str) and code and not code.isdigit() and not re.search(r"\s", code):
            return code.rpartition("#")[2]
    return None


def _page(text: str) -> ErrorBody:
    sentence = XML_SENTENCE.search(text)
    if sentence:
        return ErrorBody(_short(html.unescape(sentence[1])))
    title = next((plain for _, inside in TITLE.findall(text) if (plain := _plain(inside))), "")
    if title:
        return ErrorBody(f'a web page with the title "{_short(title, 120)}"', page=True)
    shown = _short(_plain(UNSEEN.sub(" ", text)), 120)
    return ErrorBody(f'a web page that says "{shown}"' if shown else "an empty web page", page=True)


def _plain(text: str) -> str:
    return " ".join(html.unescape(TAG.sub(" ", text)).split())


def _short(text: str, longest: int = LONGEST_SENTENCE) -> str:
    text = text.strip()
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
