"""The engine: one daemon thread with its own asyncio loop, for the kernel's life.

It owns model streams, sessions and journals; no engine code runs on the main thread
(spec/kernel.md B).
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from palimpsest.transcript.errors import UserError

T = TypeVar("T")


async def off_loop(call: Callable[[], T]) -> T:
    """Run a blocking call in a thread; in this one while the interpreter ends and pools take no more."""
    if threading.main_thread().is_alive():
        return await asyncio.to_thread(call)
    return call()


class EngineThread:
    """A thread that runs coroutines for everybody else."""

    def __init__(self, name: str = "palimpsest-engine") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The engine's loop; starts the thread when it does not run yet."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._ready.wait()
        if self._loop is None:
            raise RuntimeError("The engine thread ended before its loop began.")
        return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine on the engine; its result arrives in a future for other threads.

        Raises UserError where the engine has ended.
        """
        if self.loop.is_closed():
            work.close()
            raise UserError("This agent was closed. Load the extension again, or make a new App.")
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def is_current(self) -> bool:
        """Tell whether the caller runs on the engine, which would wait for itself."""
        return threading.current_thread() is self._thread

    def stop(self, timeout: float = 2.0) -> None:
        """Cancel what runs and end the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout)

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        # By this name what a library imports while it works for the engine is told from a user's imports.
        loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="palimpsest-work"))
        asyncio.set_event_loop(loop)
        self._loop = loop
        loop.call_soon(self._ready.set)
        try:
            loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
