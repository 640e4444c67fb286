"""The journal of a session: the only writer of its log, and its event bus.

Events are applied to the state at once, so that the engine sees its own changes; a writer thread
collects them for a tick, writes them, and then calls the subscribers, so that no subscriber receives
a record that could still be lost, and a slow disk never blocks the loop. A write that does not return is
reported by another thread (``store/disk.py``), and ``stall`` describes it until it does. A delta of a
streaming answer costs one list append; the tick joins the deltas to one record per part and field. Text that
looks like a secret, or is a secret that this kernel knows, is redacted before anything is applied.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from palimpsest.store.disk import Stall
from palimpsest.store.interface import TakenOver, WriteFailed, Writer
from palimpsest.store.log.takeover import renumber_records
from palimpsest.store.log_lines import Redaction, SecretValues, no_secret_values
from palimpsest.store.session_state.live_window import (
    is_wide,
    live_window,
    narrow_to_window,
    window_checkpoint,
)
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import StorageFailed, UnknownError, UserError
from palimpsest.transcript.session_record.events import (
    Event,
    PartDelta,
    Record,
    SessionCompacted,
    SessionError,
)

Subscriber = Callable[[Sequence[Record]], None]
T = TypeVar("T")

TICK_SECONDS = 0.04
"""Interval of writes: 25 updates a second look like continuous text, and 200 deltas a second become 25 lines."""

MAX_LOAD_TRIES = 3

RETRY_SECONDS = 1.0
"""Interval at which a failed write is retried while nothing else is written."""

LOG = logging.getLogger(__name__)


def now_ms() -> int:
    """Return the time in milliseconds since 1970, as records and ids have it."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class _Waiter:
    seq: int
    sync: bool
    on_done: Callable[[bool], None]


