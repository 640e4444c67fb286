"""Jobs for the main thread: run a piece of Python, read variables.

Border: a job defines how it runs; ``frontends/kernel/main_thread.py`` decides where and when.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Protocol

from palimpsest.frontends.kernel.code_execution import Execution
from palimpsest.frontends.kernel.interrupts import Interruptible
from palimpsest.frontends.kernel.output_capture import Capture
from palimpsest.frontends.user_cells.hidden_cells import hidden_cells
from palimpsest.frontends.variables.kernel_objects import KernelObjects
from palimpsest.frontends.variables.reachable_values import user_variables
from palimpsest.frontends.variables.variable_fingerprints import input_checksums
from palimpsest.tools.tool import PythonOutcome


class JobHost(Protocol):
    """Shows the outputs of jobs, as the cell that waits for the answer does.

    Contract: ``prepare_native_output`` is called on the main thread before each native output and returns
    whether the output can be shown; ``warn_stuck`` may be called from the engine thread.
    """

    def show_call(self, call_id: str) -> None:
        """Show the call's card before its output."""

    def prepare_native_output(self, call_id: str) -> bool:
        """Prepare the cell for a native output; returns False where the output must be captured instead."""

    def warn_stuck(self, sentence: str) -> None:
        """Show the user that the code does not stop."""


class Job(Interruptible):
    """Work that the main thread does once."""

    def __init__(self, session_id: str | None) -> None:
        self.session_id = session_id
        self.future: Future[Any] = Future()
        self.host: JobHost | None = None
        self.has_started = False

    async def do_work(self, shell: Any, *, awaits: bool) -> Any:
        """Do the work; where it may await, the main loop runs other tasks meanwhile."""
        raise NotImplementedError


class CodeJob(Job):
    """Run a piece of the agent's Python."""

    def __init__(self, session_id: str | None, code: str, call_id: str) -> None:
        super().__init__(session_id)
        self.call_id = call_id
        self._code = code
        self.output_capture = Capture(self._prepare_native_output, lambda: self.interrupted, code)

    async def do_work(self, shell: Any, *, awaits: bool) -> PythonOutcome:
        """Run the code."""
        if self.host is not None:
            self.host.show_call(self.call_id)
        inputs = input_checksums(self._code, dict(user_variables(shell)), KernelObjects(shell))
        hidden_cells(shell).reveal_source(self._code)
        execution = Execution(shell, self._code, self.output_capture)
        if awaits:
            return replace(await execution.run_awaiting(self._on_start), input_checksums=inputs)
        if self.interrupted:  # during the preparation, in which no KeyboardInterrupt is raised
            raise KeyboardInterrupt
        return replace(execution.run(), input_checksums=inputs)

    def _on_start(self, task: "asyncio.Task[Any]") -> None:
        self.task = task

    def _prepare_native_output(self) -> bool:
        return self.host is not None and self.host.prepare_native_output(self.call_id)


class ReadJob(Job):
    """Read the user's variables."""

    def __init__(self, session_id: str | None, read_variables: Callable[[Any], Any]) -> None:
        super().__init__(session_id)
        self._read_variables = read_variables

    async def do_work(self, shell: Any, *, awaits: bool) -> Any:  # noqa: ARG002  # it awaits nothing
        """Read the variables; a repr that does not end can be interrupted."""
        return self._read_interruptibly(shell)

    def _read_interruptibly(self, shell: Any) -> Any:
        if self.interrupted:  # before this function, in which alone KeyboardInterrupt is raised
            raise KeyboardInterrupt
        return self._read_variables(shell)

    interruptible_code = _read_interruptibly.__code__


class Interrupted(Exception):  # no suffix Error: the user wanted it
    """A job was stopped before it ended."""
