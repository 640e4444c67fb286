"""Call somebody else's code so that whatever it raises stays an ordinary error.

On an asyncio loop ``sys.exit()`` and a keyboard interrupt end the loop itself, and with it every
session; StopIteration can pass through no future; a cancellation that nobody asked for looks like
the end of the kernel. Border: changes what is raised, and nothing else.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

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
