"""Read captured exchanges from HAR 1.2 files, and from files of claude-tap and claude-trace with one per line.

Only the headers in ``READ_HEADERS`` and an address's host and path are read: keys, cookies and queries are never in a
``CapturedExchange``. Bodies are unpacked within limits; ``unreadable_reason`` says why a body cannot be read.
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

from palimpsest.recordings.reading.archives import MAX_FREE_RATIO_BYTES, MAX_RATIO
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.reading_budget import spend
from palimpsest.recordings.reading.sources import (
    MAX_LINE_BYTES,
    is_too_deep,
    json_lines,
    json_objects,
)
from palimpsest.store.bounded_json import BuildsTooMuch, json_value

HAR_ENTRIES = "log.entries.item"
READ_HEADERS = frozenset(
    {"user-agent", "x-claude-code-session-id", "x-claude-code-agent-id", "session_id"}
)
MAX_HEADER_CHARS = 200
WEBSOCKET_METHOD = "WEBSOCKET"
"""The method of an exchange over a WebSocket, as claude-tap writes it."""
_GZIP_START = b"\x1f\x8b"
_ZLIB_STARTS = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
_ZSTANDARD_STARTS = (b"\x28\xb5\x2f\xfd",)
_UNKNOWN_ENCODINGS = re.compile(r"\b(?:br|zstd)\b")
MAX_GZIP_MEMBERS = 100
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
    unreadable_reason: str = ""
    """Why the body cannot be read, written to follow a colon; empty where it can be."""

    def json(self) -> JsonValue:
        """Return the body as JSON; raises UnreadableBody."""
        if self.unreadable_reason:
            raise UnreadableBody(self.unreadable_reason)
        if self.value is not None:
            return JsonValue(self.value)
        try:
            value = json_value(self.content)
        except BuildsTooMuch as error:
            raise UnreadableBody(too_large(error)) from error
        except (ValueError, RecursionError) as error:
            raise UnreadableBody(NO_JSON) from error
        if is_too_deep(value):
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
    started_ms: int | None = None
    ended_ms: int | None = None


def har_exchanges(path: Path, report: Report) -> Iterator[CapturedExchange]:
    """Yield the entries of a HAR file."""
    for place, entry in json_objects(path, HAR_ENTRIES, report, "entry"):
        request, response = entry.at("request"), entry.at("response")
        started_ms = entry.time_ms("startedDateTime")
        host, url_path = _host_and_path(request.text("url"))
        yield CapturedExchange(
            place,
            _method(request),
            host,
            url_path,
            response.count("status"),
            _body_of_entry(request.at("postData"), request),
            _body_of_entry(response.at("content"), response),
            headers=_read_headers(
                (header.text("name"), header.text("value")) for header in request.objects("headers")
            ),
            started_ms=started_ms,
            ended_ms=_shifted_time(started_ms, entry.integer("time")),
        )


def line_exchanges(path: Path, report: Report) -> Iterator[CapturedExchange]:
    """Yield the exchanges of a file of claude-tap or claude-trace, one per line."""
    for number, line in json_lines(path, report):
        request, response = line.at("request"), line.at("response")
        if not request:
            report(f"line {number}", "It is no captured exchange and was left out.")
            continue
        ended_ms = line.time_ms("timestamp")
        started_ms = _shifted_time(ended_ms, -line.count("duration_ms"))
        if "timestamp" in request:  # a line of claude-trace
            started_ms, ended_ms = request.time_ms("timestamp"), response.time_ms("timestamp")
        host, url_path = _host_and_path(request.text("url") or line.text("upstream_base_url"))
        if path_of_line := request.text("path"):
            url_path = _host_and_path(path_of_line)[1]
        yield CapturedExchange(
            f"line {number}",
            _method(request),
            host,
            url_path,
            response.count("status") or response.count("status_code"),
            _body_of_line(request.get("body")),
            _body_of_line(response.text("body_raw") or response.get("body")),
            tuple(event.get("data") for event in response.objects("sse_events")),
            _read_headers((name, value) for name, value in request.fields("headers").items()),
            started_ms,
            ended_ms,
        )


def too_large(error: BuildsTooMuch) -> str:
    """Return the reason why a body takes too much memory to be read, written to follow a colon."""
    sentence = str(error).removesuffix(", and was left out.")
    return f"{sentence[:1].lower()}{sentence[1:]}"


def _method(request: JsonValue) -> str:
    return request.text("method").upper()[:MAX_HEADER_CHARS]


def _shifted_time(time_ms: int | None, shift_ms: int | None) -> int | None:
    """Return a time moved by ``shift_ms``; None where either is not known."""
    return time_ms if time_ms is None or shift_ms is None else time_ms + shift_ms


def _host_and_path(address: str) -> tuple[str, str]:
    """Return the host and the path of an address: no user, no password, no query."""
    try:
        address_parts = urlsplit(address)
    except ValueError:
        return "", ""
    return address_parts.hostname or "", address_parts.path


def _read_headers(headers: Iterator[tuple[str, Any]]) -> JsonValue:
    return JsonValue(
        {
            name.lower(): JsonValue(value).text()[:MAX_HEADER_CHARS]
            for name, value in headers
            if name.lower() in READ_HEADERS
        }
    )


def _body_of_line(value: Any) -> CapturedBody:
    """Return the body of a line, which is parsed already unless it is a text."""
    if not isinstance(value, str):
        return CapturedBody(value)
    return CapturedBody(content=value.encode("utf-8", "replace"))


def _body_of_entry(content: JsonValue, message: JsonValue) -> CapturedBody:
    """Return the body of a HAR entry, which is a text, or packed bytes as base64."""
    text = content.text("text")
    if content.text("encoding").lower() != "base64":
        return CapturedBody(content=text.encode())
    try:
        packed_bytes = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return CapturedBody(unreadable_reason=BROKEN_BASE64)
    try:
        return CapturedBody(content=unpacked_body(packed_bytes, _content_encoding(message)))
    except UnreadableBody as error:
        return CapturedBody(unreadable_reason=str(error))


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
    is_deflated = "deflate" in encoding and packed_body.startswith(_ZLIB_STARTS)
    if not packed_body.startswith(_GZIP_START) and not is_deflated:
        is_unreadable = packed_body.startswith(_ZSTANDARD_STARTS) or (
            _UNKNOWN_ENCODINGS.search(encoding) and packed_body[:1] not in b"{[de:"
        )
        if is_unreadable:
            raise UnreadableBody(BROKEN_PACKING)
        return packed_body
    max_bytes = min(MAX_LINE_BYTES, max(MAX_FREE_RATIO_BYTES, MAX_RATIO * len(packed_body)))
    content = b""
    remaining_bytes = packed_body
    # A body of gzip may have several members, one after the other.
    for _ in range(MAX_GZIP_MEMBERS):
        decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            piece = decompressor.decompress(remaining_bytes, max_bytes - len(content) + 1)
        except zlib.error as error:
            raise UnreadableBody(BROKEN_PACKING) from error
        spend(len(piece))
        content += piece
        if len(content) > max_bytes:
            raise UnreadableBody(PACKED_TOO_TIGHTLY)
        if not decompressor.eof:
            raise UnreadableBody(BROKEN_PACKING)
        remaining_bytes = decompressor.unused_data
        if not remaining_bytes.startswith(_GZIP_START):
            return content
    raise UnreadableBody(PACKED_TOO_TIGHTLY)
