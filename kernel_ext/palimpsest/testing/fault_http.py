"""The HTTP of the fault server: read requests, send bodies and streams, detect disconnected clients.

It implements only the part of HTTP/1.1 that model clients use; every connection serves one request.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from palimpsest.model.script import Disconnect, EndEarly, Pause
from palimpsest.testing.openai_anthropic_wire import Frame

DISCARDED_BYTES = 1024
"""Bytes that are read at once while a client is watched for its disconnection."""
DISCONNECT_DELAY_SECONDS = 0.02
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"})


@dataclass(slots=True)
class ReceivedRequest:
    """One request that the server received."""

    path: str
    headers: dict[str, str]
    """Headers by lower-case name; those with keys are left out."""
    body: dict[str, Any]
    at: float
    """Arrival time in seconds of the monotonic clock."""
    closed_after: float | None = None
    """Seconds after which the client disconnected before the answer was complete."""
    first_byte_at: float | None = None
    completed: bool = False
    had_key: bool = False
    problems: list[str] = field(default_factory=list)
    """Why the server rejected the request, one sentence for each problem."""
    raw: bytes = field(default=b"", repr=False)


@asynccontextmanager
async def cancel_on_disconnect(
    reader: asyncio.StreamReader, request: ReceivedRequest
) -> AsyncIterator[None]:
    """Cancel the answer when the client disconnects, and record when it did."""
    answer_task = asyncio.current_task()
    assert answer_task is not None

    async def watch() -> None:
        with suppress(ConnectionError):
            while await reader.read(DISCARDED_BYTES):
                pass
        request.closed_after = time.monotonic() - request.at
        answer_task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except ConnectionError:
        request.closed_after = time.monotonic() - request.at
        raise
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest:
    """Read one request; headers with keys are left out."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *header_lines = head.split("\r\n")
    pairs = (line.split(":", 1) for line in header_lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body_bytes = await reader.readexactly(int(headers.get("content-length", "0")))
    public_headers = {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
    body, problems = _parsed_body(body_bytes)
    return ReceivedRequest(
        path=request_line.split(" ")[1].partition("?")[0],
        headers=public_headers,
        body=body,
        at=time.monotonic(),
        had_key=len(public_headers) < len(headers),
        problems=problems,
        raw=body_bytes,
    )


def _parsed_body(body_bytes: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the body, and sentences about why every provider would reject it."""
    try:
        body = json.loads(body_bytes) if body_bytes else {}
    except ValueError:
        return {}, ["The body is no JSON in UTF-8."]
    return (body, []) if isinstance(body, dict) else ({}, ["The body must be an object."])


async def send_json(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    """Send a response with a JSON body."""
    header_lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    header_text = (
        f"HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n{header_lines}\r\n"
    )
    writer.write(header_text.encode() + body)
    await writer.drain()


async def send_stream(
    writer: asyncio.StreamWriter,
    frames: Iterable[Frame],
    drip_seconds: float,
    request: ReceivedRequest,
) -> None:
    """Send frames as chunks, and perform the pauses, disconnects and early ends between them."""
    header_text = (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    writer.write(header_text.encode())
    for frame in frames:
        match frame:
            case bytes():
                request.first_byte_at = request.first_byte_at or time.monotonic()
                writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
                await writer.drain()
                if drip_seconds:
                    await asyncio.sleep(drip_seconds)
            case Pause():
                seconds = frame.seconds
                await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))
            case Disconnect():
                # The client must have read what was sent, since a reset may discard it.
                await asyncio.sleep(DISCONNECT_DELAY_SECONDS)
                writer.transport.abort()
                return
            case EndEarly():
                break
    writer.write(b"0\r\n\r\n")
    await writer.drain()
