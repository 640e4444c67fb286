"""Keep an event loop running although code on it runs a nested loop, stops the loop, or replaces builtins.

A nested loop (``nest_asyncio``) runs callbacks that the outer iteration of the loop has counted but not
run yet, and that iteration then ends the kernel with ``IndexError: pop from an empty deque``. After an ordinary cell
there is mostly no callback in its iteration; after the agent's Python there are the timers of the waiting cell.

Code may also replace a builtin for the whole process (``builtins.max = len``), which is reported. The loops of the kernel
and of the engine call ``max``, ``isinstance`` and others in every iteration and would fail, also between two lines of that
code. So the original builtins are added to the globals of these libraries before the agent's code runs. The user's code
and every other library see the replacement; ``print``, ``open`` and others that reach files and users are replaced everywhere.

Border: asyncio and modules' globals. The private attributes ``_ready`` and ``_stopping`` are those of
``asyncio.BaseEventLoop``; a loop without them is not changed.
"""

import asyncio
import builtins
import sys
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

LOOP_STOPPED = (
    "The code stopped the kernel's event loop, which would have ended the kernel; it goes on. "
    "Stop a loop of your own (asyncio.new_event_loop()) instead."
)

PACKAGES_WITH_BUILTINS = (
    *("asyncio", "concurrent", "contextlib", "functools", "ipykernel", "jupyter_client"),
    *("palimpsest", "queue", "selectors", "threading", "tornado", "weakref", "zmq"),
)
"""Libraries that run the loops and the turn, or read and send messages."""
BUILTIN_NAMES = (
    *("abs", "all", "any", "bool", "bytes", "callable", "dict", "enumerate", "float", "frozenset"),
    *("getattr", "hasattr", "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map"),
    *("max", "min", "next", "range", "repr", "reversed", "round", "set", "setattr", "sorted"),
    *("str", "sum", "super", "tuple", "type", "zip"),
)

_BUILTINS = {name: getattr(builtins, name) for name in BUILTIN_NAMES}
_completed_modules: set[str] = set()
"""Names of the modules to which the builtins were added."""


def add_builtins() -> None:
    """Add the builtins to each module of the packages, once; later imported modules get them at the next call."""
    for name, module in list(sys.modules.items()):
        if name in _completed_modules or name.partition(".")[0] not in PACKAGES_WITH_BUILTINS:
            continue
        _completed_modules.add(name)
        if isinstance(module, types.ModuleType):
            for builtin_name, value in _BUILTINS.items():
                vars(module).setdefault(builtin_name, value)


def _no_callback() -> None:
    """Do nothing, in place of a callback that ran earlier than its loop expected."""


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs on this thread, or None."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


@contextmanager
def protected_iteration(
    loop: asyncio.AbstractEventLoop | None, report: Callable[[str], object]
) -> Iterator[None]:
    """Keep a loop's iteration intact while code runs inside it; ``report`` is called with a sentence if the code stopped the loop."""
    ready_callbacks = getattr(loop, "_ready", None)
    if loop is None or ready_callbacks is None:
        yield
        return
    callback_count_before, was_stopping = len(ready_callbacks), getattr(loop, "_stopping", False)
    try:
        yield
    finally:
        if not loop.is_closed():
            # The iteration still takes as many callbacks as it counted at its beginning.
            for _ in range(callback_count_before - len(ready_callbacks)):
                loop.call_soon(_no_callback)
        if getattr(loop, "_stopping", False) and not was_stopping:
            loop._stopping = False  # type: ignore[attr-defined]  # noqa: SLF001  # no public way
            report(LOOP_STOPPED)


@types.coroutine
def run_in_steps(
    coroutine: Coroutine[Any, Any, Any],
    report: Callable[[str], object],
    after_step: Callable[[], object],
) -> Generator[Any, Any, Any]:
    """Run a coroutine with each step in a ``protected_iteration``; calls ``after_step`` after each."""
    loop = asyncio.get_running_loop()
    value: Any = None
    error: BaseException | None = None
    try:
        while True:
            try:
                with protected_iteration(loop, report):
                    awaited = coroutine.send(value) if error is None else coroutine.throw(error)
            except StopIteration as stop:
                after_step()
                return stop.value
            after_step()
            try:
                value, error = (yield awaited), None
            except GeneratorExit:
                raise
            except BaseException as thrown:  # noqa: BLE001  # a cancellation is passed on to the code
                error = thrown
    finally:
        coroutine.close()
