"""Run Python and read variables for the tools of one session.

Border: lives on the engine thread; posts jobs to the main thread and waits for them.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.frontends.kernel.jobs import CodeJob, Interrupted, ReadJob
from palimpsest.frontends.kernel.main_thread import STUCK_SECONDS, MainThread, ResultT
from palimpsest.frontends.user_cells.hidden_cells import hidden_cells
from palimpsest.frontends.variables.variables import describe_variable, list_variables
from palimpsest.tools.tool import (
    NAMES_AND_TYPES,
    Abort,
    PythonOutcome,
    ShownVariables,
    VariableInfo,
)
from palimpsest.transcript.errors import UserError

PROGRESS_INTERVAL_SECONDS = 0.1
"""Interval at which partial output of running code is passed on."""


class KernelPythonRunner:
    """Runs Python and reads variables for one session (tools.tool.PythonRunner, Namespace)."""

    def __init__(self, main_thread: MainThread, session_id: str) -> None:
        self._main_thread = main_thread
        self._session_id = session_id

    async def run(
        self, code: str, *, call_id: str, abort: Abort, on_output: Callable[[str], None]
    ) -> PythonOutcome:
        """Run code in the user's namespace and return its outputs."""
        job = CodeJob(self._session_id, code, call_id)
        self._main_thread.post(job)
        unregister = abort.on_abort(lambda: self._main_thread.interrupt(job))
        result_future = asyncio.ensure_future(asyncio.wrap_future(job.future))
        stopped_at: float | None = None
        try:
            while not result_future.done():
                await asyncio.wait([result_future], timeout=PROGRESS_INTERVAL_SECONDS)
                new_text = job.output_capture.take_new_text()
                if new_text:
                    on_output(new_text)
                if abort.is_set():
                    stopped_at = stopped_at or time.monotonic()
                    if time.monotonic() - stopped_at > STUCK_SECONDS + PROGRESS_INTERVAL_SECONDS:
                        break
        finally:
            unregister()
        if (
            not result_future.done()
            or result_future.cancelled()
            or isinstance(result_future.exception(), Interrupted)
        ):
            result_future.cancel()
            return self._without_hidden_lines(job.output_capture.outcome(None, interrupted=True))
        outcome: PythonOutcome = result_future.result()
        if job.interrupted:
            outcome = job.output_capture.outcome(outcome.error, interrupted=True)
        return self._without_hidden_lines(outcome)

    def _without_hidden_lines(self, outcome: PythonOutcome) -> PythonOutcome:
        """Return an outcome without lines of hidden cells, which a traceback may show."""
        mask = hidden_cells(self._main_thread.shell).masked_text
        return replace(
            outcome,
            stdout=mask(outcome.stdout),
            stderr=mask(outcome.stderr),
            result_text=None if outcome.result_text is None else mask(outcome.result_text),
            error=None if outcome.error is None else mask(outcome.error),
        )

    async def list(self, shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        """Return a description of every variable of the user."""
        return await self._read_in_kernel(lambda shell: list_variables(shell, shown))

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        """Return a detailed description of one variable."""
        return await self._read_in_kernel(lambda shell: describe_variable(shell, name, max_chars))

    async def _read_in_kernel(self, read_variables: Callable[[Any], ResultT]) -> ResultT:
        job = ReadJob(self._session_id, read_variables)
        self._main_thread.post(job)
        try:
            result: ResultT = await asyncio.wrap_future(job.future)
        except Interrupted:
            raise UserError("Looking at the variables was stopped.") from None
        return result
