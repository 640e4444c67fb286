"""Ask a function of a test for its scripted answer, on a thread of its own.

Such a function may wait for a lock or an event of the test, while the loop that plays the answer continues: a
cancelled request does not wait for it. The thread ends with the function, and keeps no process alive.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")


async def call_answer_function(function: Callable[[Request], Answer], request: Request) -> Answer:
    """Call a function with a request and return its result; raises its exception. Cancelling does not wait for it."""
    answer_future: Future[Answer] = Future()
    # From here on, cancelling the caller does not stop the function.
    answer_future.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            answer_future.set_result(context.run(function, request))
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            answer_future.set_exception(error)

    threading.Thread(target=run, name="scripted-answer", daemon=True).start()
    return await asyncio.wrap_future(answer_future)
