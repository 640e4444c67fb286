"""Track which piece of the agent's Python the calling code belongs to, also in threads and callbacks after its end.

A piece is the code of one tool call. A context variable holds it: tasks and callbacks of an event loop copy it, and a thread gets it from
the code that starts it (``lasting_guards.py``). So code that continues after the end of a piece is distinguished from the
user's code. The engine's loop runs on a thread of Palimpsest: work that it gets from the main thread during a piece is not part of the piece.
Border: collects sentences; refuses no call itself.
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

LATE_REFUSAL = "What the agent's Python left running ({code}) went on after its end. {sentence}"
MAX_CODE_CHARS = 60
MAX_LATE_SENTENCES = 20
"""Maximum sentences that are kept for the model's next call; the user sees each at once."""

AnyFunction = Callable[..., Any]

_LATE_SENTENCES: list[str] = []


class KernelEndRefused(SystemExit):
    """Raised where the agent's code tries to end the kernel; its ``code`` is the sentence that is shown."""


class Piece:
    """A piece of the agent's Python, which one tool call runs.

    Responsibilities: collect a sentence for each refused call. Sentences from the time when the piece runs make its
    tool call fail; later ones are shown to the user at once, and kept for the model's next call.
    """

    def __init__(self, code: str = "") -> None:
        self.refusals: list[str] = []
        self.has_ended = False
        self.loop: object = None
        """The event loop on which the kernel runs the piece; None without one."""
        self._code = code
        self.threads: set[object] = set()
        """Running threads that the piece started: a ``Thread``, or a token for a thread of ``_thread``."""
        self.tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        """The tasks that the piece created, from their first step on."""
        self.waiting_task: asyncio.Task[Any] | None = None
        """The task of the cell or kernel that waits for the piece; the piece must not cancel it."""
        self.listeners: weakref.WeakSet[Any] = weakref.WeakSet()
        """The listeners of IPython's events that the piece registered."""
        self._late_refusals: set[str] = set()
        self._pid = os.getpid()

    @property
    def in_child(self) -> bool:
        """Whether this process was forked by the piece, so that it may exit."""
        return os.getpid() != self._pid

    def owns_loop(self, loop: object) -> bool:
        """Return whether the running piece created this loop itself, and so may stop it."""
        return not self.has_ended and loop is not self.loop

    def refuse(self, sentence: str) -> None:
        """Record the sentence for a refused call, once."""
        if not self.has_ended:
            if sentence not in self.refusals:
                self.refusals.append(sentence)
        elif sentence not in self._late_refusals:
            self._late_refusals.add(sentence)
            late_text = LATE_REFUSAL.format(code=_first_code_line(self._code), sentence=sentence)
            _LATE_SENTENCES.append(late_text)
            del _LATE_SENTENCES[:-MAX_LATE_SENTENCES]
            terminal.write_error(late_text)


CURRENT_PIECE: ContextVar[Piece | None] = ContextVar("palimpsest_piece", default=None)
"""The piece whose code runs in this context; None for other code."""


def current_piece() -> Piece | None:
    """Return the piece that the calling code belongs to, in this process; None for other code."""
    piece = CURRENT_PIECE.get()
    return None if piece is None or piece.in_child else piece


def dispatch_by_caller(call: AnyFunction, act: AnyFunction) -> AnyFunction:
    """Return a function that calls ``act(call, piece, ...)`` for code of a piece, and ``call`` for other code."""

    @functools.wraps(call)
    def call_or_act(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if (piece := current_piece()) is None:
            return call(*arguments, **options)
        return act(call, piece, *arguments, **options)

    return call_or_act


def patch_for_pieces(target: Any, name: str, act: AnyFunction) -> None:
    """Replace a function of an object by ``dispatch_by_caller``, for the life of the process."""
    setattr(target, name, dispatch_by_caller(getattr(target, name), act))


_THREAD_LOCAL = threading.local()


@contextmanager
def piece_thread(piece: Piece, thread: object) -> Iterator[None]:
    """Within the block, let the calling thread belong to the piece whose code started it."""
    _THREAD_LOCAL.piece = piece
    CURRENT_PIECE.set(piece)
    piece.threads.add(thread)
    try:
        yield
    finally:
        piece.threads.discard(thread)
        for callback in LATE_WORK_CALLBACKS:
            callback(piece)


LATE_WORK_CALLBACKS: list[Callable[[Piece], object]] = []
"""Functions that are called when a thread or callback of a piece has ended, on its thread."""


def is_piece_thread() -> bool:
    """Return whether the calling thread may run a piece's code: the main thread, or a thread that a piece started."""
    return on_main_thread() or getattr(_THREAD_LOCAL, "piece", None) is not None


def late_sentences() -> list[str]:
    """Return and clear the sentences on calls that were refused after the end of their piece, for the model."""
    sentences = _LATE_SENTENCES[:]
    del _LATE_SENTENCES[: len(sentences)]
    return sentences


def on_main_thread() -> bool:
    """Return whether this is the main thread, where an exception reaches the code or the loop."""
    return threading.current_thread() is threading.main_thread()


def _first_code_line(code: str) -> str:
    """Return the first line of code that is no import or comment."""
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    statements = [line for line in lines if not line.startswith(("import ", "from ", "#"))]
    line = next(iter(statements or lines), "")
    return line if len(line) <= MAX_CODE_CHARS else f"{line[:MAX_CODE_CHARS]}..."
