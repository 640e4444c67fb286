"""Run the engine's jobs on the kernel's main thread, in a cell that waits or in the idle loop.

Border: decides where and when work runs on the main thread; the work itself is in ``frontends/kernel/jobs.py`` and
``frontends/typed_input/typed_answers.py``. The engine uses the main thread only through this module. A waiting cell
executes the work; with no cell waiting, it is posted to the kernel's idle loop, which runs it after the running cell.
"""

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from palimpsest.frontends.kernel.interrupts import (
    MAX_RESENT_SIGNALS,
    WAKE_SECONDS,
    InterruptHold,
    Interrupts,
)
from palimpsest.frontends.kernel.jobs import Interrupted, Job, JobHost
from palimpsest.transcript.errors import UserError

ResultT = TypeVar("ResultT")

STUCK_SECONDS = 2.0
"""Time after which the user is told that code does not stop: it is inside C code that checks for no signal."""
TICK_SECONDS = 0.03
"""Interval at which a waiting cell checks for work. An awaiting cell that was never woken would notice an
interrupt only when the work ends (measured with work of 4.4 s)."""

STUCK_WARNING = (
    "The code was told to stop {seconds:.0f} seconds ago and has not: it is inside compiled code that does not "
    "listen. Wait until it returns, or restart the kernel; the session is kept."
)
NO_CELL = (
    "Python can run only while a cell runs %agent here, because this shell has no loop of its own."
)


