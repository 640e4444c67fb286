"""Find the threads, tasks, timers and readers that a piece of the agent's Python left running.

A kernel that ends without warning (``os._exit``, a crash) cannot report the cause. So each piece of code that left
work running is remembered until that work has ended; the next kernel names it (``session/runs/left_running_calls.py``).
Border: reads only. An executor's idle worker does not count. The private names are those of
``asyncio.BaseEventLoop`` and of ``concurrent.futures``; where they are missing, less is found.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import thread as executor
from contextlib import suppress
from typing import Any

from palimpsest.frontends.process_guard.agent_pieces import (
    CURRENT_PIECE,
    LATE_WORK_CALLBACKS,
    Piece,
)
from palimpsest.frontends.process_guard.event_loop import running_loop
from palimpsest.frontends.process_guard.lasting_guards import TIMERS
from palimpsest.frontends.process_guard.late_callbacks import LateHandler
from palimpsest.tools.tool import LeftRunning

MAX_DESCRIPTIONS = 5
"""Maximum threads, tasks and timers that are described; the others are counted."""
MAX_NAME_CHARS = 60

_END_FUTURES: dict[Piece, "Future[None]"] = {}
"""The pieces that left work running, each with a future that is set when that work has ended."""


def work_left_by(piece: Piece) -> LeftRunning | None:
    """Return the work that a piece left running; None where there is none, or in a child process."""
    descriptions = [] if piece.in_child else list(_running_work(piece))
    if not descriptions:
        return None
    undescribed_count = len(descriptions) - MAX_DESCRIPTIONS
    shown_descriptions = (
        *descriptions[:MAX_DESCRIPTIONS],
        *([f"{undescribed_count} more"] if undescribed_count > 0 else []),
    )
    end_future = _END_FUTURES.setdefault(piece, Future())
    set_ended_futures(piece)  # the work may have ended before its future was stored
    return LeftRunning(shown_descriptions, end_future)


def set_ended_futures(*pieces: Piece) -> None:
    """Set the future of each given piece, or of all pieces, whose work has ended."""
    for piece in pieces or tuple(_END_FUTURES):
        if piece in _END_FUTURES and not piece.in_child and not any(_running_work(piece)):
            end_future = _END_FUTURES.pop(piece, None)
            if end_future is not None:
                end_future.set_result(None)


def running_pieces() -> tuple[Piece, ...]:
    """Return the pieces that left work running, newest last."""
    return tuple(_END_FUTURES)


def _running_work(piece: Piece) -> Iterator[str]:
    yield from _running_threads(piece)
    for task in tuple(piece.tasks):
        if not task.done():
            yield f"the task {task.get_name()[:MAX_NAME_CHARS]!r}"
    loop = piece.loop if isinstance(piece.loop, asyncio.AbstractEventLoop) else running_loop()
    for description, handle in _pending_handles(loop):
        if not handle.cancelled() and handle._context.get(CURRENT_PIECE) is piece:  # noqa: SLF001  # no public way
            yield description
    for _ in tuple(piece.listeners):
        yield "a listener of cells"
    for signal_name, timer_name in TIMERS:
        if hasattr(signal, signal_name) and signal.getitimer(getattr(signal, timer_name))[0]:
            handler = signal.getsignal(getattr(signal, signal_name))
            if isinstance(handler, LateHandler) and handler.piece is piece:
                yield f"a timer ({signal_name})"


def _running_threads(piece: Piece) -> Iterator[str]:
    for thread in tuple(piece.threads):
        if not isinstance(thread, threading.Thread):
            yield "a thread"
        elif not _is_idle_worker(thread):
            yield f"the thread {thread.name[:MAX_NAME_CHARS]!r}"


def _is_idle_worker(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  # no public way
    return frame is not None and frame.f_code is executor._worker.__code__  # noqa: SLF001


def _pending_handles(loop: Any) -> Iterator[tuple[str, Any]]:
    """Yield the callbacks that a loop will call: its timers, first steps of tasks, and readers of files."""
    with suppress(RuntimeError):  # another thread may add a callback meanwhile
        for handle in tuple(getattr(loop, "_scheduled", ())):
            yield "a callback for later", handle
        for handle in tuple(getattr(loop, "_ready", ())):
            if isinstance(getattr(handle._callback, "__self__", None), asyncio.Task):  # noqa: SLF001
                yield "a task", handle
        selector = getattr(loop, "_selector", None)
        registrations = selector.get_map() if selector is not None else None
        for registration in tuple((registrations or {}).values()):
            for handle in registration.data if isinstance(registration.data, tuple) else ():
                if handle is not None:
                    yield "a reader of a file", handle


LATE_WORK_CALLBACKS.append(set_ended_futures)
