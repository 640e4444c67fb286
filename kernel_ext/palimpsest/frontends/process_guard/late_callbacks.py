"""Keep what callbacks of the agent's Python raise out of the loop, the signal or the cell that calls them.

Tasks, callbacks of the kernel's loop, signal handlers and IPython's listeners are called by others, also after the piece
that set them has ended: a SystemExit in one would end the kernel, and a handler's error would land in a cell of the user.

Border: what they raise becomes a sentence of their piece (``agent_pieces.py``).
"""

import asyncio
import functools
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from palimpsest.frontends.process_guard.agent_pieces import (
    LATE_LOOKS,
    PIECE,
    Kept,
    Piece,
    current_piece,
    is_piece_thread,
    on_main_thread,
)
from palimpsest.frontends.process_guard.event_loop import running_loop, surviving

CALLBACK_EXITED = "A task or callback of the code raised {name}, which would have ended the kernel; it ended alone."
HANDLER_RAISED = (
    "The handler that the code left for {signal} raised {name} in the midst of other work; that work went on. "
    "Take a timer back (signal.alarm(0)) and a handler away before the code ends."
)


def guard_callbacks() -> None:
    """Guard every callback of the kernel's loop that belongs to a piece, from now on."""
    run = asyncio.Handle._run  # noqa: SLF001  # every callback goes through it

    @functools.wraps(run)
    def guarded(self: Any) -> Any:
        piece = self._context.get(PIECE) if self._context is not None else None
        if piece is not None and not is_piece_thread():
            # The context was copied where the main thread, in the midst of a piece, handed something to the engine.
            self._context.run(PIECE.set, None)
            return run(self)
        if piece is None or piece.in_child or not on_main_thread() or piece.owns(self._loop):
            return run(self)
        task = getattr(self._callback, "__self__", None)
        if isinstance(task, asyncio.Task) and task is not piece.waiting_task:
            piece.tasks.add(task)
        try:
            with surviving(self._loop, piece.refuse):
                return run(self)
        except (SystemExit, KeyboardInterrupt) as raised:
            _say(piece, raised)
        finally:
            for look in LATE_LOOKS:
                look(piece)
        return None

    asyncio.Handle._run = guarded  # type: ignore[method-assign]  # noqa: SLF001


def _say(piece: Piece, raised: BaseException) -> None:
    named = CALLBACK_EXITED.format(name=type(raised).__name__)
    piece.refuse(str(raised) if isinstance(raised, Kept) else named)


class LateFunction:
    """A function of a piece that others call, in any context; it is equal to the function itself, which unregisters a listener."""

    def __init__(self, function: Callable[..., Any], piece: Piece) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._piece = piece

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function as the piece's code; errors are the caller's, and what would end the kernel is a sentence.

        While another piece runs it is called for that one, so that what it shows, such as a figure, is that one's.
        """
        within = current_piece()
        running = within is not None and not within.ended
        token = PIECE.set(within if running else self._piece)
        try:
            return self._function(*arguments, **options)
        except SystemExit as raised:
            _say(self._piece, raised)
        finally:
            PIECE.reset(token)

    def __eq__(self, other: object) -> bool:
        function = other._function if isinstance(other, LateFunction) else other
        return bool(self._function == function)

    def __hash__(self) -> int:
        return hash(self._function)


class LateHandler:
    """A signal handler that a piece left: after its end it raises nothing into other code."""

    def __init__(self, handler: Callable[[int, Any], Any], piece: Piece) -> None:
        self._handler = handler
        self._piece = piece

    @property
    def piece(self) -> Piece:
        """The piece that left it."""
        return self._piece

    def __call__(self, number: int, frame: Any) -> None:
        """Call the handler as the piece's code."""
        within = current_piece()
        token = PIECE.set(self._piece)
        try:
            with surviving(running_loop(), self._piece.refuse):
                self._handler(number, frame)
        except BaseException as raised:
            name = signal.Signals(number).name
            own = within is not None and not within.ended
            if own or (name == "SIGINT" and isinstance(raised, KeyboardInterrupt)):
                raise
            words = HANDLER_RAISED.format(signal=name, name=type(raised).__name__)
            self._piece.refuse(str(raised) if isinstance(raised, Kept) else words)
        finally:
            PIECE.reset(token)


def guard_handlers(before: dict[int, Any], piece: Piece) -> None:
    """Keep the signal handlers that a piece leaves from raising into other code; on the main thread."""
    if not on_main_thread():
        return
    for number, old in before.items():
        handler = signal.getsignal(number)
        if handler is not old and callable(handler) and not isinstance(handler, LateHandler):
            with suppress(OSError, ValueError):
                signal.signal(number, LateHandler(handler, piece))