class Journal:
    """Writes one session's log, keeps its state, and notifies its subscribers.

    ``append`` and ``delta`` may be called from any thread. ``state`` includes everything appended so
    far; other threads read it through ``read_state``.
    """

    def __init__(
        self,
        writer: Writer,
        state: State,
        *,
        clock: Callable[[], int],
        tick_seconds: float = TICK_SECONDS,
        secrets: SecretValues = no_secret_values,
    ) -> None:
        self.state = state
        self.lock = threading.RLock()
        """Protects ``state`` and the order of records."""
        self.failure: str | None = None
        """One sentence while records cannot be written, or since another kernel took over; else None."""
        self.stall = Stall(lambda: self.session_id)
        """Describes a write that does not return; subscribers receive no records meanwhile."""
        self.on_moved: Callable[[], None] = lambda: None
        """Called on the writer thread after another kernel took the session over, and the log goes on in a fork."""
        self.cached_reads: list[dict[Any, Any]] = []
        """Caches of readers of the state; cleared whenever it changes."""
        self._writer = writer
        self._clock = clock
        self._tick_seconds = tick_seconds
        self._redaction = Redaction(secrets)
        self._wake_condition = threading.Condition(self.lock)
        self._deltas: deque[tuple[str, str, str, str]] = deque()
        self._queue: list[Record] = []
        self._unwritten_records: list[Record] = []
        self._unannounced_records: list[Record] = []
        self._opened_seq = state.seq
        self._written_seq = state.seq
        self._synced_seq = state.seq
        self._sync_seq = 0
        self._waiters: list[_Waiter] = []
        self._subscribers: list[Subscriber] = []
        self._requested_checkpoints: list[str | None] = []
        """Of each the id of its window's first message; None where the last compaction decides."""
        self._appended_while_loading: list[Record] | None = None
        self._is_takeover_check_due = False
        self._takeover_sentence: str | None = None
        self._refusal_sentence = ""
        self._is_urgent = False
        self._is_sleeping = False
        self._is_closing = False
        self._is_closed = False
        self._thread = threading.Thread(
            target=self._run, name=f"palimpsest-journal-{writer.session_id[-6:]}", daemon=True
        )
        self._thread.start()

    @property
    def session_id(self) -> str:
        """The id of the session whose log is written; the fork's after another kernel took over."""
        return self._writer.session_id

    def missing_reason(self) -> str:
        """Return why the log is no longer found where it was opened, as a clause; empty where it is."""
        return self._writer.missing_reason()

    @property
    def problem(self) -> str:
        """One sentence while records are in memory only: a write hangs, or the disk refuses it; else empty."""
        return self.stall.sentence or self._refusal_sentence

    # Appending

    def append(self, *events: Event, sync: bool = False) -> int:
        """Append events in order and return the last one's sequence number.

        With ``sync`` they are written without waiting for the tick and synced to the disk; await
        ``flush`` to wait until they are. Raises StorageFailed when the journal is closed.
        """
        with self._wake_condition:
            if self._is_closed or self._is_closing:
                raise StorageFailed("This session's journal is closed; open the session again.")
            self._append_delta_records()
            for event in events:
                self._add_record(self._redaction.event(event, self.state.part))
                if isinstance(event, SessionCompacted):
                    self._requested_checkpoints.append(None)
            if sync:
                self._sync_seq = self.state.seq
                self._is_urgent = True
            if self._is_sleeping or self._is_urgent:
                # A writer that collects for a tick is left alone.
                self._wake_condition.notify()
            return self.state.seq

    def delta(self, message_id: str, part_id: str, field: str, text: str) -> None:
        """Append text to a string field of a part; ``field`` is a dotted path to it."""
        self._deltas.append((message_id, part_id, field, text))
        if self._is_sleeping:
            with self._wake_condition:
                self._wake_condition.notify()

    def _add_record(self, event: Event) -> None:
        self._clear_cached_reads()
        record = Record(seq=self.state.seq + 1, ts=self._clock(), event=event)
        self.state.apply(record)
        self._queue.append(record)
        if self._appended_while_loading is not None:
            self._appended_while_loading.append(record)

    def _append_delta_records(self) -> None:
        """Create records of the deltas that arrived, one per part and field."""
        texts_by_field: dict[tuple[str, str, str], list[str]] = {}
        while self._deltas:
            message_id, part_id, field, text = self._deltas.popleft()
            texts_by_field.setdefault((message_id, part_id, field), []).append(text)
        for (message_id, part_id, field), texts in texts_by_field.items():
            delta = self._redaction.redacted_delta(message_id, part_id, field, "".join(texts))
            if delta:
                delta_fields = {"message_id": message_id, "part_id": part_id, "field": field}
                self._add_record(PartDelta(**delta_fields, delta=delta))

    # Reading and listening

    def read_state(self, value_of: Callable[[State], T]) -> T:
        """Return the result of ``value_of`` on the state, which includes everything appended so far."""
        with self._wake_condition:
            if not self._is_closed:
                self._append_delta_records()
            return value_of(self.state)

    def load_whole(self, load_state: Callable[[], State]) -> None:
        """Replace the live-window state by that of the whole session; waits for the disk, so never called on the engine's thread.

        ``load_state`` reads it from the store; records that are appended meanwhile are included. Raises StorageFailed.
        """
        try:
            for _ in range(MAX_LOAD_TRIES):
                if self._load_whole_state(load_state):
                    return
        finally:
            self._appended_while_loading = None
        raise StorageFailed(
            f"Session {self.session_id!r} could not be read whole, since other kernels keep taking it over."
        )

    def _load_whole_state(self, load_state: Callable[[], State]) -> bool:
        """Load the whole state and use it; False when another kernel took the session over meanwhile."""
        with self._wake_condition:
            self._append_delta_records()
            appended_records = self._appended_while_loading = []
            session_id = self.session_id
        self._flush_or_raise()
        state = load_state()
        with self._wake_condition:
            # A kernel that took over may have written already, and its records would be read as this kernel's.
            self._is_takeover_check_due = True
        self._flush_or_raise()
        with self._wake_condition:
            self._append_delta_records()
            if self.session_id != session_id:
                return False
            for record in appended_records:
                state.apply(record)
            self.state = state
            self._clear_cached_reads()
            return True

    def _flush_or_raise(self) -> None:
        if not self.flush_sync():
            raise StorageFailed(
                "The session cannot be read whole while the disk refuses to write; make room on it."
            )

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call back on the writer thread with records once they are written; returns an unsubscriber.

        An exception of a subscriber is logged and does not affect the others.
        """
        with self.lock:
            self._subscribers = [*self._subscribers, callback]

        def unsubscribe() -> None:
            with self.lock:
                subscribers = self._subscribers
                self._subscribers = [other for other in subscribers if other is not callback]

        return unsubscribe

    # Waiting

    async def flush(self, *, sync: bool = False) -> bool:
        """Wait until everything so far is written, with ``sync`` until it is on the disk.

        False means that the write failed: everything is kept in memory and will be retried.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()

        def report_done(is_written: bool) -> None:  # noqa: FBT001
            loop.call_soon_threadsafe(_set_result, future, is_written)

        self._add_waiter(sync, report_done)
        return await future

    def flush_sync(self, timeout: float = 10.0, *, sync: bool = False) -> bool:
        """Wait as ``flush`` does, for a thread without an event loop; False also after ``timeout`` seconds.

        Called by a subscriber, it does not wait, and returns whether nothing is left to write.
        """
        if threading.current_thread() is self._thread:
            return not self._unwritten_records and not self._queue
        done_event = threading.Event()
        results: list[bool] = []

        def report_done(is_written: bool) -> None:  # noqa: FBT001
            results.append(is_written)
            done_event.set()

        self._add_waiter(sync, report_done)
        return done_event.wait(timeout) and results[0]

    def _add_waiter(self, sync: bool, on_done: Callable[[bool], None]) -> None:  # noqa: FBT001
        with self._wake_condition:
            if self._is_closed:
                on_done(self.failure is None)
                return
            self._append_delta_records()
            self._waiters.append(_Waiter(self.state.seq, sync, on_done))
            self._is_urgent = True
            self._wake_condition.notify()

    # Checkpoints and the end

    def checkpoint(self, first_message_id: str | None = None) -> None:
        """Write a checkpoint with the next records; the live window begins at ``first_message_id``.

        Without an id it begins where the last compaction allows.
        """
        with self._wake_condition:
            self._requested_checkpoints.append(first_message_id)
            self._is_urgent = True
            self._wake_condition.notify()

    async def keep_narrow(self) -> None:
        """Write a checkpoint where many messages before the live window are in memory, to drop them from it.

        They are there after opening a log without a checkpoint, and after ``load_whole``.
        """
        with self._wake_condition:
            is_wide_state = bool(self.state.slots_with_type("compaction")) and is_wide(self.state)
            if is_wide_state:
                self.checkpoint()
        if is_wide_state:
            await self.flush()

    def close(self, timeout: float = 10.0) -> None:
        """Write all records, and a checkpoint if anything was appended; then release the session."""
        with self._wake_condition:
            if self._is_closing:
                return
            self._append_delta_records()
            for delta in self._redaction.unfinished_deltas():
                self._add_record(delta)
            if self.state.seq > self._opened_seq:
                self._requested_checkpoints.append(None)
            self._is_closing = True
            self._wake_condition.notify()
        self._thread.join(timeout)

    # The writer thread

    def _run(self) -> None:
        while True:
            with self._wake_condition:
                self._sleep_until_work()
                self._queue_deltas_and_checkpoint()
                is_closing, self._is_urgent = self._is_closing, False
                batch, self._queue = self._queue, []
                waiters, self._waiters = self._waiters, []
                self._sync_seq = max([self._sync_seq, *(w.seq for w in waiters if w.sync)])
            self._write(batch, sync=self._sync_seq > self._synced_seq)
            self._resolve_waiters(waiters)
            if is_closing:
                self._end_writing()
                return

    def _queue_deltas_and_checkpoint(self) -> None:
        try:
            self._append_delta_records()
            self._queue_checkpoint()
        except Exception:
            # A caller's mistake, such as a delta that is no text, must not end the thread.
            LOG.exception("What was to be journaled is no record.")

    def _sleep_until_work(self) -> None:
        """Sleep while nothing is pending, then collect for a tick unless a caller waits."""
        self._is_sleeping = True
        while not self._has_work():
            is_write_pending = bool(self._unwritten_records) or self._sync_seq > self._synced_seq
            seconds = RETRY_SECONDS if is_write_pending else None
            if not self._wake_condition.wait(seconds) and is_write_pending:
                break
        self._is_sleeping = False
        deadline = time.monotonic() + self._tick_seconds
        while not (self._is_urgent or self._is_closing):
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                break
            self._wake_condition.wait(seconds_left)

    def _has_work(self) -> bool:
        return bool(
            self._queue or self._deltas or self._waiters or self._is_urgent or self._is_closing
        )

    def _write(self, batch: Sequence[Record], *, sync: bool) -> None:
        self._unwritten_records.extend(batch)
        self._unannounced_records.extend(batch)
        is_takeover_check_due, self._is_takeover_check_due = self._is_takeover_check_due, False
        if not (
            self._unwritten_records or self._unannounced_records or sync or is_takeover_check_due
        ):
            return
        with self.stall.watching():
            if self._unwritten_records or sync or is_takeover_check_due:
                self._try_to_write(sync=sync)
            self._notify_subscribers()

    def _try_to_write(self, *, sync: bool) -> None:
        last_seq = self._unwritten_records[-1].seq if self._unwritten_records else self._written_seq
        try:
            self._writer.append(self._unwritten_records, sync=sync)
        except TakenOver as takeover:
            self._continue_in_fork(takeover)
        except WriteFailed as refusal:
            if refusal.written_count:
                self._written_seq = self._unwritten_records[refusal.written_count - 1].seq
            del self._unwritten_records[: refusal.written_count]
            self._report_failure(str(refusal))
        except (UserError, OSError) as refusal:
            self._report_failure(str(refusal))
        except Exception as error:
            # The thread must survive any error: everything stays in memory and is retried.
            LOG.exception("Records could not be written.")
            self._report_failure(f"Records could not be written: {error}.")
        else:
            self._unwritten_records.clear()
            self._written_seq = last_seq
            self._synced_seq = last_seq if sync else self._synced_seq
            self.failure = self._takeover_sentence
            self._set_refusal("")

    def _continue_in_fork(self, takeover: TakenOver) -> None:
        with self.lock:
            self._takeover_sentence = str(takeover)
            self._writer = takeover.writer
            shift, fork = takeover.seq_shift, takeover.fork
            self.state.become_fork(fork, shift)
            self._clear_cached_reads()
            self._queue = renumber_records(self._queue, shift, fork)
            self._unannounced_records = renumber_records(self._unannounced_records, shift, fork)
            last_seq = (
                self._unwritten_records[-1].seq if self._unwritten_records else self._written_seq
            )
            self._written_seq = self._synced_seq = last_seq + shift
            self._unwritten_records.clear()
            self.failure = None
        self._report_failure(str(takeover))
        self.on_moved()

    def _set_refusal(self, sentence: str) -> None:
        if sentence != self._refusal_sentence:
            self._refusal_sentence = sentence
            self.stall.notify()

    def _report_failure(self, sentence: str) -> None:
        self._set_refusal(sentence if self._unwritten_records else "")
        if self.failure in {None, self._takeover_sentence} and sentence != self.failure:
            with self.lock:
                self.failure = sentence
                self._add_record(SessionError(error=UnknownError(message=sentence)))

    def _notify_subscribers(self) -> None:
        records, self._unannounced_records = self._unannounced_records, []
        if not records:
            return
        self.stall.is_calling_subscribers = True
        for subscriber in self._subscribers:
            try:
                subscriber(records)
            except Exception:
                LOG.exception("A listener of the journal failed; the others go on.")
        self.stall.is_calling_subscribers = False

    def _resolve_waiters(self, waiters: Sequence[_Waiter]) -> None:
        is_written = not self._unwritten_records
        for waiter in waiters:
            with suppress(RuntimeError):  # its event loop was closed, so no caller waits any more
                waiter.on_done(is_written and (not waiter.sync or waiter.seq <= self._synced_seq))

    def _queue_checkpoint(self) -> None:
        """Queue a checkpoint after the queued records, if one was requested."""
        if not self._requested_checkpoints or self._unwritten_records:
            return
        first_message_id, self._requested_checkpoints = self._requested_checkpoints[-1], []
        if self.state.session is None:
            return
        window = live_window(self.state, first_message_id)
        try:
            is_written = window.seq <= self._written_seq
            writer = self._writer
            window_begin = writer.place_of_record(window.seq) if is_written else writer.position()
        except StorageFailed:
            return
        self._add_record(
            window_checkpoint(self.state, window, window_begin, self._writer.written_lines)
        )
        narrow_to_window(self.state, window)

    def _clear_cached_reads(self) -> None:
        for cache in self.cached_reads:
            cache.clear()

    def _end_writing(self) -> None:
        with self._wake_condition:
            self._is_closed = True
            waiters, self._waiters = self._waiters, []
        self._resolve_waiters(waiters)
        self._writer.close()


def _set_result(future: asyncio.Future[bool], is_written: bool) -> None:  # noqa: FBT001
    if not future.done():
        future.set_result(is_written)
