"""Call user code, directly or in a thread, so that it only ever raises subclasses of ``Exception``.

On an asyncio loop ``sys.exit()`` and a keyboard interrupt end the loop itself, and with it every session; StopIteration
cannot pass through a future; a cancellation from within the code looks like the end of the kernel.

Work that would block the loop runs in a thread and is abandoned at once when the call is stopped. The work
should check the abort flag; the caller continues whether or not it does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted

Result = TypeVar("Result")

MAX_CANCEL_SECONDS = 1.0
"""Maximum time for cancelled work to end, and to notify others such as a server."""


class ExitAttempted(Exception):
    """The called code raised an exception, such as SystemExit, that would end more than the call."""


def call_contained(work: Callable[[], Result]) -> Result:
    """Return the result of a blocking call; raises only subclasses of Exception."""
    try:
        return work()
    except (
        SystemExit,
        KeyboardInterrupt,
        GeneratorExit,
        StopIteration,
        StopAsyncIteration,
    ) as error:
        raise ExitAttempted(_exit_text(error)) from error


async def await_contained(awaitable: Awaitable[Result]) -> Result:
    """Return the awaited result; raises only subclasses of Exception, and a cancellation of the caller."""
    try:
        return await awaitable
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ExitAttempted("it was cancelled from within") from error
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise ExitAttempted(_exit_text(error)) from error


def _exit_text(error: BaseException) -> str:
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return f"it tried to end the kernel ({type(error).__name__})"
    return f"it raised {type(error).__name__}"


async def wait_for_abort(abort: Abort) -> None:
    """Return when the flag is set, by any thread."""
    loop = asyncio.get_running_loop()
    stopped_event = asyncio.Event()
    unregister = abort.on_abort(lambda: loop.call_soon_threadsafe(stopped_event.set))
    try:
        await stopped_event.wait()
    finally:
        unregister()


async def run_in_thread(abort: Abort, work: Callable[[], Result]) -> Result:
    """Run blocking work that changes nothing; raises Aborted as soon as the flag is set."""
    if abort.is_set():
        raise Aborted(abort.reason)
    work_task = asyncio.ensure_future(asyncio.to_thread(call_contained, work))
    try:
        return await _result_before_abort(abort, work_task)
    finally:
        if not work_task.done():
            # The work is abandoned, so ignore its result or exception.
            work_task.add_done_callback(lambda task: task.cancelled() or task.exception())


async def run_until_abort(abort: Abort, coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await work, and cancel it when the flag is set: it has ``MAX_CANCEL_SECONDS`` to end, then Aborted is raised."""
    if abort.is_set():
        coroutine.close()
        raise Aborted(abort.reason)
    work_task = asyncio.ensure_future(coroutine)
    try:
        return await _result_before_abort(abort, work_task)
    except Aborted:
        work_task.cancel()
        await asyncio.wait((work_task,), timeout=MAX_CANCEL_SECONDS)
        raise
    finally:
        work_task.cancel()


async def _result_before_abort(abort: Abort, work_task: "asyncio.Future[Result]") -> Result:
    abort_task = asyncio.ensure_future(wait_for_abort(abort))
    try:
        await asyncio.wait((work_task, abort_task), return_when=asyncio.FIRST_COMPLETED)
        if work_task.done():
            return work_task.result()
        raise Aborted(abort.reason)
    finally:
        abort_task.cancel()
