"""Read captured exchanges from HAR 1.2 files, and from files of claude-tap and claude-trace with one per line.

Only the headers in ``READ_HEADERS`` and an address's host and path are read: keys, cookies and queries are never in a
``CapturedExchange``. Bodies are unpacked within limits; ``problem`` says why one cannot be read.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from palimpsest.recordings.reading.archives import MAX_RATIO, SMALL_BYTES
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.reading_budget import spend
from palimpsest.recordings.reading.sources import MAX_LINE_BYTES, json_lines, json_objects, too_deep
from palimpsest.store.bounded_json import BuildsTooMuch, json_value

HAR_ENTRIES = "log.entries.item"
READ_HEADERS = frozenset(
    {"user-agent", "x-claude-code-session-id", "x-claude-code-agent-id", "session_id"}
)
MAX_HEADER_CHARS = 200
WEBSOCKET = "WEBSOCKET"
"""The method of an exchange over a WebSocket, as claude-tap writes it."""
_GZIP_START = b"\x1f\x8b"
_ZLIB_HEADS = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
_UNKNOWN_HEADS = (b"\x28\xb5\x2f\xfd",)
_UNKNOWN_ENCODINGS = re.compile(r"\b(?:br|zstd)\b")
MAX_MEMBERS = 100
"""Maximum number of members of one body of gzip."""
BROKEN_BASE64 = "its base64 is broken"
PACKED_TOO_TIGHTLY = "it would unpack to more than is believed"
BROKEN_PACKING = "it is damaged or packed in an unknown way"
NO_JSON = "it is no JSON"
TOO_DEEP = "it is nested too deeply"


class UnreadableBody(ValueError):
    """Raised for a body that cannot be read; the message is the reason, written to follow a colon."""


@dataclass(frozen=True, slots=True)
class CapturedBody:
    """The body of a request or an answer, before it is parsed."""

    value: Any = None
    """The parsed body, where the capture has it as JSON."""
    content: bytes = b""
    """The body as bytes, where the capture has it as text."""
    problem: str = ""
    """Why it cannot be read."""

    def json(self) -> JsonValue:
        """Return the body as JSON; raises UnreadableBody."""
        if self.problem:
            raise UnreadableBody(self.problem)
        if self.value is not None:
            return JsonValue(self.value)
        try:
            value = json_value(self.content)
        except BuildsTooMuch as error:
            raise UnreadableBody(too_large(error)) from error
        except (ValueError, RecursionError) as error:
            raise UnreadableBody(NO_JSON) from error
        if too_deep(value):
            raise UnreadableBody(TOO_DEEP)
        return JsonValue(value)


@dataclass(frozen=True, slots=True)
class CapturedExchange:
    """One request with its answer, without anything that could be a key."""

    place: str
    method: str
    host: str
    path: str
    status: int
    request: CapturedBody
    response: CapturedBody
    events: tuple[Any, ...] = ()
    """The parsed events of a streamed answer, where the capture has them in this form."""
    headers: JsonValue = NO_VALUE
    """The request's headers in ``READ_HEADERS``, by their names in lower case."""
    started: int | None = None
    ended: int | None = None


def har_exchanges(path: Path, report: Report) -> Iterator[CapturedExchange]:
    """Yield the entries of a HAR file."""
    for place, entry in json_objects(path, HAR_ENTRIES, report, "entry"):
        request, response = entry.at("request"), entry.at("response")
        started = entry.time_ms("startedDateTime")
        host, url_path = _host_and_path(request.text("url"))
        yield CapturedExchange(
            place,
            _method(request),
            host,
            url_path,
            response.count("status"),
            _text_body(request.at("postData"), request),
            _text_body(response.at("content"), response),
            headers=_read_headers(
                (header.text("name"), header.text("value")) for header in request.objects("headers")
            ),
            started=started,
            ended=_shifted_time(started, entry.integer("time")),
        )


