"""Run the tool calls of one step: check, ask for permission, run, and return the result of each.

A call is looked up, validated, permitted and run; each of these can end it with an error message that the model can act
on. Calls of tools that allow it run concurrently, others one after another in the order in which the model made them.
How long the calls waited for the user is counted apart from the time that they ran.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from palimpsest.model.interface import ToolCalled, ToolErred, ToolReturned
from palimpsest.processor.session_log import SessionLog
from palimpsest.tools.calls.error_containment import ExitAttempted, await_contained, wait_for_abort
from palimpsest.tools.tool import (
    Abort,
    AskFunction,
    Namespace,
    NotebookReader,
    PythonRunner,
    Tool,
    ToolContext,
)
from palimpsest.tools.workflow.question import Interview
from palimpsest.transcript.call_outcomes import ABORTED, REFUSED_BY, REFUSED_WHY
from palimpsest.transcript.errors import Aborted, PermissionDenied, UserError
from palimpsest.transcript.parts import WAITED
from palimpsest.transcript.values import Answers, Question

MAX_GRACE_SECONDS = 3.0
"""Time that a stopped tool has to return by itself, before its call is given up."""

UNATTENDED = "unattended"
"""Key in the metadata of a call's state: it was refused because no user was there to ask."""

MIN_WAIT_MS = 500
"""A shorter wait does not count: a permission rule answered, not the user."""


class ToolLookup(Protocol):
    """The tools of this step, by name; implemented by the registry."""

    def resolve(self, name: str) -> Tool | str:
        """Return the tool, or a sentence for the model when there is none of that name."""

    def validate(self, tool: Tool, tool_context: Any) -> Any:
        """Return the validated arguments, or a sentence for the model."""


@dataclass(slots=True)
class RunTools:
    """The values passed to the tool calls of a run: session, folders, permission, and the kernel's services."""

    log: SessionLog
    abort: Abort
    root: Path
    cwd: Path
    ask: Callable[[str, str, str], AskFunction]
    """``(message id, call id, tool)`` returns the function with which that call asks for permission."""
    guard_call: Callable[[str, ToolCalled], Awaitable[None]]
    """Awaited before a call runs; raises PermissionDenied when a doom loop is rejected."""
    python: PythonRunner | None = None
    namespace: Namespace | None = None
    notebook: NotebookReader | None = None
    extra_values: dict[str, Any] = field(default_factory=dict)
    """Further values for tools, such as ``environment``."""

    def context(
        self, message_id: str, call_id: str, agent: str, ask: AskFunction, **other_fields: Any
    ) -> ToolContext:
        """Return the context of one tool call; ``other_fields`` are further fields of ``ToolContext``."""
        extra_values = {**self.extra_values, **other_fields.pop("extra", {})}
        return ToolContext(
            session_id=self.log.session_id,
            message_id=message_id,
            call_id=call_id,
            agent=agent,
            abort=self.abort,
            messages=self.log.state.messages(),
            root=self.root,
            cwd=self.cwd,
            ask=ask,
            notebook=self.notebook,
            extra_values=extra_values,
            **other_fields,
        )


Result = ToolReturned | ToolErred


async def run_calls(
    calls: Sequence[ToolCalled],
    offer: ToolLookup,
    context: Callable[[ToolCalled], ToolContext],
    on_begin: Callable[[str], None],
    guard_call: Callable[[ToolCalled], Any],
) -> AsyncIterator[Result]:
    """Run the calls and yield each result as it comes.

    ``guard_call`` is awaited before a call runs and may raise PermissionDenied (a doom loop).
    """
    lock = asyncio.Lock()

    async def run_call(call: ToolCalled) -> Result:
        tool = offer.resolve(call.tool)
        is_exclusive = not isinstance(tool, str) and not tool.concurrent
        async with lock if is_exclusive else nullcontext():
            return await _run_checked_call(call, tool, offer, context, on_begin, guard_call)

    tasks = [asyncio.create_task(run_call(call)) for call in calls]
    try:
        for finished in asyncio.as_completed(tasks):
            yield await finished
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run_checked_call(
    call: ToolCalled,
    tool: Tool | str,
    offer: ToolLookup,
    context: Callable[[ToolCalled], ToolContext],
    on_begin: Callable[[str], None],
    guard_call: Callable[[ToolCalled], Any],
) -> Result:
    if call.problem is not None:
        return ToolErred(call.id, f"The input of this call is not valid JSON: {call.problem}")
    if isinstance(tool, str):
        return ToolErred(call.id, tool)
    arguments = offer.validate(tool, call.input)
    if isinstance(arguments, str):
        return ToolErred(call.id, arguments)
    tool_context = context(call)
    if tool_context.abort.is_set():
        return _aborted_call(call, {})
    try:
        await guard_call(call)
        on_begin(call.id)
        return await _run_until_abort(call, tool, arguments, tool_context)
    except PermissionDenied as denial:
        return _refused_call(call, denial)
    except Aborted as abort:
        return _aborted_call(call, {"diff": abort.diff} if abort.diff else {})
    except UserError as user_error:
        return ToolErred(call.id, str(user_error))
    except ExitAttempted as exit_attempt:
        return ToolErred(call.id, f"The tool {tool.name!r} failed: {exit_attempt}.")
    except Exception as exception:  # noqa: BLE001  a tool's defect must not end the session
        return _broken_call(call, tool, exception)


