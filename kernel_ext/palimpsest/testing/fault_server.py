"""A model server on loopback that sends scripted answers and faults.

It implements the streaming formats of OpenAI (``/v1/chat/completions``), Anthropic (``/v1/messages``),
Gemini (``:streamGenerateContent``) and Mistral, so that tests and lessons exercise real bytes, sockets
and server faults without a key or a network:

    with FaultServer(fails(429, retry_after=2), says("Hello.")) as server: ...

It records every request without its keys, and detects when a client disconnects.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self

from palimpsest.model.script import Failure, ModelAnswer, fails
from palimpsest.testing.answer_functions import call_answer_function
from palimpsest.testing.dialects import MISTRAL_ROOT, WireFormat, model_of, wire_format_of
from palimpsest.testing.fault_http import (
    ReceivedRequest,
    cancel_on_disconnect,
    read_request,
    send_json,
    send_stream,
)
from palimpsest.testing.gemini_wire import gemini_error, gemini_frames
from palimpsest.testing.openai_anthropic_wire import (
    Frame,
    anthropic_error,
    anthropic_frames,
    mistral_error,
    openai_error,
    openai_frames,
)

CHECK_INTERVAL_SECONDS = 0.05
"""The condition of ``wait_until`` is also checked this often, since it may not depend on the server's events."""
REFUSED_STATUS = 400
"""The status of a request that fails its check, or comes after the last answer."""
ERROR_WRITERS: dict[WireFormat, Callable[[Failure], bytes]] = {
    "openai": openai_error,
    "anthropic": anthropic_error,
    "gemini": gemini_error,
    "mistral": mistral_error,
}
FRAME_WRITERS: dict[WireFormat, Callable[[ModelAnswer, str, int, int], Iterable[Frame]]] = {
    "openai": openai_frames,
    "anthropic": anthropic_frames,
    "gemini": gemini_frames,
    "mistral": openai_frames,
}
ServedAnswer = ModelAnswer | Callable[[ReceivedRequest], ModelAnswer]
"""An answer, or a function that returns it for a received request; it runs on a thread of its own, and may wait."""
Check = Callable[[str, Any], list[str]]
"""A function of a request's path and body that returns its problems, one sentence each."""


class FaultServer:
    """Answers each request with the next scripted answer.

    Use it as a context manager, with ``with`` (it then runs on a thread of its own) or ``async with``
    (it then runs on the running loop). ``port`` 0 chooses a free one. A request in which ``check``
    finds problems gets status 400 with its sentences, in the provider's format, and uses up no answer;
    a request after the last answer also gets status 400.
    """

    def __init__(self, *answers: ServedAnswer, port: int = 0, check: Check | None = None) -> None:
        self.requests: list[ReceivedRequest] = []
        """The requests received, in order, without those for the list of models."""
        self.open_connections = 0
        """Number of requests that are being answered now."""
        self._answers: list[ServedAnswer] = list(answers)
        self._port = port
        self._check = check
        self._sent_call_count = 0
        """Number of tool calls sent so far."""
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = threading.Condition()
        """Notified after each event: a request arrived or was answered, or its client disconnected."""

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
    def gemini_base(self) -> str:
        """The ``api_base`` of Gemini clients."""
        return f"{self.url}/v1beta"

    @property
    def mistral_base(self) -> str:
        """The ``api_base`` of Mistral clients."""
        return f"{self.url}{MISTRAL_ROOT}/v1"

    def base(self, dialect: WireFormat) -> str:
        """Return the ``api_base`` of a format."""
        return str(getattr(self, f"{dialect}_base"))

    def settings(self, dialect: WireFormat = "openai") -> dict[str, Any]:
        """Return the settings with which a session uses this server, in the provider's format.

        The model is named ``<dialect>/scripted``, has a window of 200,000 tokens, answers of at most
        8,000 tokens, and costs nothing.
        """
        model = f"{dialect}/scripted"
        facts = {
            "api_base": self.base(dialect),
            "window": 200_000,
            "output": 8_000,
            "price": {"input": 0, "output": 0},
        }
        return {"model": model, "models": {model: facts}}

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests, in order."""
        return [request.body for request in self.requests]

    def script(self, *answers: ServedAnswer) -> Self:
        """Add answers for further requests; returns the server."""
        self._answers.extend(answers)
        return self

    def wait_until(self, ready: Callable[[], bool], seconds: float | None = None) -> bool:
        """Block the caller's thread until ``ready`` returns true; it is called after each event of the server.

        Returns False where that takes more than ``seconds``; without a number it waits without limit.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while not ready():
                seconds_left = (
                    CHECK_INTERVAL_SECONDS if deadline is None else deadline - time.monotonic()
                )
                if seconds_left <= 0:
                    return False
                self._changed.wait(min(seconds_left, CHECK_INTERVAL_SECONDS))
        return True

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def start(self) -> Self:
        """Start serving on a thread of its own; returns the server."""
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="fault-server", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), loop).result()
        self._loop = loop
        return self

    def stop(self) -> None:
        """Close all connections and end the thread."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._on_connection, "127.0.0.1", self._port)
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

    def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))

        def on_end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            writer.close()  # also where the server was closed before the task began

        self._tasks.add(task)
        task.add_done_callback(on_end)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            request = await read_request(reader)
            self.open_connections += 1
            try:
                await self._serve_request(request, reader, writer)
            finally:
                self.open_connections -= 1
                self._notify()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _serve_request(
        self, request: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if request.path.endswith("/models"):
            await send_json(writer, 200, b'{"object":"list","data":[{"id":"scripted"}]}')
            return
        self.requests.append(request)
        self._notify()
        async with cancel_on_disconnect(reader, request):
            await self._answer(request, writer)
            request.completed = True

    async def _answer(self, request: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        wire_format = wire_format_of(request.path)
        if self._check is not None:
            request.problems += self._check(request.path, request.body)
        refusal = fails(REFUSED_STATUS, " ".join(request.problems))
        answer = refusal if request.problems else await self._next_answer(request)
        if answer.failure is not None:
            body = ERROR_WRITERS[wire_format](answer.failure)
            await send_json(writer, answer.failure.status, body, answer.failure.headers)
            return
        frames = FRAME_WRITERS[wire_format](
            answer,
            model_of(request.path, request.body),
            len(request.raw),
            self._sent_call_count + 1,
        )
        self._sent_call_count += len(answer.actions)
        await send_stream(writer, frames, answer.drip_seconds, request)

    async def _next_answer(self, request: ReceivedRequest) -> ModelAnswer:
        if not self._answers:
            message = f"The script has no answer for request {len(self.requests)}."
            return fails(REFUSED_STATUS, message)
        scripted_answer = self._answers.pop(0)
        if isinstance(scripted_answer, ModelAnswer):
            return scripted_answer
        return await call_answer_function(scripted_answer, request)
