"""Call a user's function for a bounded time, on a separate thread.

A thread cannot be ended from outside; if it takes too long, an exception is raised at its next line of Python, and its
answer is never used.
"""

import asyncio
import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class _OutOfTime(BaseException):
    """Ends the function; an ``except Exception`` in it does not stop this exception."""


async def call_bounded(function: Callable[[], T], seconds: float) -> T:
    """Return a function's result; raises its exception, or TimeoutError after ``seconds``."""
    future: Future[T] = Future()
    # A running future cannot be cancelled, so its thread may settle it at any time.
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer = function()
        except _OutOfTime:
            return
        except BaseException as error:  # noqa: BLE001  passed to the caller that awaits it
            failure = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            future.set_exception(failure)
        else:
            future.set_result(answer)

    thread = threading.Thread(target=run, name="palimpsest-policy", daemon=True)
    thread.start()
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(future)
    finally:
        if not future.done() and thread.ident is not None and thread.is_alive():
            name, kind = ctypes.c_ulong(thread.ident), ctypes.py_object(_OutOfTime)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(name, kind)
