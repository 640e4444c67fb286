"""Detect writes that do not return, from a thread that does not write.

A disk can hang without an error (a network home whose server is gone, a stuck mount), and then the
writing thread cannot report it. One thread watches all writers of this process; it sleeps while
nothing is written.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOG = logging.getLogger(__name__)

STALL_SECONDS = 0.7
"""The user is notified within a second; a loaded disk that works takes a tenth of this."""


DISK_STALLED = (
    "The disk does not answer: a write to the log of session {session!r} does not return. Nothing is sent until it "
    "does. Look after the disk that holds the project, or stop the turn."
)
LISTENER_STALLED = (
    "What listens to session {session!r} in this kernel does not return, so its log is not written. Nothing is "
    "sent until it does; if it stays so, restart the kernel."
)


class WriteWatch:
    """Calls back once for each write that takes too long."""

    def __init__(self, seconds: float = STALL_SECONDS) -> None:
        self._seconds = seconds
        self._changed = threading.Condition()
        self._running: dict[int, tuple[float, Callable[[], None]]] = {}
        """By the number of the write: the monotonic time at which it counts as stalled, and the callback."""
        self._number = 0
        self._asleep = True
        self._thread: threading.Thread | None = None

    def begin(self, stalled: Callable[[], None]) -> int:
        """Register a write; ``stalled`` is called on the watching thread if it does not end in time.

        Returns its number for ``end``.
        """
        with self._changed:
            self._number += 1
            self._running[self._number] = time.monotonic() + self._seconds, stalled
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="palimpsest-write-watch", daemon=True
                )
                self._thread.start()
            elif self._asleep:
                self._changed.notify()
            return self._number

    def end(self, number: int) -> None:
        """Unregister a write that has ended."""
        with self._changed:
            self._running.pop(number, None)

    def _run(self) -> None:
        while True:
            for tell in self._late():
                tell()

    def _late(self) -> list[Callable[[], None]]:
        """Wait until the first deadline; returns the callbacks of writes that are stalled."""
        with self._changed:
            while not self._running:
                self._asleep = True
                self._changed.wait()
            self._asleep = False
            left = min(until for until, _ in self._running.values()) - time.monotonic()
            if left > 0:
                self._changed.wait(left)
            now = time.monotonic()
            late = [number for number, (until, _) in self._running.items() if until <= now]
            return [self._running.pop(number)[1] for number in late]


WRITES = WriteWatch()
"""Watches every journal of this process."""


class Stall:
    """Tracks whether the newest write of one journal is stalled, and notifies listeners of it."""

    def __init__(self, session_id: Callable[[], str], watch: WriteWatch = WRITES) -> None:
        self.words = ""
        """One sentence for the user while a write is stalled, else empty."""
        self.since = 0.0
        """Monotonic time in seconds at which the stall was detected."""
        self.telling = False
        """Subscribers are being called, so a stall is then caused by one of them."""
        self._session_id = session_id
        self._watch = watch
        self._writing = False
        self._lock = threading.Lock()
        self._listeners: tuple[Callable[[], None], ...] = ()

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, on any thread, when ``words`` changed; returns an unsubscriber."""
        with self._lock:
            self._listeners = (*self._listeners, callback)

        def forget() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not callback)

        return forget

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the write in this block."""
        with self._lock:
            self._writing = True
        number = self._watch.begin(self._late)
        try:
            yield
        finally:
            self._watch.end(number)
            with self._lock:
                self._writing = False
                stalled, self.words = self.words, ""
            if stalled:
                self._tell()

    def _late(self) -> None:
        words = LISTENER_STALLED if self.telling else DISK_STALLED
        with self._lock:
            if not self._writing:
                return
            self.since = time.monotonic()
            self.words = words.format(session=self._session_id())
        LOG.warning("%s", self.words)
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            try:
                listener()
            except Exception:
                LOG.exception("A listener of the journal failed; the others go on.")
