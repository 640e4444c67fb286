"""Run cells that a page was asked to run: match its execute request, and await the end of the run.

Border: a request counts once, only with the id that this kernel gave out, and only for the cell and the source that
were asked for. The page sends it on the control channel, which a waiting cell does not block; whether the main thread is
free may change meanwhile, so every such run goes the same way, as a job of the main thread.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from palimpsest.frontends.kernel.cell_run_job import (
    CellRunJob,
    ControlStream,
    NestedNumbers,
    reply_aborted,
)
from palimpsest.frontends.kernel.jobs import Interrupted
from palimpsest.frontends.kernel.main_thread import STUCK_SECONDS, MainThread
from palimpsest.frontends.user_cells.requested_cells import RUN_KEY
from palimpsest.tools.tool import Abort, CellNotRun, NotebookReader
from palimpsest.transcript.context_values.cell_changes import CellResult
from palimpsest.transcript.context_values.cell_runs import CellRun, has_hidden_tag, is_same_source
from palimpsest.transcript.errors import Aborted, UserError

MAX_BEGIN_SECONDS = 5.0
"""Time in which a page's execute request must arrive once it has answered that it runs the cell."""
ABORT_CHECK_SECONDS = 0.1
"""Interval at which a wait checks whether it was aborted."""
MAX_REMEMBERED_REQUESTS = 200
"""Number of newest runs whose requests are remembered."""
NOT_BEGUN = (
    "The page began to run the cell, but its request did not reach the kernel within {seconds:.0f} seconds, so it did "
    "not run. Ask the user to reload the page, or to run the cell."
)
NOT_RECORDED = "The cell ran, but its outputs were not recorded. Ask the user what it showed."
STILL_RUNS = "The cell was told to stop and has not: it is inside compiled code that does not listen. It still runs."


@dataclass(eq=False)
class _ExpectedRun:
    """A run that a page was asked for."""

    session_id: str
    cell_id: str
    source: str
    job_future: "Future[CellRunJob]" = field(default_factory=Future)


class RequestedRuns:
    """The runs of cells that pages were asked for: accepts their execute requests and awaits their ends."""

    def __init__(self, main_thread: MainThread, reader: NotebookReader | None) -> None:
        self._main_thread = main_thread
        self._reader = reader
        self._nested_numbers = NestedNumbers(lambda: main_thread.running_cell_count())
        self._expected_runs: dict[str, _ExpectedRun] = {}
        self._session_ids: dict[str, str] = {}
        """The session that asked for each accepted request, by the id of the page's message."""

    def session_id_of(self, request_id: str) -> str:
        """Return the id of the session for which a page's message runs a cell; empty for a person's; from any thread."""
        return self._session_ids.get(request_id, "")

    async def run(
        self,
        cell_id: str,
        source: str,
        ask_page: Callable[[Callable[[str], None]], Awaitable[CellResult]],
        *,
        session_id: str,
        abort: Abort,
    ) -> CellRun:
        """Run a cell to its end and return its recorded run; on the engine.

        ``ask_page`` asks the page, and is given a function for the request's id. Raises CellNotRun with the page's
        result, Aborted where the run was withdrawn before it began, and UserError.
        """
        expected_run = _ExpectedRun(session_id, cell_id, source)
        request_ids: list[str] = []

        def expect_request(request_id: str) -> None:
            request_ids.append(request_id)
            self._expected_runs[request_id] = expected_run

        try:
            result = await ask_page(expect_request)
            if result.problem is not None:
                raise CellNotRun(result)
            job = await self._await_begun_job(expected_run, abort)
        finally:
            for request_id in request_ids:
                self._expected_runs.pop(request_id, None)
        await self._await_end(job, abort)
        run = self._reader.run_of_request(job.request_id) if self._reader is not None else None
        if run is None:
            raise UserError(NOT_RECORDED)
        return run

    def accept(self, identity: Any, request: dict[str, Any]) -> None:
        """Post the run of a page's execute request, or reply that it was not run; on the control thread."""
        kernel = self._main_thread.shell.kernel
        run_key = (request.get("metadata") or {}).get(RUN_KEY)
        expected_run = self._expected_runs.pop(run_key, None) if isinstance(run_key, str) else None
        if (
            expected_run is None
            or not _is_asked_for(request, expected_run)
            or not expected_run.job_future.set_running_or_notify_cancel()
        ):
            reply_aborted(kernel, ControlStream(kernel), identity, request)
            return
        job = CellRunJob(expected_run.session_id, kernel, identity, request, self._nested_numbers)
        newest_ids = [*self._session_ids.items(), (job.request_id, expected_run.session_id)]
        self._session_ids = dict(newest_ids[-MAX_REMEMBERED_REQUESTS:])
        try:
            self._main_thread.post(job)
        except UserError as error:
            job.future.set_exception(error)
        expected_run.job_future.set_result(job)

    async def _await_begun_job(self, expected_run: _ExpectedRun, abort: Abort) -> CellRunJob:
        deadline = time.monotonic() + MAX_BEGIN_SECONDS
        run_future = asyncio.wrap_future(expected_run.job_future)
        while not run_future.done():
            await asyncio.wait([run_future], timeout=ABORT_CHECK_SECONDS)
            is_late = time.monotonic() > deadline
            # A job that is being made has been accepted, and is awaited.
            if (
                not run_future.done()
                and (abort.is_set() or is_late)
                and expected_run.job_future.cancel()
            ):
                raise UserError(NOT_BEGUN.format(seconds=MAX_BEGIN_SECONDS)) if is_late else Aborted
        return run_future.result()

    async def _await_end(self, job: CellRunJob, abort: Abort) -> None:
        """Await the end of a run, which an abort withdraws or interrupts."""
        unregister = abort.on_abort(lambda: self._main_thread.interrupt(job))
        run_future = asyncio.ensure_future(asyncio.wrap_future(job.future))
        stopped_at: float | None = None
        try:
            while not run_future.done():
                await asyncio.wait([run_future], timeout=ABORT_CHECK_SECONDS)
                if abort.is_set():
                    stopped_at = stopped_at or time.monotonic()
                    if time.monotonic() - stopped_at > STUCK_SECONDS + ABORT_CHECK_SECONDS:
                        raise UserError(STILL_RUNS)
            if run_future.cancelled() or isinstance(run_future.exception(), Interrupted):
                raise Aborted
            run_future.result()
        finally:
            unregister()
            run_future.cancel()


def _is_asked_for(request: dict[str, Any], expected_run: _ExpectedRun) -> bool:
    """Return whether a request runs the cell and the source that the page was asked to run."""
    metadata, content = request.get("metadata") or {}, request.get("content") or {}
    return (
        metadata.get("cellId") == expected_run.cell_id
        and is_same_source(str(content.get("code")), expected_run.source)
        and not has_hidden_tag(metadata)
    )