@dataclass(eq=False)
class CellWait:
    """A cell that runs jobs while it waits for an answer.

    Contract: used on the thread of its cell, within a ``with`` block. Jobs of its own session
    put native outputs into the cell; all outputs of other sessions' jobs are captured.
    """

    _main_thread: "MainThread"
    session_id: str
    _host: JobHost | None
    _stop: Callable[[], None]
    _tick: Callable[[], None]
    _jobs: deque[Job] = field(default_factory=deque)
    _wake_event: threading.Event = field(default_factory=threading.Event)
    _wake_loop: "tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None" = None
    _handler: InterruptHold | None = None

    def __enter__(self) -> "CellWait":
        self._handler = self._main_thread.interrupts.install(self._stop)
        self._main_thread.enter_wait(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._main_thread.leave_wait(self, self._jobs)
        if self._handler is not None:
            self._handler.restore_handler()

    def post(self, job: Job) -> None:
        """Queue a job for this cell; from any thread."""
        self._jobs.append(job)
        self.wake_cell()

    def wake_cell(self) -> None:
        """Make the cell check for work at once; from any thread."""
        self._wake_event.set()
        wake_loop = self._wake_loop
        if wake_loop is not None:
            loop, future = wake_loop
            loop.call_soon_threadsafe(_set_done, future)

    async def run(self, answer: "Future[Any]", *, awaits: bool) -> None:
        """Run jobs until the answer is there; in a cell that awaits it, the agent's Python may also await."""
        answer.add_done_callback(lambda _: self.wake_cell())
        while not answer.done():
            self._wake_event.clear()
            if awaits:
                loop = asyncio.get_running_loop()
                self._wake_loop = loop, loop.create_future()
            while self._jobs:
                job = self._jobs.popleft()
                await self._main_thread.run_job(job, self._host_of, awaits=awaits)
            self._tick()
            if answer.done() or self._jobs:
                continue
            if self._wake_loop is None:
                self._wake_event.wait(TICK_SECONDS)
            else:
                await asyncio.wait([self._wake_loop[1]], timeout=TICK_SECONDS)
        self._wake_loop = None

    def _host_of(self, job: Job) -> JobHost | None:
        return self._host if job.session_id == self.session_id else None


class MainThread:
    """Runs the engine's jobs on the main thread.

    Responsibilities: register waiting cells; give jobs to the right one or to the idle loop;
    interrupt a job whose call is aborted; report code that does not stop.
    """

    def __init__(
        self,
        shell: Any,
        engine_loop: Callable[[], asyncio.AbstractEventLoop],
        main_loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.shell = shell
        self.interrupts = Interrupts(engine_loop)
        self.running_cell_count: Callable[[], int] = lambda: 0
        """Returns the number of running cells; set by ``frontends/frontend.py``."""
        self._engine_loop = engine_loop
        self._main_loop = main_loop
        self._lock = threading.Lock()
        self._waits: list[CellWait] = []
        self._idle_jobs: deque[Job] = deque()
        self._is_serving = False
        self.current_job: Job | None = None

    @property
    def has_waiting_cell(self) -> bool:
        """Whether a cell waits for an answer; such a cell asks questions itself."""
        return bool(self._waits)

    @property
    def is_free(self) -> bool:
        """Whether a job would run soon: no cell runs, or a cell that waits for an answer would run it."""
        return self.current_job is None and (bool(self._waits) or not self.running_cell_count())

    def post(self, job: Job) -> None:
        """Queue a job for the main thread; from any thread."""
        with self._lock:
            wait = self._wait_for(job)
            if wait is not None:
                wait.post(job)
                return
            if self._main_loop is None:
                raise UserError(NO_CELL)
            self._idle_jobs.append(job)
            must_begin, self._is_serving = not self._is_serving, True
        if must_begin:
            self._main_loop.call_soon_threadsafe(self._begin_serving, context=contextvars.Context())

    def enter_wait(self, wait: CellWait) -> None:
        """Register a waiting cell, which takes over the jobs of the idle loop."""
        with self._lock:
            self._waits.append(wait)
            jobs, self._idle_jobs = self._idle_jobs, deque()
        for job in jobs:
            wait.post(job)

    def leave_wait(self, wait: CellWait, jobs: "deque[Job]") -> None:
        """Remove a cell that no longer waits; the jobs that it did not start are posted again."""
        with self._lock:
            self._waits.remove(wait)
        while jobs:
            job = jobs.popleft()
            try:
                self.post(job)
            except UserError as error:
                job.future.set_exception(error)

    async def run_job(
        self, job: Job, host_for: Callable[[Job], JobHost | None], *, awaits: bool
    ) -> None:
        """Run a job on this thread, or on its loop where the job may await."""
        if not job.future.set_running_or_notify_cancel():
            return
        job.host = host_for(job)
        job.has_started = True
        self.current_job = self.interrupts.running_piece = job
        try:
            result = await job.do_work(self.shell, awaits=awaits)
        except BaseException as error:  # noqa: BLE001  # a stop may be raised at any place of the job
            self._finish(job, error=error)
        else:
            self._finish(job, result)

    def serve_until(self, future: "Future[Any]", timeout: float | None) -> float | None:
        """Run posted jobs until a future is done or the timeout has passed; returns the remaining seconds.

        For a cell that blocks in ``.result()``: a job posted meanwhile would wait for the cell, and the
        cell for the job. On another thread, and inside a job, it does nothing.
        """
        end_seconds = None if timeout is None else time.monotonic() + timeout
        while not future.done() and self._may_serve():
            with self._lock:
                job = self._idle_jobs.popleft() if self._idle_jobs else None
            seconds_left = None if end_seconds is None else max(0.0, end_seconds - time.monotonic())
            if job is not None:
                with self._handling_sigint():
                    blocking(self.run_job(job, lambda _: None, awaits=False))
            elif seconds_left == 0.0:
                break
            else:
                wait([future], min(TICK_SECONDS, seconds_left or TICK_SECONDS))
        return None if end_seconds is None else max(0.0, end_seconds - time.monotonic())

    def _may_serve(self) -> bool:
        return threading.current_thread() is threading.main_thread() and self.current_job is None

    @contextmanager
    def _handling_sigint(self) -> Iterator[None]:
        """Within the block, handle SIGINT, so that a job without a cell can be interrupted."""
        handler = None if self.interrupts.is_handling else self.interrupts.install(lambda: None)
        try:
            yield
        finally:
            if handler is not None:
                handler.restore_handler()

    def interrupt(self, job: Job) -> None:
        """Stop a job because its call was aborted; from any thread."""
        if job.future.done():
            return
        if not job.has_started:
            job.future.cancel()
            return
        task = job.task
        if task is None:
            job.interrupted = True
            self._send_until_ended(job, 0)
        elif not job.interrupted:
            job.interrupted = True
            task.get_loop().call_soon_threadsafe(task.cancel)
        start_seconds = time.monotonic()
        loop = self._engine_loop()
        loop.call_soon_threadsafe(
            loop.call_later, STUCK_SECONDS, self._warn_if_stuck, job, start_seconds
        )

    def _send_until_ended(self, job: Job, attempts: int) -> None:
        """Send the signal until it ends the job: a signal during the preparation of code has no effect."""
        if job.has_reached_job or job.future.done() or attempts == MAX_RESENT_SIGNALS:
            return
        self.interrupts.interrupt_main()
        loop = self._engine_loop()
        delay = WAKE_SECONDS * 2**attempts
        loop.call_soon_threadsafe(loop.call_later, delay, self._send_until_ended, job, attempts + 1)

    def catch_idle(self, stop: Callable[[], object]) -> Callable[[], None]:
        """Let the stop button stop a turn for which no cell waits; returns a function that ends this."""
        loop = self._main_loop
        if loop is None:
            return lambda: None
        end_event = threading.Event()
        asyncio.run_coroutine_threadsafe(self._catch_idle(stop, end_event), loop)
        return end_event.set

    def _wait_for(self, job: Job) -> CellWait | None:
        own_waits = [wait for wait in self._waits if wait.session_id == job.session_id]
        return next(reversed(own_waits or self._waits), None)

    def _finish(self, job: Job, result: Any = None, error: BaseException | None = None) -> None:
        self.current_job = self.interrupts.running_piece = None
        if error is None:
            job.future.set_result(result)
        elif isinstance(error, KeyboardInterrupt | asyncio.CancelledError) or job.interrupted:
            job.interrupted = True
            job.future.set_exception(Interrupted())
        else:
            job.future.set_exception(error)

    def _warn_if_stuck(self, job: Job, start_seconds: float) -> None:
        if job.host is not None and not job.future.done():
            job.host.warn_stuck(STUCK_WARNING.format(seconds=time.monotonic() - start_seconds))

    async def _catch_idle(self, stop: Callable[[], object], end_event: threading.Event) -> None:
        handler: InterruptHold | None = None
        while not end_event.is_set():
            if not self._waits and not self.running_cell_count():
                if handler is None:
                    handler = self.interrupts.install(stop)
                else:
                    handler.reinstall()
            await asyncio.sleep(TICK_SECONDS)
        if handler is not None:
            handler.restore_handler()

    def _begin_serving(self) -> None:
        # Keep a reference: the loop has only a weak one.
        self._server = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        """Run posted jobs while no cell runs, one at a time."""
        while True:
            with self._lock:
                if not self._idle_jobs:
                    self._is_serving = False
                    return
            async with self._without_cells():
                with self._lock:
                    job = self._idle_jobs.popleft() if self._idle_jobs else None
                if job is not None:
                    with self._handling_sigint():
                        await self.run_job(job, lambda _: None, awaits=True)

    @asynccontextmanager
    async def _without_cells(self) -> AsyncIterator[None]:
        """Wait until no cell runs, and make new cells wait until the end of the block."""
        lock = getattr(getattr(self.shell, "kernel", None), "_main_asyncio_lock", None)
        if lock is None:  # ipykernel 6 has no such lock; an awaiting cell may then run meanwhile
            while self.running_cell_count() and self._idle_jobs:  # noqa: ASYNC110  # no event reports the end of a cell
                await asyncio.sleep(TICK_SECONDS)
            yield
            return
        async with lock:
            yield


def main_loop_of(shell: Any) -> asyncio.AbstractEventLoop | None:
    """Return the loop of the kernel's main thread, or None where the shell has none (a terminal)."""
    io_loop = getattr(getattr(shell, "kernel", None), "io_loop", None)
    loop: asyncio.AbstractEventLoop | None = getattr(io_loop, "asyncio_loop", None)
    return loop


def blocking(coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine that awaits nothing on this thread, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: ResultT = stop.value
        return result
    raise RuntimeError("Work that blocks its thread awaited something.")


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
