"""The two transports to a server, by a process's pipes and by HTTP, with every message bounded before it is parsed.

The package ``mcp`` reads a complete line of a process and a complete body of an answer, of any length
(``message_bounds.py``), so the process is started and read here, and the bytes of answers are split here.

Border: bytes and messages; the package parses their content, and failures become sentences in
``client.py``. A server that exceeds a bound is ended at once.
"""

import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from palimpsest.tools.mcp.message_bounds import (
    EVENT_END,
    LINE_END,
    MessageSplitter,
    MessageTooLarge,
)
from palimpsest.tools.mcp.values import ServerFailed, untrusted_line

WATCHDOG = Path(__file__).with_name("watchdog.py")
MAX_STDERR_BYTES = 4_000
MAX_PROCESS_END_SECONDS = 2.0
"""Maximum time for a process to end after its stdin is closed, and again after SIGTERM."""
MAX_FLUSH_SECONDS = 0.5
"""Maximum time in which waiting messages can still be sent before stdin is closed."""
POLL_SECONDS = 0.01
MAX_STDERR_SECONDS = 0.2
"""Maximum wait for the rest of stderr, after the process has ended."""
MAX_PIECE_BYTES = 65_536

OnServerEnd = Callable[[str], None]
"""Called when a server ended or was stopped, with the reason as the end of a sentence about it; empty without one."""


@asynccontextmanager
async def pipe_streams(
    command: list[str],
    environment: dict[str, str],
    cwd: Path,
    stderr: "Stderr",
    on_end: OnServerEnd,
    on_start: Callable[[], None],
) -> AsyncIterator[Any]:
    """Start a server's process under the watchdog, which ends it after this kernel's end, and yield its streams."""
    import anyio
    from mcp.shared.message import SessionMessage

    process = await _start_process(command, environment, cwd, stderr)
    # No await before the task group, since a cancellation here would leave the process running.
    stderr.close_write_end()
    send_stream, receive_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing_stream = anyio.create_memory_object_stream[SessionMessage](0)
    written_event = anyio.Event()

    async def read_messages() -> None:
        async with send_stream:
            try:
                await _forward_messages(process.stdout, send_stream)
            except MessageTooLarge as problem:
                on_end(str(problem))
                with anyio.CancelScope(shield=True):
                    await _kill_process(process)
        on_end("")

    async def write_messages() -> None:
        try:
            async with outgoing_stream:
                async for message in outgoing_stream:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode("utf-8", "replace"))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await send_stream.aclose()
        finally:
            written_event.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_messages)
        tasks.start_soon(write_messages)
        try:
            on_start()
            yield receive_stream, write_stream
        finally:
            with anyio.CancelScope(shield=True):
                receive_stream.close()
                write_stream.close()
                with anyio.move_on_after(MAX_FLUSH_SECONDS):
                    await written_event.wait()
                await _end_process(process)
            tasks.cancel_scope.cancel()


async def _start_process(
    command: list[str], environment: dict[str, str], cwd: Path, stderr: "Stderr"
) -> Any:
    import anyio
    from mcp.client.stdio import get_default_environment

    environment = get_default_environment() | environment
    if os.name == "posix":
        return await anyio.open_process(
            [sys.executable, "-I", "-S", str(WATCHDOG), *command],
            env=environment,
            stderr=stderr.file,
            cwd=cwd,
            start_new_session=True,
        )
    from mcp.os.win32.utilities import (  # pragma: no cover
        create_windows_process,
        get_windows_executable_command,
    )

    program = await anyio.to_thread.run_sync(  # pragma: no cover
        get_windows_executable_command, command[0], abandon_on_cancel=True
    )
    return await create_windows_process(  # pragma: no cover
        program, command[1:], environment, stderr.file, cwd
    )


async def _forward_messages(stdout: Any, send_stream: Any) -> None:
    """Forward each line as a message; lines that arrive after the listener has gone are read and dropped."""
    import anyio
    import mcp_types
    from mcp.shared.message import SessionMessage

    splitter = MessageSplitter(LINE_END)
    has_listener = True
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        while True:
            for line in splitter.complete_messages(await stdout.receive(MAX_PIECE_BYTES)):
                message: Any
                try:
                    text = line.decode("utf-8", "replace")
                    message = SessionMessage(
                        mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False)
                    )
                except ValueError as problem:
                    message = problem
                try:
                    if has_listener:
                        await send_stream.send(message)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    has_listener = False


