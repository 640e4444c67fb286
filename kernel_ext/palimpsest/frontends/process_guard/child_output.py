"""What children of the kernel, and code that writes to a descriptor, print during one run and after it.

ipykernel reads its descriptors on a thread of its own, and between its reading and its writing nobody can tell that
text is under way: what the run printed next stood before what a child had printed. So a run has pipes of its own, and
whoever keeps text of the run first takes what the pipes hold, under one lock. What a child prints after the end of the
run is written to the kernel's stream.
Border: the descriptors that ipykernel watches; a stream without them (a terminal's) is left alone.
"""

import codecs
import os
import select
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import Context
from typing import Any

AT_ONCE = 65_536
"""Bytes that are read at a time: what a pipe holds."""


class _Pipe:
    """The pipe that stands in for one descriptor of the kernel."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._target: int = stream._original_stdstream_fd  # noqa: SLF001  # no public way
        self._before = os.dup(self._target)
        try:
            self.reading, writing = os.pipe()
        except OSError:
            os.close(self._before)
            raise
        os.dup2(writing, self._target)
        os.close(writing)
        os.set_blocking(self.reading, False)
        self.open = True
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def read(self) -> str:
        """Return what was written since the last call, without waiting; closes the pipe when nobody can write any more."""
        pieces: list[str] = []
        with suppress(BlockingIOError):
            while self.open:
                read = os.read(self.reading, AT_ONCE)
                pieces.append(self._decoder.decode(read, final=not read))
                if not read:
                    self.open = False
                    os.close(self.reading)
                else:
                    self._log(read)
        return "".join(pieces)

    def put_back(self) -> None:
        """Have the descriptor be what it was."""
        os.dup2(self._before, self._target)
        os.close(self._before)

    def _log(self, written: bytes) -> None:
        """Write to the kernel's own log what ipykernel would write there."""
        with suppress(OSError):
            os.write(self.stream._original_stdstream_copy, written)  # noqa: SLF001


class ChildOutput:
    """The text that one run finds on the kernel's descriptors, in the order in which it was written.

    ``keep`` is called with a stream's name and text, by one thread at a time; ``streams`` are the kernel's, by name.
    """

    def __init__(self, streams: Mapping[str, Any], keep: Callable[[str, str], None]) -> None:
        self._keep = keep
        self._pipes: dict[str, _Pipe] = {}
        self._over = False
        self._lock = threading.Lock()
        for name, stream in streams.items():
            # Without a free descriptor, what children print is shown in the notebook and not told to the model.
            if getattr(stream, "watch_fd_thread", None) is not None:
                with suppress(OSError):
                    self._pipes[name] = _Pipe(stream)
        if self._pipes:
            reader = threading.Thread(
                target=self._read, name="palimpsest-child-output", daemon=True
            )
            try:
                Context().run(reader.start)  # no thread of the code's
            except RuntimeError:  # no thread can be started: as without a free descriptor
                for pipe in self._pipes.values():
                    pipe.put_back()
                    os.close(pipe.reading)
                self._pipes = {}

    def keep(self, name: str, text: str) -> None:
        """Keep text that the run itself printed, after what children printed before."""
        with self._lock:
            self._take()
            self._keep(name, text)

    def end(self) -> None:
        """Keep what was printed up to now, and give the descriptors back."""
        for pipe in self._pipes.values():
            pipe.put_back()
        with self._lock:
            self._take()
            self._over = True

    def _take(self) -> None:
        for name, pipe in self._pipes.items():
            if text := pipe.read():
                if self._over:
                    pipe.stream.write(text)
                else:
                    self._keep(name, text)

    def _read(self) -> None:
        """Read until nobody can write any more: a child that waits for room in a pipe would wait for ever."""
        while waiting := [one.reading for one in self._pipes.values() if one.open]:
            poll = select.poll()
            for one in waiting:
                poll.register(one, select.POLLIN)
            poll.poll()
            with self._lock:
                self._take()