def _refused_call(call: ToolCalled, denial: PermissionDenied) -> ToolErred:
    """Return the error of a refused call, with who refused it, the reason, and the change it would have made."""
    metadata: dict[str, Any] = {REFUSED_BY: denial.denied_by}
    if denial.reason:
        metadata[REFUSED_WHY] = denial.reason
    if denial.diff:
        metadata["diff"] = denial.diff
    if denial.denied_by == "headless":
        metadata[UNATTENDED] = True
    is_rejected, guard = denial.stops_turn, denial.guard
    return ToolErred(call.id, str(denial), rejected=is_rejected, guard=guard, metadata=metadata)


def _broken_call(call: ToolCalled, tool: Tool, exception: Exception) -> Result:
    """Return an unexpected exception of a tool as its error; as aborted where the kernel is ending."""
    if no_more_threads(exception):
        return _aborted_call(call, {})
    problem = f"{type(exception).__name__}: {exception}"
    return ToolErred(call.id, f"The tool {tool.name!r} failed: {problem}")


def no_more_threads(exception: Exception) -> bool:
    """Return whether this failed because the interpreter is ending, when thread pools accept no more work."""
    return isinstance(exception, RuntimeError) and str(exception).startswith("cannot schedule")


async def _run_until_abort(
    call: ToolCalled, tool: Tool, arguments: Any, context: ToolContext
) -> Result:
    """Run the tool; once aborted it gets a short grace period to return its partial result."""
    task = asyncio.ensure_future(await_contained(tool.run(arguments, context)))
    abort_task = asyncio.ensure_future(wait_for_abort(context.abort))
    try:
        await asyncio.wait({task, abort_task}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=MAX_GRACE_SECONDS)
        if not task.done():
            return _aborted_call(call, {"not_returned": True})
        outcome = task.result()
    finally:
        abort_task.cancel()
        if not task.done():
            task.cancel()
    # A stopped tool that still returned keeps its printed output, marked as interrupted.
    if context.abort.is_set() and outcome.metadata.get("interrupted"):
        return _aborted_call(call, dict(outcome.metadata) | {"output": outcome.output})
    return ToolReturned(call.id, outcome)


def _aborted_call(call: ToolCalled, metadata: Mapping[str, Any]) -> ToolErred:
    return ToolErred(call.id, ABORTED, metadata={"interrupted": True, **metadata})


class UserWaitTime:
    """Adds up the waiting of one step; questions that are open at the same time count once."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._wait_ms_by_call: dict[str, int] = {}
        self._total_ms = 0
        self._open_wait_count = 0
        self._waiting_since_ms = 0

    @contextmanager
    def count_waiting(self, call_id: str) -> Iterator[None]:
        """Count the time of the ``with`` block as waiting for the user."""
        began_ms = self._clock()
        if self._open_wait_count == 0:
            self._waiting_since_ms = began_ms
        self._open_wait_count += 1
        try:
            yield
        finally:
            now_ms = self._clock()
            self._wait_ms_by_call[call_id] = (
                self._wait_ms_by_call.get(call_id, 0) + now_ms - began_ms
            )
            self._open_wait_count -= 1
            if self._open_wait_count == 0:
                self._total_ms += now_ms - self._waiting_since_ms

    def metadata_of(self, call_id: str) -> dict[str, int]:
        """Return the waiting time as metadata of a call's state; empty where it did not wait for the user."""
        waited_ms = self._wait_ms_by_call.get(call_id, 0)
        return {WAITED: waited_ms} if waited_ms >= MIN_WAIT_MS else {}

    @property
    def total(self) -> int:
        """Milliseconds of the step spent waiting for the user."""
        return self._total_ms if self._total_ms >= MIN_WAIT_MS else 0


class TimedInterview:
    """Wraps an interview, and counts the time until the answers as waiting for the user."""

    def __init__(
        self,
        interview: Interview,
        user_wait: UserWaitTime,
        call_id: str,
        around: Callable[[Awaitable[Answers]], Awaitable[Answers]],
    ) -> None:
        self._interview = interview
        self._user_wait = user_wait
        self._call_id = call_id
        self._around = around
        """Awaits the answers, and does what is to be done while the user is waited for."""

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        """Ask, and wait for the answers."""
        with self._user_wait.count_waiting(self._call_id):
            ask = self._interview.ask
            answers = ask(questions, message_id=message_id, call_id=call_id, abort=abort)
            return await self._around(answers)
