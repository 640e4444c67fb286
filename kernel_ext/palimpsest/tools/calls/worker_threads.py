"""Work that would hold up the loop, in a thread, given up at once when the call is stopped.

Border: the work itself should look at the abort flag; whether or not it does, the caller is free.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from palimpsest.tools.calls.error_containment import call_contained
from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted

Result = TypeVar("Result")


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
