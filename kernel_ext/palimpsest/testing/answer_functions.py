"""Ask a function of a test for its scripted answer, on a thread of its own.

Such a function may wait, for a lock or an event of the test, and the loop that plays the answer must go on meanwhile: whoever
cancels the request is not kept waiting for it. The thread ends with the function, and keeps no process alive.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")


async def asked(function: Callable[[Request], Answer], request: Request) -> Answer:
    """Return what a function of a request returns; raises what it raises. Cancelling does not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Answer] = loop.create_future()
    context = contextvars.copy_context()

    def settle(answer: Answer | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(answer)  # type: ignore[arg-type]

    def run() -> None:
        answer, error = None, None
        try:
            answer = context.run(function, request)
        except BaseException as raised:  # noqa: BLE001 - it is raised where the answer is awaited
            error = raised
        try:
            loop.call_soon_threadsafe(settle, answer, error)
        except RuntimeError:
            return  # the loop was closed meanwhile: nobody waits for the answer

    threading.Thread(target=run, name="scripted-answer", daemon=True).start()
    return await done
