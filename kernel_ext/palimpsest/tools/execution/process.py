"""Run one shell command under a runner process, with bounded output, and kill all its processes on demand.

Border: processes and pipes, without permissions or formatting. The runner (``shell_runner.py``)
inherits every process the command starts, so that a stop also reaches those that left their group.
"""

import asyncio
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from palimpsest.tools.calls.error_containment import wait_for_abort
from palimpsest.tools.tool import Abort

RUNNER_FILE = Path(__file__).with_name("shell_runner.py")
MAX_HEAD_BYTES = 5_000_000
MAX_TAIL_BYTES = 5_000_000
"""Maximum bytes of the beginning and of the end of an output that are kept; the middle of a longer one is dropped."""

MAX_READ_BYTES = 262_144
MAX_DRAIN_SECONDS = 0.1
"""Maximum time for which output is read after the command has ended; later output can only be that of background processes."""

MAX_KILL_SECONDS = 2.0
"""Maximum wait for the end of killed processes."""


class HeadAndTail:
    """Keeps the beginning and the end of a stream of bytes."""

    def __init__(self) -> None:
        self._head_bytes = bytearray()
        self._tail_pieces: deque[bytes] = deque()
        self._tail_bytes = 0
        self.total_bytes = 0

    def add(self, data: bytes) -> None:
        """Add bytes, dropping the oldest of the tail above its limit."""
        self.total_bytes += len(data)
        free_bytes = MAX_HEAD_BYTES - len(self._head_bytes)
        if free_bytes > 0:
            self._head_bytes += data[:free_bytes]
            data = data[free_bytes:]
        if data:
            self._tail_pieces.append(data)
            self._tail_bytes += len(data)
        while self._tail_pieces and self._tail_bytes - len(self._tail_pieces[0]) >= MAX_TAIL_BYTES:
            self._tail_bytes -= len(self._tail_pieces.popleft())

    @property
    def dropped_bytes(self) -> int:
        """Number of dropped bytes in the middle."""
        return self.total_bytes - len(self._head_bytes) - self._tail_bytes

    def kept_text(self) -> str:
        """Return the kept bytes as text, with a note about the dropped ones."""
        first_text = self._head_bytes.decode("utf-8", "replace")
        tail = b"".join(self._tail_pieces).decode("utf-8", "replace")
        if not self.dropped_bytes:
            return (self._head_bytes + b"".join(self._tail_pieces)).decode("utf-8", "replace")
        return f"{first_text}\n[... {self.dropped_bytes:,} bytes in the middle were not kept ...]\n{tail}"

    def newest_text(self, max_bytes: int) -> str:
        """Return the newest ``max_bytes`` bytes as text."""
        data, missing_bytes = b"", max_bytes
        for chunk in reversed(self._tail_pieces):
            data, missing_bytes = chunk[-missing_bytes:] + data, missing_bytes - len(chunk)
            if missing_bytes <= 0:
                return data.decode("utf-8", "replace")
        return (bytes(self._head_bytes[-missing_bytes:]) + data).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended, and which of its processes still run."""

    ended_by: Literal["exited", "timeout", "stopped"]
    exit_code: int | None = None
    """Negative for a signal; None when the command was killed or its runner died."""
    background_pids: tuple[int, ...] = ()
    """Ids of the processes that the command left running."""


class ShellCommand:
    """Runs one command under a runner process; raises OSError if the runner cannot be started."""

    def __init__(
        self,
        command: str,
        *,
        shell: str,
        cwd: Path,
        environment: Mapping[str, str],
        on_output: Callable[[bytes], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._report_bytes = b""
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._output_closed: asyncio.Future[None] = self._loop.create_future()
        # As UTF-8 bytes, also where the locale has another encoding, since files are UTF-8.
        encoded_command = command.encode("utf-8", "surrogateescape")
        self._output_fd, output_write_fd = os.pipe()
        self._report_fd, report_write_fd = os.pipe()
        try:
            self.runner = subprocess.Popen(
                [sys.executable, "-I", "-S", str(RUNNER_FILE), str(report_write_fd), str(self._output_fd), shell, encoded_command],
                bufsize=0, stdin=subprocess.PIPE, stdout=output_write_fd, stderr=output_write_fd, cwd=cwd,
                env=dict(environment), pass_fds=(report_write_fd, self._output_fd), start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(self._output_fd)
            os.close(self._report_fd)
            raise
        finally:
            os.close(output_write_fd)
            os.close(report_write_fd)
        for fd, reader in (
            (self._output_fd, self._read_output),
            (self._report_fd, self._read_report),
        ):
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, reader)

    async def run(self, abort: Abort, timeout_seconds: float) -> CommandResult:
        """Wait until the command ends; on abort or timeout, kill it and all its processes."""
        abort_task = asyncio.ensure_future(wait_for_abort(abort))
        try:
            await asyncio.wait(
                (self._exited, abort_task),
                timeout=timeout_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if self._exited.done():
                await asyncio.wait((self._output_closed,), timeout=MAX_DRAIN_SECONDS)
                return self._command_result()
            ended_by: Literal["stopped", "timeout"] = "stopped" if abort.is_set() else "timeout"
            self._send_to_runner(b"k")
            await asyncio.wait((self._exited,), timeout=MAX_KILL_SECONDS)
            return CommandResult(ended_by)
        except asyncio.CancelledError:
            self._send_to_runner(b"k")
            raise
        finally:
            abort_task.cancel()
            for fd in (self._output_fd, self._report_fd):
                self._loop.remove_reader(fd)
                os.close(fd)
            if self._exited.done() and not self._command_result().background_pids:
                with suppress(subprocess.TimeoutExpired):
                    self.runner.wait(MAX_DRAIN_SECONDS)
            self._send_to_runner(b"d")
            self.close_if_ended()

    def kill_background(self) -> None:
        """Kill the background processes of the command."""
        self._send_to_runner(b"k")
        with suppress(subprocess.TimeoutExpired):
            self.runner.wait(MAX_KILL_SECONDS)
        self._close_stdin()

    def close_if_ended(self) -> bool:
        """Close stdin if all processes of the command have ended, and return whether they have."""
        if self.runner.poll() is None:
            return False
        self._close_stdin()
        return True

    def _command_result(self) -> CommandResult:
        exit_code: int | None = None
        background_pids: tuple[int, ...] = ()
        for line in self._report_bytes.decode("ascii", "replace").splitlines():
            word, *numbers = line.split()
            if word == "exit":
                exit_code = int(numbers[0])
            elif word == "left":
                background_pids = tuple(int(number) for number in numbers)
        return CommandResult("exited", exit_code, background_pids)

    def _read_output(self) -> None:
        data = self._read_available(self._output_fd)
        if data:
            self._on_output(data)
        elif data is not None:
            self._loop.remove_reader(self._output_fd)
            _set_done(self._output_closed)

    def _read_report(self) -> None:
        data = self._read_available(self._report_fd)
        self._report_bytes += data or b""
        if data == b"":
            self._loop.remove_reader(self._report_fd)
        if data == b"" or any(word in self._report_bytes for word in (b"left", b"killed")):
            _set_done(self._exited)

    def _read_available(self, fd: int) -> bytes | None:
        """Return the available bytes; None when there are none, empty at the end of the stream."""
        try:
            return os.read(fd, MAX_READ_BYTES)
        except BlockingIOError:
            return None

    def _send_to_runner(self, runner_command: bytes) -> None:
        stdin = self.runner.stdin
        with suppress(OSError, ValueError):
            if stdin is not None:
                stdin.write(runner_command)

    def _close_stdin(self) -> None:
        if self.runner.stdin is not None:
            self.runner.stdin.close()


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
