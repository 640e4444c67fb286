"""Call somebody else's code, at once or in a thread, so that whatever it raises stays an ordinary error.

On an asyncio loop ``sys.exit()`` and a keyboard interrupt end the loop itself, and with it every
session; StopIteration can pass through no future; a cancellation that nobody asked for looks like
the end of the kernel.

Work that would hold up the loop runs in a thread and is given up at once when the call is stopped.
The work itself should look at the abort flag; whether or not it does, the caller is free.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted

Result = TypeVar("Result")


class ExitAttempted(Exception):
    """What was called tried to leave in a way that ends more than the call."""


def call_contained(work: Callable[[], Result]) -> Result:
    """Return what a blocking call returns; raises Exceptions only."""
    try:
        return work()
    except (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration) as end:
        raise ExitAttempted(_words(end)) from end


async def await_contained(work: Awaitable[Result]) -> Result:
    """Return what is awaited; raises Exceptions only, but for a cancellation of who awaits."""
    try:
        return await work
    except asyncio.CancelledError as end:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise ExitAttempted("it was cancelled from within") from end
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as end:
        raise ExitAttempted(_words(end)) from end


def _words(end: BaseException) -> str:
    if isinstance(end, SystemExit | KeyboardInterrupt):
        return f"it tried to end the kernel ({type(end).__name__})"
    return f"it raised {type(end).__name__}"


async def aborted(abort: Abort) -> None:
    """Return when the flag is set, from whatever thread."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def hand_over() -> None:
        loop.call_soon_threadsafe(stopped.set)

    forget = abort.on_abort(hand_over)
    try:
        await stopped.wait()
    finally:
        forget()


async def in_thread(abort: Abort, work: Callable[[], Result]) -> Result:
    """Run blocking work that changes nothing; raises Aborted as soon as the flag is set."""
    if abort.is_set():
        raise Aborted(abort.reason)
    working = asyncio.ensure_future(asyncio.to_thread(call_contained, work))
    stopping = asyncio.ensure_future(aborted(abort))
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Aborted(abort.reason)
    finally:
        stopping.cancel()
        if not working.done():
            # Nobody waits for it any more; its outcome, an error too, is of no interest.
            working.add_done_callback(lambda task: task.cancelled() or task.exception())


async def until_abort(abort: Abort, work: Coroutine[Any, Any, Result]) -> Result:
    """Await work that may be cancelled; raises Aborted as soon as the flag is set."""
    if abort.is_set():
        work.close()
        raise Aborted(abort.reason)
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(aborted(abort))
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Aborted(abort.reason)
    finally:
        stopping.cancel()
        working.cancel()
