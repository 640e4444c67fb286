"""Tell a program what a session's log says, on a thread of its own.

A callback of the program may do what it likes, also call the session and wait for it; the thread
that writes the log must not wait for that. Each subscription has a thread, which ends with it.
"""

import logging
import queue
import threading
from collections.abc import Sequence

from palimpsest.session.interfaces.kernel_session import RecordsCallback
from palimpsest.transcript.session_record.events import Record

LOG = logging.getLogger(__name__)

LAST_SECONDS = 5.0
"""How long the end of a subscription waits until what was written before it has been told."""


class RecordListener:
    """One subscription: takes records from the writer, and tells them in order."""

    def __init__(self, callback: RecordsCallback) -> None:
        self._callback = callback
        self._batches: queue.SimpleQueue[Sequence[Record] | threading.Event | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run, name="palimpsest-listener", daemon=True)
        self._thread.start()

    def take(self, records: Sequence[Record]) -> None:
        """Take records to be told; returns at once."""
        self._batches.put(records)

    def caught_up(self, timeout: float = LAST_SECONDS) -> bool:
        """Wait until everything taken so far was told; false where it was not, or the callback asks itself."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            return False
        told = threading.Event()
        self._batches.put(told)
        return told.wait(timeout)

    def end(self) -> None:
        """Tell what was taken, and nothing more."""
        self._batches.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(LAST_SECONDS)

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            if isinstance(batch, threading.Event):
                batch.set()
                continue
            try:
                self._callback(batch)
            except Exception:
                LOG.exception("A callback of subscribe failed; it is told what follows.")
