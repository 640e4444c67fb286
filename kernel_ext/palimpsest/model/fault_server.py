"""A model server on loopback that answers as scripted, faults included.

It speaks the streaming formats of OpenAI (``/v1/chat/completions``) and Anthropic
(``/v1/messages``), so tests and lessons meet real bytes, real sockets and real mistakes of real
servers without a key or a network:

    with FaultServer(fails(429, retry_after=2), says("Hello.")) as server: ...

It records every request without its keys, and notices when a client hangs up.
"""

import argparse
import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from palimpsest.model.fault_wire import (
    Frame,
    anthropic_error,
    anthropic_frames,
    openai_error,
    openai_frames,
)
from palimpsest.model.script import Answer, Disconnect, EndEarly, Pause, fails
from palimpsest.model.script_file import read_scenario

SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"})
NO_ANSWER_STATUS = 400

Scripted = Answer | Callable[["Request"], Answer]


@dataclass(slots=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    """Lower-case names; headers that carry keys are left out."""
    body: dict[str, Any]
    at: float
    """Seconds of the monotonic clock."""
    closed_after: float | None = None
    """Seconds after which the client hung up before the answer was complete."""
    first_byte_at: float | None = None
    completed: bool = False
    had_key: bool = False
    raw: bytes = field(default=b"", repr=False)


class FaultServer:
    """Answers each request with the next scripted answer.

    Use it as a context manager, plain (it then lives on a thread of its own) or ``async with``
    (it then lives on the running loop).
    """

    def __init__(self, *answers: Scripted, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.open_connections = 0
        self._answers: list[Scripted] = list(answers)
        self._port = port
        self._calls = 0
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The server's root, such as ``http://127.0.0.1:41234``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_base(self) -> str:
        """The ``api_base`` of OpenAI-compatible clients."""
        return f"{self.url}/v1"

    @property
    def anthropic_base(self) -> str:
        """The ``api_base`` of Anthropic clients."""
        return self.url

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests, in order."""
        return [request.body for request in self.requests]

    def script(self, *answers: Scripted) -> Self:
        """Add answers for the requests to come."""
        self._answers.extend(answers)
        return self

    def wait_until(self, ready: Callable[[], bool], seconds: float = 5.0) -> bool:
        """Wait, on the caller's thread, until something holds; False when time ran out."""
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def start(self) -> Self:
        """Serve on a thread of its own."""
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="fault-server", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), loop).result(5)
        self._loop = loop
        return self

    def stop(self) -> None:
        """Close everything."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        self._loop = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open_connections += 1
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open_connections -= 1
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read_request(reader)
        if request is None:
            return
        if request.path.endswith("/models"):
            await _send_json(writer, 200, b'{"object":"list","data":[{"id":"scripted"}]}')
            return
        self.requests.append(request)
        async with _hang_up_noticed(reader, request):
            await self._answer(request, writer)
            request.completed = True

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        anthropic = request.path.endswith("/messages")
        answer = self._next(request)
        if answer.failure is not None:
            body = (anthropic_error if anthropic else openai_error)(answer.failure)
            await _send_json(writer, answer.failure.status, body, answer.failure.headers)
            return
        frames = (anthropic_frames if anthropic else openai_frames)(
            answer, str(request.body.get("model", "")), len(request.raw), self._calls + 1
        )
        self._calls += len(answer.actions)
        await _send_stream(writer, frames, answer.drip_seconds, request)

    def _next(self, request: Request) -> Answer:
        if not self._answers:
            count = len(self.requests)
            return fails(NO_ANSWER_STATUS, f"The script has no answer for request {count}.")
        scripted = self._answers.pop(0)
        return scripted if isinstance(scripted, Answer) else scripted(request)


@asynccontextmanager
async def _hang_up_noticed(reader: asyncio.StreamReader, request: Request) -> AsyncIterator[None]:
    """Cancel the answer when the client closes its side, and note when."""
    answering = asyncio.current_task()
    assert answering is not None

    async def watch() -> None:
        with suppress(ConnectionError):
            while await reader.read(1024):
                pass
        request.closed_after = time.monotonic() - request.at
        answering.cancel()

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


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    public = {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
    return Request(
        path=first.split(" ")[1].partition("?")[0],
        headers=public,
        body=json.loads(raw) if raw else {},
        at=time.monotonic(),
        had_key=len(public) < len(headers),
        raw=raw,
    )


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = (
        f"HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n{extra}\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()


async def _send_stream(
    writer: asyncio.StreamWriter, frames: Iterable[Frame], drip_seconds: float, request: Request
) -> None:
    head = (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    writer.write(head.encode())
    for frame in frames:
        match frame:
            case bytes():
                request.first_byte_at = request.first_byte_at or time.monotonic()
                writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
                await writer.drain()
                if drip_seconds:
                    await asyncio.sleep(drip_seconds)
            case Pause():
                await (
                    asyncio.Event().wait()
                    if frame.seconds is None
                    else asyncio.sleep(frame.seconds)
                )
            case Disconnect():
                # The client must have read what was sent: a reset may overtake it.
                await asyncio.sleep(0.02)
                writer.transport.abort()
                return
            case EndEarly():
                break
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def main(arguments: list[str] | None = None) -> None:
    """Serve a scenario file until interrupted: ``python -m palimpsest.model.fault_server``."""
    parser = argparse.ArgumentParser(
        prog="python -m palimpsest.model.fault_server", description=main.__doc__
    )
    parser.add_argument("--scenario", type=Path, required=True, help="JSON file with the answers")
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args(arguments)
    server = FaultServer(*read_scenario(options.scenario), port=options.port)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve_and_tell(server))


async def _serve_and_tell(server: FaultServer) -> None:
    async with server:
        places = f"OPENAI_BASE_URL={server.openai_base}  ANTHROPIC_BASE_URL={server.anthropic_base}"
        print(places, flush=True)  # noqa: T201 - the one thing a person needs to know
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
