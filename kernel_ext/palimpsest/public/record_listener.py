"""Pass a session's journal records to a program's callback, on a thread of its own.

A callback of the program may do anything, including call the session and wait for it; the thread
that writes the log must not wait for that. Each subscription has a thread, which ends with it.
"""

import atexit
import logging
import queue
import threading
import time
import weakref
from collections.abc import Sequence

from palimpsest.session.engine import RecordsCallback
from palimpsest.transcript.session_record.events import Record

LOG = logging.getLogger(__name__)

MAX_DELIVERY_SECONDS = 5.0
"""Maximum time that the end of a subscription waits until the records written before it are delivered."""
_RUNNING: weakref.WeakSet["RecordListener"] = weakref.WeakSet()
"""Listeners whose threads run: Python aborts where a thread prints while the interpreter ends."""


class RecordListener:
    """One subscription: takes records from the writer, and delivers them in order."""

    def __init__(self, callback: RecordsCallback) -> None:
        self._callback = callback
        self._batches: queue.SimpleQueue[Sequence[Record] | threading.Event | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run, name="palimpsest-listener", daemon=True)
        self._thread.start()
        _RUNNING.add(self)

    def queue_records(self, records: Sequence[Record]) -> None:
        """Queue records for the callback; returns at once."""
        self._batches.put(records)

    def wait_for_delivery(self) -> bool:
        """Wait until all queued records are delivered; false after ``MAX_DELIVERY_SECONDS``, or when called by the callback."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            return False
        delivered_event = threading.Event()
        self._batches.put(delivered_event)
        return delivered_event.wait(MAX_DELIVERY_SECONDS)

    def end(self) -> None:
        """Deliver the queued records, then end the thread."""
        self.end_soon()
        self.join(MAX_DELIVERY_SECONDS)

    def end_soon(self) -> None:
        """Let the thread end after the queued records; returns at once."""
        _RUNNING.discard(self)
        self._batches.put(None)

    def join(self, seconds: float) -> None:
        """Wait at most ``seconds`` until the thread has ended; does nothing on that thread."""
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            if isinstance(batch, threading.Event):
                batch.set()
                continue
            try:
                self._callback(batch)
            except Exception:
                LOG.exception("A callback of subscribe failed; it is told what follows.")


@atexit.register
def _end_all() -> None:
    """End all subscriptions with the script, together within ``MAX_DELIVERY_SECONDS``."""
    running_listeners = list(_RUNNING)
    deadline = time.monotonic() + MAX_DELIVERY_SECONDS
    for listener in running_listeners:
        listener.end_soon()
    for listener in running_listeners:
        listener.join(max(deadline - time.monotonic(), 0))