async def _end_process(process: Any) -> None:
    """Close the stdin of a process, and kill it with its children if it does not end."""
    await _close_pipe(process.stdin)
    if not await _wait_for_end(process):
        await _kill_process(process)
    if os.name != "posix":  # pragma: no cover
        from mcp.os.win32.utilities import close_process_job

        close_process_job(process)
    await _close_pipe(process.stdout)
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if callable(close := getattr(transport, "close", None)):
        with suppress(PermissionError):
            close()


async def _kill_process(process: Any) -> None:
    if os.name == "posix":
        from mcp.os.posix.utilities import terminate_posix_process_tree

        await terminate_posix_process_tree(process, MAX_PROCESS_END_SECONDS)
    else:  # pragma: no cover
        from mcp.os.win32.utilities import terminate_windows_process_tree

        await terminate_windows_process_tree(process)
    await _wait_for_end(process)


async def _wait_for_end(process: Any) -> bool:
    """Wait up to ``MAX_PROCESS_END_SECONDS`` for a process to end, and return whether it has ended.

    Its own ``wait`` is not used, since that also waits for pipes that a child may hold.
    """
    import anyio

    with anyio.move_on_after(MAX_PROCESS_END_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110  # no event that is independent of its pipes
            await anyio.sleep(POLL_SECONDS)
    return process.returncode is not None


async def _close_pipe(pipe: Any) -> None:
    import anyio

    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await pipe.aclose()


@asynccontextmanager
async def http_streams(
    url: str, headers: Mapping[str, str], on_end: OnServerEnd, on_start: Callable[[], None]
) -> AsyncIterator[Any]:
    """Connect to a server's address, and yield the connection's streams."""
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    # Without compression, since the size of decompressed data cannot be bounded before.
    all_headers = {"Accept-Encoding": "identity", **headers}

    async def bound_response(response: Any) -> None:
        response.stream = _bounded_stream(response, on_end)

    async with create_mcp_http_client(headers=all_headers) as client:
        client.event_hooks["response"].append(bound_response)
        async with streamable_http_client(url, http_client=client) as streams:
            on_start()
            yield streams


def _bounded_stream(response: Any, on_end: OnServerEnd) -> Any:
    """Return the stream of an answer, its bytes split into complete, bounded messages."""
    import httpx2

    stream = response.stream
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    content_type = response.headers.get("content-type", "").lower()
    splitter = MessageSplitter(EVENT_END if content_type.startswith("text/event-stream") else None)

    class BoundedStream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                _check_uncompressed(encoding)
                async for piece in stream:
                    for message in splitter.complete_messages(piece):
                        yield message
                yield splitter.remaining_bytes()
            except MessageTooLarge as problem:
                on_end(str(problem))
                raise httpx2.StreamError(str(problem)) from None

        async def aclose(self) -> None:
            await stream.aclose()

    return BoundedStream()


def _check_uncompressed(encoding: str) -> None:
    if encoding not in ("", "identity"):
        raise MessageTooLarge("packed its answer, which was not asked for")


class Stderr:
    """Keeps the newest stderr output of a server's process; reads it in a thread until the process ends."""

    def __init__(self) -> None:
        self._read_fd, write_fd = os.pipe()
        self.file = os.fdopen(write_fd, "w", encoding="utf-8", errors="replace")
        self._newest_bytes = b""
        self._thread = threading.Thread(
            target=self._read_stderr, daemon=True, name="palimpsest-mcp-stderr"
        )
        self._thread.start()

    def close_write_end(self) -> None:
        """Close the kernel's copy of the write end, so that the pipe closes with the process."""
        if not self.file.closed:
            self.file.close()

    def last_line(self) -> str:
        """Return the last line of stderr as the end of a sentence; empty if there is none."""
        self.close_write_end()
        self._thread.join(MAX_STDERR_SECONDS)
        lines = self._newest_bytes.decode("utf-8", "replace").strip().splitlines()
        return f" (it said: {untrusted_line(lines[-1])})" if lines else ""

    def _read_stderr(self) -> None:
        while data := os.read(self._read_fd, MAX_PIECE_BYTES):
            self._newest_bytes = (self._newest_bytes + data)[-MAX_STDERR_BYTES:]
        os.close(self._read_fd)


def checked_command(command: str, args: list[str], environment: Mapping[str, str]) -> list[str]:
    """Return the words that start a server; raises ServerFailed where there is no such program."""
    if shutil.which(command, path=environment.get("PATH")) is None:
        raise ServerFailed(f"there is no program {command!r}")
    return [command, *args]
