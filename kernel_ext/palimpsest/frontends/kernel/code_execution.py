"""Run the agent's Python in the user's namespace, on the calling thread.

Border: IPython only, without sessions, threads or waiting. The code adds no history, no ``In``, no
``Out`` and no ``_``, and the prompt number stays; names that it defines stay, on purpose.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from IPython.core.async_helpers import _should_be_async
from IPython.core.displayhook import DisplayHook

from palimpsest.frontends.kernel.output_capture import Capture
from palimpsest.frontends.process_guard.agent_pieces import late_sentences
from palimpsest.frontends.process_guard.attribute_patches import reporting_excepthook
from palimpsest.frontends.process_guard.event_loop import (
    protected_iteration,
    run_in_steps,
    running_loop,
)
from palimpsest.frontends.process_guard.kernel_ends import keeping_kernel_alive
from palimpsest.frontends.process_guard.lasting_guards import install_guards
from palimpsest.frontends.process_guard.late_streams import guard_streams
from palimpsest.frontends.process_guard.left_running import work_left_by
from palimpsest.frontends.process_guard.process_changes import ProcessState
from palimpsest.frontends.process_guard.unanswered_input import refusing_input
from palimpsest.tools.tool import PythonOutcome

NO_AWAIT = (
    "SyntaxError: top-level 'await' is not possible in this call. %agent waits in its blocking form here "
    "(under %%time or %%capture, in a loop or function, or with %autoawait off), where the main loop stands "
    "still. Write the code without await, or ask from a cell that begins with %%agent."
)


class Execution:
    """A piece of the agent's code: transforms it, awaits it where needed, and runs it under capture into one value."""

    def __init__(self, shell: Any, code: str, capture: Capture) -> None:
        self._shell = shell
        self._code = code
        self._output_capture = capture
        self._piece = capture.piece
        capture.is_quiet = _hides_value(code)
        self._transform_error: Any = None
        self._transformed_code = code
        try:
            self._transformed_code = shell.transform_cell(code)
        except Exception:  # noqa: BLE001  # any error of a transformer is shown as the code's error
            self._transform_error = sys.exc_info()
        self.awaits = self._transform_error is None and _should_be_async(self._transformed_code)

    def run(self) -> PythonOutcome:
        """Run code that needs no event loop; KeyboardInterrupt is raised only from inside that code."""
        if self.awaits:
            return self._outcome(NO_AWAIT)
        flush_figures(self._shell)
        with self._within_guards(), protected_iteration(running_loop(), self._piece.refuse):
            run_unsuspended(self._cell_coroutine(), self._shell, self._end_child)
        return self._outcome()

    async def run_awaiting(self, on_start: Callable[["asyncio.Task[Any]"], None]) -> PythonOutcome:
        """Run code on the caller's event loop; ``on_start`` is called with the task, which can be cancelled."""
        if not self.awaits:
            return self.run()
        if not self._shell.autoawait:
            return self._outcome(NO_AWAIT)
        flush_figures(self._shell)
        loop = asyncio.get_running_loop()
        with self._within_guards():
            task = loop.create_task(
                run_in_steps(self._cell_coroutine(), self._piece.refuse, self._end_child)
            )
            on_start(task)
            await asyncio.wait([task])
            with protected_iteration(loop, self._piece.refuse):
                _trigger_end_events(self._shell, None if task.cancelled() else task.result())
        return self._outcome()

    @contextmanager
    def _within_guards(self) -> Iterator[None]:
        """Within the block, capture outputs and prevent the end of the kernel; record changes that the code left."""
        self._output_capture.notes += late_sentences()
        install_guards(self._shell)
        guard_streams(self._shell)
        self._piece.loop = running_loop()
        self._piece.waiting_task = asyncio.current_task() if self._piece.loop else None
        state_before = ProcessState()
        try:
            with (
                self._output_capture.capture_outputs(self._shell),
                keeping_kernel_alive(self._shell, self._piece),
                refusing_input(self._output_capture.notes.append),
                reporting_excepthook(self._shell, self._piece, self._output_capture.notes.append),
            ):
                yield
        finally:
            self._piece.has_ended = True
            self._output_capture.notes += state_before.changed_settings()
            self._output_capture.left_running = work_left_by(self._piece)

    def _end_child(self) -> None:
        """Exit a process that the code forked when the code ends: it would continue as a second kernel."""
        if self._output_capture.in_child:
            error = self._output_capture.error
            try:
                if error is not None:
                    self._output_capture.write_from_child("stderr", f"{error.rstrip()}\n")
            finally:
                os._exit(0 if error is None else 1)

    def _cell_coroutine(self) -> Coroutine[Any, Any, Any]:
        coroutine: Coroutine[Any, Any, Any] = self._shell.run_cell_async(
            self._code,
            store_history=False,
            transformed_cell=self._transformed_code,
            preprocessing_exc_tuple=self._transform_error,
        )
        return coroutine

    def _outcome(self, error: str | None = None) -> PythonOutcome:
        capture = self._output_capture
        error_text = capture.error or ""
        refusals = "\n".join(text for text in self._piece.refusals if text not in error_text)
        if refusals:
            capture.error = f"{capture.error.rstrip()}\n{refusals}" if capture.error else refusals
        return capture.outcome(error)


def run_unsuspended(
    coroutine: Coroutine[Any, Any, Any], shell: Any, at_end: Callable[[], object] = lambda: None
) -> None:
    """Run a cell's coroutine that never suspends; the interrupt handler looks for this frame."""
    result = None
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result = stop.value
    finally:
        at_end()
        coroutine.close()
        _trigger_end_events(shell, result)


def run_to_end(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never suspends; the interrupt handler looks for this frame."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    finally:
        coroutine.close()
    raise RuntimeError("A cell that needs no event loop awaited something.")


def _trigger_end_events(shell: Any, result: Any) -> None:
    """Notify IPython's listeners that the code has ended, upon which matplotlib shows its figures."""
    shell.events.trigger("post_execute")
    shell.events.trigger("post_run_cell", result)


def flush_figures(shell: Any) -> None:
    """Show the figures that the user's own code of this cell left open, before the agent's code runs."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and pyplot.get_fignums():
        shell.events.trigger("post_execute")


def _hides_value(code: str) -> bool:
    """Return whether the code ends in a semicolon, which hides its value as in a cell."""
    with suppress(Exception):  # tokenize raises several kinds of errors on invalid Python
        return bool(DisplayHook.semicolon_at_end_of_expression(code))
    return False
