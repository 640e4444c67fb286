"""What a piece of the agent's Python left running at its end: threads, tasks, timers, readers.

A kernel that ends without warning (``os._exit``, a crash) cannot say who ended it. So each piece of which something goes
on is known, until nothing of it runs any more; the next kernel names it (``session/runs/left_running_calls.py``).
Border: looks; ends nothing. A worker of an executor that waits for work counts as nothing. The private names are
those of ``asyncio.BaseEventLoop`` and of ``concurrent.futures``; where they are not there, less is known.
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

from palimpsest.frontends.process_guard.agent_pieces import LATE_LOOKS, PIECE, Piece
from palimpsest.frontends.process_guard.event_loop import running_loop
from palimpsest.frontends.process_guard.lasting_guards import TIMERS
from palimpsest.frontends.process_guard.late_callbacks import LateHandler
from palimpsest.tools.tool import LeftRunning

MOST_NAMED = 5
"""Things that are named; the rest is counted."""
NAME_CHARS = 60

_LEFT: dict[Piece, "Future[None]"] = {}
"""The pieces of which something goes on after their end."""


def left_running(piece: Piece) -> LeftRunning | None:
    """Return what goes on of a piece that has ended; None where nothing does, or in a child process."""
    words = [] if piece.in_child else list(_running(piece))
    if not words:
        return None
    more = len(words) - MOST_NAMED
    told = (*words[:MOST_NAMED], *([f"{more} more"] if more > 0 else []))
    over = _LEFT.setdefault(piece, Future())
    look_again(piece)  # it may have ended meanwhile
    return LeftRunning(told, over)


def look_again(*pieces: Piece) -> None:
    """Report of these pieces, or of all, that nothing of them runs any more, where that is so."""
    for piece in pieces or tuple(_LEFT):
        if piece in _LEFT and not piece.in_child and not any(_running(piece)):
            over = _LEFT.pop(piece, None)
            if over is not None:
                over.set_result(None)


def pieces_that_run() -> tuple[Piece, ...]:
    """Return the pieces of which something goes on after their end, the newest last."""
    return tuple(_LEFT)


def _running(piece: Piece) -> Iterator[str]:
    yield from _threads(piece)
    for task in tuple(piece.tasks):
        if not task.done():
            yield f"the task {task.get_name()[:NAME_CHARS]!r}"
    loop = piece.loop if isinstance(piece.loop, asyncio.AbstractEventLoop) else running_loop()
    for what, handle in _handles(loop):
        if not handle.cancelled() and handle._context.get(PIECE) is piece:  # noqa: SLF001  # no public way
            yield what
    for _ in tuple(piece.listeners):
        yield "a listener of cells"
    for name, timer in TIMERS:
        if hasattr(signal, name) and signal.getitimer(getattr(signal, timer))[0]:
            handler = signal.getsignal(getattr(signal, name))
            if isinstance(handler, LateHandler) and handler.piece is piece:
                yield f"a timer ({name})"


def _threads(piece: Piece) -> Iterator[str]:
    for one in tuple(piece.threads):
        if not isinstance(one, threading.Thread):
            yield "a thread"
        elif not _waits_for_work(one):
            yield f"the thread {one.name[:NAME_CHARS]!r}"


def _waits_for_work(thread: threading.Thread) -> bool:
    """Tell whether a thread is an executor's that has nothing to do."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  # the only way
    return frame is not None and frame.f_code is executor._worker.__code__  # noqa: SLF001


def _handles(loop: Any) -> Iterator[tuple[str, Any]]:
    """Yield the callbacks that a loop will call: its timers, first steps of tasks, and readers of files."""
    with suppress(RuntimeError):  # another thread adds one at this moment
        for handle in tuple(getattr(loop, "_scheduled", ())):
            yield "a callback for later", handle
        for handle in tuple(getattr(loop, "_ready", ())):
            if isinstance(getattr(handle._callback, "__self__", None), asyncio.Task):  # noqa: SLF001
                yield "a task", handle
        selector = getattr(loop, "_selector", None)
        for key in tuple((selector.get_map() or {}).values() if selector is not None else ()):
            for handle in key.data if isinstance(key.data, tuple) else ():
                if handle is not None:
                    yield "a reader of a file", handle


LATE_LOOKS.append(look_again)
