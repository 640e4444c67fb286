"""Run code on an event loop so that the loop survives what the code does to it.

A nested loop (``nest_asyncio``) runs the callbacks that the outer round of the loop has counted and not
run yet, and that round then ends the kernel with ``IndexError: pop from an empty deque``. A plain cell has
mostly nothing behind it in its round; the agent's Python has the timers of the cell that waits for it.

Border: asyncio only. The two private names of a loop, ``_ready`` and ``_stopping``, are those of
``asyncio.BaseEventLoop``; a loop without them is left alone.
"""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

STOPPED = (
    "The code stopped the kernel's event loop, which would have ended the kernel; it goes on. "
    "Stop a loop of your own (asyncio.new_event_loop()) instead."
)


def _nothing() -> None:
    """Fill the place of a callback that ran earlier than its loop expected."""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs on this thread, or None."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


@contextmanager
def surviving(
    loop: asyncio.AbstractEventLoop | None, tell: Callable[[str], object]
) -> Iterator[None]:
    """Keep a loop's round whole while code runs inside it; ``tell`` gets a sentence when it was stopped."""
    ready = getattr(loop, "_ready", None)
    if loop is None or ready is None:
        yield
        return
    counted, stopping = len(ready), getattr(loop, "_stopping", False)
    try:
        yield
    finally:
        if not loop.is_closed():
            # The round still takes as many callbacks as it counted when it began.
            for _ in range(counted - len(ready)):
                loop.call_soon(_nothing)
        if getattr(loop, "_stopping", False) and not stopping:
            loop._stopping = False  # type: ignore[attr-defined]  # noqa: SLF001  # no public way
            tell(STOPPED)


@types.coroutine
def in_steps(
    cell: Coroutine[Any, Any, Any], tell: Callable[[str], object], after: Callable[[], object]
) -> Generator[Any, Any, Any]:
    """Run a coroutine with the loop kept whole in each of its steps; ``after`` is called behind each."""
    loop = asyncio.get_running_loop()
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            try:
                with surviving(loop, tell):
                    waited = cell.send(value) if error is None else cell.throw(error)
            except StopIteration as stop:
                after()
                return stop.value
            after()
            try:
                value, error = (yield waited), None
            except GeneratorExit:
                raise
            except BaseException as raised:  # noqa: BLE001  # a cancellation is passed on to the code
                error = raised
    finally:
        cell.close()
