"""A program at a terminal of its own, which is stopped and reported with what it showed when nothing more comes."""

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from tests.waiting import LAST_RESORT_SECONDS

STACK_SECONDS = 5.0
"""Python writes the stacks of its threads at once when it is told to; this is for a machine under load."""


def read_until(
    descriptor: int, shown: bytearray, words: bytes | None, seconds: float = LAST_RESORT_SECONDS
) -> bool:
    """Read what is shown until there are some words, or until its end if None; return whether that came in time."""
    until = time.monotonic() + seconds
    while words is None or words not in shown:
        ready, _, _ = select.select([descriptor], [], [], max(until - time.monotonic(), 0))
        if not ready:
            return False
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # the other end of a terminal is closed
            piece = b""
        if not piece:
            return words is None
        shown += piece
    return True


class Terminal:
    """A program that has a new terminal: what it showed so far, and keys for it.

    Responsibilities: read as long as something is awaited, fail with all that was shown when that does not come in time, and
    leave no process behind.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self._shown = bytearray()
        # A program of Python that is told to abort shows first where its threads are.
        environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "TERM": "dumb", **environment}
        self.process, self._ours = pty.fork()
        if self.process == 0:  # the program itself
            try:
                os.chdir(folder)
                os.execve(command[0], list(command), environment)
            finally:
                os._exit(127)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the program if it still runs, and close the terminal."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        os.close(self._ours)
        os.waitpid(self.process, 0)

    @property
    def shown(self) -> str:
        """All that the terminal showed so far, also the keys that were typed."""
        return self._shown.decode("utf-8", "replace")

    def type(self, keys: str) -> None:
        """Type keys, whether the program reads already or not."""
        os.write(self._ours, keys.encode())

    def until(self, words: str, seconds: float = LAST_RESORT_SECONDS) -> str:
        """Read until the terminal shows some words, and return all that it showed."""
        if not self._read(words.encode(), seconds):
            self._fail(f"The program at the terminal did not show {words!r}", seconds)
        return self.shown

    def to_the_end(self, seconds: float = LAST_RESORT_SECONDS) -> str:
        """Read until the program has ended, and return all that it showed."""
        if not self._read(None, seconds):
            self._fail("The program at the terminal did not end", seconds)
        return self.shown

    def _read(self, words: bytes | None, seconds: float) -> bool:
        return read_until(self._ours, self._shown, words, seconds)

    def _fail(self, what: str, seconds: float) -> None:
        os.kill(self.process, signal.SIGABRT)
        self._read(None, STACK_SECONDS)
        pytest.fail(f"{what} within {seconds:.0f} seconds. It showed:\n{self.shown}")


def ipython(folder: Path, script: str, python: Sequence[str] = (sys.executable,)) -> Terminal:
    """Run a script of a folder in IPython at a terminal, as ``%run -i`` does."""
    options = ["--no-banner", "--simple-prompt", "--colors=nocolor", "--ignore-cwd"]
    command = [*python, "-m", "IPython", *options, "-c", f"%run -i {script}"]
    return Terminal(command, folder, {"IPYTHONDIR": str(folder / "ipython")})
