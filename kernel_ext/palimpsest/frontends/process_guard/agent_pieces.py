"""Which piece of the agent's Python runs, also in the threads, tasks and callbacks that it leaves behind.

A context variable holds the piece: tasks and callbacks of an event loop copy it by themselves, and a thread takes it from
whoever starts it (``lasting_guards.py``). So what goes on after the end of a piece is known from the user's own. The
engine's loop runs on a thread of ours: what the main thread hands to it while a piece runs is no part of the piece.
Border: says and collects; refuses nothing.
"""

import asyncio
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from palimpsest.frontends import terminal

LATE = "What the agent's Python left running ({code}) went on after its end. {words}"
CODE_CHARS = 60
MOST_LATE = 20
"""Sentences that wait for the model's next call; the user has read each when it happened."""

_LATE: list[str] = []


class Kept(SystemExit):
    """Raised where the agent's code asks the kernel to end; its code is the sentence that is shown."""


class Piece:
    """One piece of the agent's Python.

    Responsibilities: collect a sentence about each thing that was refused. Those from the time when it ran make its
    call a failed one; later ones are shown to the user at once, and kept for the model's next call.
    """

    def __init__(self, code: str = "") -> None:
        self.refusals: list[str] = []
        self.ended = False
        self.loop: object = None
        """The event loop in which the kernel runs the piece, if there is one."""
        self._code = code
        self.threads: set[object] = set()
        """The threads that it started and that run: a ``Thread``, or a token of a low one."""
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        """The tasks that it made, from their first step on."""
        self.waiting_task: asyncio.Task[Any] | None = None
        """The task of the cell or of the kernel that waits for it, which is none of its own."""
        self.listeners: weakref.WeakSet[Any] = weakref.WeakSet()
        """Its listeners of IPython's events that are registered."""
        self._late: set[str] = set()
        self._pid = os.getpid()

    @property
    def in_child(self) -> bool:
        """Whether this is a process that the piece forked, which may end itself."""
        return os.getpid() != self._pid

    def owns(self, loop: object) -> bool:
        """Tell whether a loop is one that the running piece made itself, and may end."""
        return not self.ended and loop is not self.loop

    def refuse(self, words: str) -> None:
        """Add the sentence of something that was asked for and not done, once."""
        if not self.ended:
            if words not in self.refusals:
                self.refusals.append(words)
        elif words not in self._late:
            self._late.add(words)
            told = LATE.format(code=_shown(self._code), words=words)
            _LATE.append(told)
            del _LATE[:-MOST_LATE]
            terminal.write_error(told)


PIECE: ContextVar[Piece | None] = ContextVar("palimpsest_piece", default=None)
"""The piece whose code runs in this context; None for the user's code and ours."""


def current_piece() -> Piece | None:
    """Return the piece whose code calls, in this process; None for the user's code."""
    piece = PIECE.get()
    return None if piece is None or piece.in_child else piece


def for_pieces(call: Callable[..., Any], act: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ``act(call, piece, ...)`` where a piece calls it, and ``call`` for everybody else."""

    @functools.wraps(call)
    def checked(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if (piece := current_piece()) is None:
            return call(*arguments, **options)
        return act(call, piece, *arguments, **options)

    return checked


def change_for_pieces(target: Any, name: str, act: Callable[..., Any]) -> None:
    """Have a function of an object act as ``for_pieces`` says, as long as the process lives."""
    setattr(target, name, for_pieces(getattr(target, name), act))


_OF_THREAD = threading.local()


@contextmanager
def piece_thread(piece: Piece, thread: object) -> Iterator[None]:
    """Have the thread that calls belong to a piece whose code started it, until the end of the block."""
    _OF_THREAD.piece = piece
    PIECE.set(piece)
    piece.threads.add(thread)
    try:
        yield
    finally:
        piece.threads.discard(thread)
        for look in LATE_LOOKS:
            look(piece)


LATE_LOOKS: list[Callable[[Piece], object]] = []
"""Called when a thread or a callback of a piece has ended, on its thread."""


def is_piece_thread() -> bool:
    """Tell whether the thread that calls may run a piece's code: the main one, or one that a piece started."""
    return on_main_thread() or getattr(_OF_THREAD, "piece", None) is not None


def late_sentences() -> list[str]:
    """Return what earlier pieces were refused after their end and the model was not told of yet."""
    found = _LATE[:]
    del _LATE[: len(found)]
    return found


def on_main_thread() -> bool:
    """Tell whether the caller is on the main thread, where what is raised reaches the code or the loop."""
    return threading.current_thread() is threading.main_thread()


def _shown(code: str) -> str:
    """Return the first line of a piece that is no import or comment."""
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("import ", "from ", "#"))]
    line = next(iter(telling or lines), "")
    return line if len(line) <= CODE_CHARS else f"{line[:CODE_CHARS]}..."
