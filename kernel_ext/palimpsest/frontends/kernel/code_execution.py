"""Run the agent's Python in the user's namespace, once, on the thread that calls.

Border: IPython only; knows nothing of sessions, threads or waiting. No history, no ``In``, no
``Out``, no ``_``, the prompt number stays; what the code defines stays (that is the point).
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.async_helpers import _should_be_async
from IPython.core.displayhook import DisplayHook

from palimpsest.frontends.kernel.output_capture import Capture
from palimpsest.frontends.process_guard.agent_pieces import late_sentences
from palimpsest.frontends.process_guard.event_loop import in_steps, running_loop, surviving
from palimpsest.frontends.process_guard.excepthook import excepthook_watched
from palimpsest.frontends.process_guard.kernel_ends import kernel_kept
from palimpsest.frontends.process_guard.lasting_guards import guard
from palimpsest.frontends.process_guard.late_streams import guard_streams
from palimpsest.frontends.process_guard.left_running import left_running
from palimpsest.frontends.process_guard.process_changes import ProcessState
from palimpsest.frontends.process_guard.unanswered_input import nobody_answers
from palimpsest.tools.tool import PythonOutcome

NO_AWAIT = (
    "SyntaxError: top-level 'await' is not possible in this call. %agent waits in its blocking form here "
    "(under %%time or %%capture, in a loop or function, or with %autoawait off), where the main loop stands "
    "still. Write the code without await, or ask from a cell that begins with %%agent."
)


class Execution:
    """One piece of code, ready to run.

    Responsibilities: transform the code, tell whether it must be awaited, run it under capture,
    and return its outputs as one value.
    """

    def __init__(self, shell: Any, code: str, capture: Capture) -> None:
        self._shell = shell
        self._code = code
        self._capture = capture
        self._piece = capture.piece
        capture.quiet = _silenced(code)
        self._problem: Any = None
        self._transformed = code
        try:
            self._transformed = shell.transform_cell(code)
        except Exception:  # noqa: BLE001  # whatever a transformer raised is shown as the code's error
            self._problem = sys.exc_info()
        self.awaits = self._problem is None and _should_be_async(self._transformed)

    def run(self) -> PythonOutcome:
        """Run code that needs no event loop; KeyboardInterrupt leaves it only from inside that code."""
        if self.awaits:
            return self._outcome(NO_AWAIT)
        flush_figures(self._shell)
        with self._protected(), surviving(running_loop(), self._piece.refuse):
            drive(self._cell(), self._shell, self._end_child)
        return self._outcome()

    async def run_awaiting(self, started: Callable[["asyncio.Task[Any]"], None]) -> PythonOutcome:
        """Run code on the caller's event loop; ``started`` gets the task, so that it can be cancelled."""
        if not self.awaits:
            return self.run()
        if not self._shell.autoawait:
            return self._outcome(NO_AWAIT)
        flush_figures(self._shell)
        loop = asyncio.get_running_loop()
        with self._protected():
            task = loop.create_task(in_steps(self._cell(), self._piece.refuse, self._end_child))
            started(task)
            await asyncio.wait([task])
            with surviving(loop, self._piece.refuse):
                _finish(self._shell, None if task.cancelled() else task.result())
        return self._outcome()

    @contextmanager
    def _protected(self) -> Iterator[None]:
        """Capture the code's outputs, keep it from ending the kernel, and note what it leaves changed."""
        self._capture.notes += late_sentences()
        guard(self._shell)
        guard_streams(self._shell)
        self._piece.loop = running_loop()
        self._piece.waiting_task = asyncio.current_task() if self._piece.loop else None
        before = ProcessState()
        try:
            with (
                self._capture.installed(self._shell),
                kernel_kept(self._shell, self._piece),
                nobody_answers(self._capture.notes.append),
                excepthook_watched(self._shell, self._piece, self._capture.notes.append),
            ):
                yield
        finally:
            self._piece.ended = True
            self._capture.notes += before.changes()
            self._capture.left_running = left_running(self._piece)

    def _end_child(self) -> None:
        """End a process that the code forked, at the end of the code: it would go on as a second kernel."""
        if self._capture.in_child:
            error = self._capture.error
            try:
                if error is not None:
                    self._capture.write_from_child("stderr", f"{error.rstrip()}\n")
            finally:
                os._exit(0 if error is None else 1)

    def _cell(self) -> Coroutine[Any, Any, Any]:
        cell: Coroutine[Any, Any, Any] = self._shell.run_cell_async(
            self._code,
            store_history=False,
            transformed_cell=self._transformed,
            preprocessing_exc_tuple=self._problem,
        )
        return cell

    def _outcome(self, error: str | None = None) -> PythonOutcome:
        capture = self._capture
        told = capture.error or ""
        refused = "\n".join(one for one in self._piece.refusals if one not in told)
        if refused:
            capture.error = f"{capture.error.rstrip()}\n{refused}" if capture.error else refused
        return capture.outcome(error)


def drive(
    cell: Coroutine[Any, Any, Any], shell: Any, after: Callable[[], object] = lambda: None
) -> None:
    """Run a cell's coroutine that never suspends; the interrupt handler looks for this frame."""
    result = None
    try:
        cell.send(None)
    except StopIteration as stop:
        result = stop.value
    finally:
        after()
        cell.close()
        _finish(shell, result)


def _finish(shell: Any, result: Any) -> None:
    """Notify IPython's listeners that the code has ended; matplotlib shows its figures then."""
    shell.events.trigger("post_execute")
    shell.events.trigger("post_run_cell", result)


def flush_figures(shell: Any) -> None:
    """Show the figures that the user's own code of this cell left open, before the agent's code runs."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and pyplot.get_fignums():
        shell.events.trigger("post_execute")


def _silenced(code: str) -> bool:
    """Tell whether the code ends in a semicolon, which hides its value as in a cell."""
    try:
        return bool(DisplayHook.semicolon_at_end_of_expression(code))
    except Exception:  # noqa: BLE001  # tokenize raises several kinds on what is no Python
        return False
