"""A loopback server that sends given bytes, so that a test can imitate any server, even without HTTP."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Self

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
FIRST_TLS_BYTE = b"\x16"


def answer(
    body: str | bytes,
    *,
    status: int = 200,
    kind: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Return a complete HTTP response."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Answered", f"content-type: {kind}"]
    lines += [f"content-length: {len(content)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


@asynccontextmanager
async def serving(*answers: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Answer each connection with the next bytes, the last repeatedly; yields ``127.0.0.1:port``."""
    waiting = list(answers)
    serving_now: set[asyncio.Task[None]] = set()
    reading: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving_now.add(task)
        reading.add(task)
        task.add_done_callback(serving_now.discard)
        task.add_done_callback(reading.discard)
        try:
            # A task that ends as cancelled is logged by asyncio as an error of a callback.
            with suppress(
                ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError
            ):
                await _read(reader)
                reading.discard(task)
                writer.write(waiting.pop(0) if len(waiting) > 1 else waiting[0])
                await writer.drain()
        finally:
            writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in reading:  # clients that sent no complete request
            task.cancel()
        await asyncio.gather(*serving_now, return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> None:
    """Read a request; a client that expects TLS from a plain server gets an answer to its first bytes."""
    first = await reader.readexactly(1)
    if first == FIRST_TLS_BYTE:
        return
    head = first + await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    await reader.readexactly(int(length[1]) if length else 0)


class OpenServer:
    """A loopback server whose connections stay open until the test ends; ``serve`` is its protocol."""

    def __init__(self) -> None:
        self.base = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        raise NotImplementedError

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.create_task(self.serve(reader, writer)))

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Self]:
        """Accept connections; ``base`` is the address for a model."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=tls)
        scheme = "https" if tls else "http"
        self.base = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
