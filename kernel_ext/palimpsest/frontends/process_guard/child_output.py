"""Capture the output of child processes, and of code that writes to a file descriptor, during and after a run.

ipykernel reads its descriptors on its own thread, so the code's next line could overtake the earlier output of a child.
A run therefore has its own pipes, which are emptied under a lock before text of the run is stored. Output of a child after the end of the
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

MAX_READ_BYTES = 65_536
"""Maximum bytes that are read at a time: the capacity of a pipe."""


class _Pipe:
    """A pipe that replaces one descriptor of the kernel."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._target_fd: int = stream._original_stdstream_fd  # noqa: SLF001  # no public way
        self._original_fd = os.dup(self._target_fd)
        try:
            self.read_fd, write_fd = os.pipe()
        except OSError:
            os.close(self._original_fd)
            raise
        os.dup2(write_fd, self._target_fd)
        os.close(write_fd)
        os.set_blocking(self.read_fd, False)
        self.is_open = True
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def read(self) -> str:
        """Return the text written since the last call, without waiting; closes the pipe when no writer is left."""
        texts: list[str] = []
        with suppress(BlockingIOError):
            while self.is_open:
                new_bytes = os.read(self.read_fd, MAX_READ_BYTES)
                texts.append(self._decoder.decode(new_bytes, final=not new_bytes))
                if not new_bytes:
                    self.is_open = False
                    os.close(self.read_fd)
                else:
                    with suppress(OSError):  # into the kernel's own log, as ipykernel would
                        os.write(self.stream._original_stdstream_copy, new_bytes)  # noqa: SLF001
        return "".join(texts)

    def restore_descriptor(self) -> None:
        """Restore the descriptor that the pipe replaced."""
        os.dup2(self._original_fd, self._target_fd)
        os.close(self._original_fd)


class ChildOutput:
    """Reads the text written to the kernel's descriptors during a run, in order.

    ``store`` is called with a stream's name and text, by one thread at a time; ``streams`` are the kernel's, by name.
    """

    def __init__(self, streams: Mapping[str, Any], store: Callable[[str, str], None]) -> None:
        self._store = store
        self._pipes: dict[str, _Pipe] = {}
        self._has_ended = False
        self._lock = threading.Lock()
        for name, stream in streams.items():
            # Without a free descriptor, the output of children is shown in the notebook but not captured for the model.
            if getattr(stream, "watch_fd_thread", None) is not None:
                with suppress(OSError):
                    self._pipes[name] = _Pipe(stream)
        if self._pipes:
            thread_name = "palimpsest-child-output"
            reader = threading.Thread(target=self._read_until_closed, name=thread_name, daemon=True)
            try:
                # An empty context: the thread does not belong to the code.
                Context().run(reader.start)
            except RuntimeError:  # no thread can be started: as without a free descriptor
                for pipe in self._pipes.values():
                    pipe.restore_descriptor()
                    os.close(pipe.read_fd)
                self._pipes = {}

    def store(self, name: str, text: str) -> None:
        """Store text that the run itself printed, after the earlier output of children."""
        with self._lock:
            self._store_new_text()
            self._store(name, text)

    def end_capture(self) -> None:
        """Store the output so far, and restore the descriptors."""
        for pipe in self._pipes.values():
            pipe.restore_descriptor()
        with self._lock:
            self._store_new_text()
            self._has_ended = True

    def _store_new_text(self) -> None:
        for name, pipe in self._pipes.items():
            if text := pipe.read():
                if self._has_ended:
                    pipe.stream.write(text)
                else:
                    self._store(name, text)

    def _read_until_closed(self) -> None:
        """Read until no process can write any more; otherwise a child could wait forever for space in a pipe."""
        while open_fds := [pipe.read_fd for pipe in self._pipes.values() if pipe.is_open]:
            poll = select.poll()
            for read_fd in open_fds:
                poll.register(read_fd, select.POLLIN)
            poll.poll()
            with self._lock:
                self._store_new_text()