def line_exchanges(path: Path, report: Report) -> Iterator[CapturedExchange]:
    """Yield the exchanges of a file of claude-tap or claude-trace, one per line."""
    for number, line in json_lines(path, report):
        request, response = line.at("request"), line.at("response")
        if not request:
            report(f"line {number}", "It is no captured exchange and was left out.")
            continue
        ended = line.time_ms("timestamp")
        started = _shifted_time(ended, -line.count("duration_ms"))
        if "timestamp" in request:  # a line of claude-trace
            started, ended = request.time_ms("timestamp"), response.time_ms("timestamp")
        host, url_path = _host_and_path(request.text("url") or line.text("upstream_base_url"))
        if path_of_line := request.text("path"):
            url_path = _host_and_path(path_of_line)[1]
        yield CapturedExchange(
            f"line {number}",
            _method(request),
            host,
            url_path,
            response.count("status") or response.count("status_code"),
            _value_body(request.get("body")),
            _value_body(response.text("body_raw") or response.get("body")),
            tuple(event.get("data") for event in response.objects("sse_events")),
            _read_headers((name, value) for name, value in request.fields("headers").items()),
            started,
            ended,
        )


def too_large(error: BuildsTooMuch) -> str:
    """Return the reason why a body takes too much memory to be read, written to follow a colon."""
    sentence = str(error).removesuffix(", and was left out.")
    return f"{sentence[:1].lower()}{sentence[1:]}"


def _method(request: JsonValue) -> str:
    return request.text("method").upper()[:MAX_HEADER_CHARS]


def _shifted_time(moment: int | None, milliseconds: int | None) -> int | None:
    """Return the time that is a number of milliseconds after a moment, or before it where the number is negative."""
    return moment if moment is None or milliseconds is None else moment + milliseconds


def _host_and_path(address: str) -> tuple[str, str]:
    """Return the host and the path of an address: no user, no password, no query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.hostname or "", parts.path


def _read_headers(headers: Iterator[tuple[str, Any]]) -> JsonValue:
    return JsonValue(
        {
            name.lower(): JsonValue(value).text()[:MAX_HEADER_CHARS]
            for name, value in headers
            if name.lower() in READ_HEADERS
        }
    )


def _value_body(value: Any) -> CapturedBody:
    """Return the body of a line, which is parsed already unless it is a text."""
    if not isinstance(value, str):
        return CapturedBody(value)
    return CapturedBody(content=value.encode("utf-8", "replace"))


def _text_body(content: JsonValue, message: JsonValue) -> CapturedBody:
    """Return the body of a HAR entry, which is a text, or packed bytes as base64."""
    text = content.text("text")
    if content.text("encoding").lower() != "base64":
        return CapturedBody(content=text.encode())
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return CapturedBody(problem=BROKEN_BASE64)
    try:
        return CapturedBody(content=unpacked_body(packed, _content_encoding(message)))
    except UnreadableBody as error:
        return CapturedBody(problem=str(error))


def _content_encoding(message: JsonValue) -> str:
    headers = message.objects("headers")
    encodings = (
        header.text("value").lower()
        for header in headers
        if header.text("name").lower() == "content-encoding"
    )
    return next(encodings, "")


def unpacked_body(packed_body: bytes, encoding: str = "") -> bytes:
    """Return the unpacked bytes of a body, within limits, or bytes that are not packed; raises UnreadableBody."""
    is_deflated = "deflate" in encoding and packed_body.startswith(_ZLIB_HEADS)
    if not packed_body.startswith(_GZIP_START) and not is_deflated:
        is_unreadable = packed_body.startswith(_UNKNOWN_HEADS) or (
            _UNKNOWN_ENCODINGS.search(encoding) and packed_body[:1] not in b"{[de:"
        )
        if is_unreadable:
            raise UnreadableBody(BROKEN_PACKING)
        return packed_body
    max_bytes = min(MAX_LINE_BYTES, max(SMALL_BYTES, MAX_RATIO * len(packed_body)))
    content = b""
    remaining_bytes = packed_body
    # A body of gzip may have several members, one after the other.
    for _ in range(MAX_MEMBERS):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            piece = unpacker.decompress(remaining_bytes, max_bytes - len(content) + 1)
        except zlib.error as error:
            raise UnreadableBody(BROKEN_PACKING) from error
        spend(len(piece))
        content += piece
        if len(content) > max_bytes:
            raise UnreadableBody(PACKED_TOO_TIGHTLY)
        if not unpacker.eof:
            raise UnreadableBody(BROKEN_PACKING)
        remaining_bytes = unpacker.unused_data
        if not remaining_bytes.startswith(_GZIP_START):
            return content
    raise UnreadableBody(PACKED_TOO_TIGHTLY)
