"""Prevent exceptions of the agent's callbacks from reaching the loop, the signal handler or the cell that calls them.

Tasks, callbacks of the kernel's loop, signal handlers and IPython's listeners are called by other code, also after the piece
that set them has ended: a SystemExit in one would end the kernel, and a handler's error would be raised in a cell of the user.

Border: reports their exceptions as sentences of their piece (``agent_pieces.py``).
"""

import asyncio
import functools
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from palimpsest.frontends.process_guard.agent_pieces import (
    CURRENT_PIECE,
    LATE_WORK_CALLBACKS,
    KernelEndRefused,
    Piece,
    current_piece,
    is_piece_thread,
    on_main_thread,
)
from palimpsest.frontends.process_guard.event_loop import protected_iteration, running_loop

CALLBACK_EXITED = "A task or callback of the code raised {name}, which would have ended the kernel; it ended alone."
HANDLER_RAISED = (
    "The handler that the code left for {signal} raised {name} in the midst of other work; that work went on. "
    "Take a timer back (signal.alarm(0)) and a handler away before the code ends."
)


def guard_callbacks() -> None:
    """Guard every callback of the kernel's loop that belongs to a piece, for the life of the process."""
    original_run = asyncio.Handle._run  # noqa: SLF001  # every callback goes through it

    @functools.wraps(original_run)
    def run_guarded(self: Any) -> Any:
        piece = self._context.get(CURRENT_PIECE) if self._context is not None else None
        if piece is not None and not is_piece_thread():
            # The context was copied when the main thread, during a piece, gave work to the engine.
            self._context.run(CURRENT_PIECE.set, None)
            return original_run(self)
        if piece is None or piece.in_child or not on_main_thread() or piece.owns_loop(self._loop):
            return original_run(self)
        task = getattr(self._callback, "__self__", None)
        if isinstance(task, asyncio.Task) and task is not piece.waiting_task:
            piece.tasks.add(task)
        try:
            with protected_iteration(self._loop, piece.refuse):
                return original_run(self)
        except (SystemExit, KeyboardInterrupt) as error:
            _report_error(piece, error, CALLBACK_EXITED)
        finally:
            for after_callback in LATE_WORK_CALLBACKS:
                after_callback(piece)
        return None

    asyncio.Handle._run = run_guarded  # type: ignore[method-assign]  # noqa: SLF001


def _report_error(piece: Piece, error: BaseException, sentence: str, **names: str) -> None:
    """Report that a callback of a piece raised, by the sentence of a refused end, or else by the given one."""
    is_refused_end = isinstance(error, KernelEndRefused)
    sentence = sentence.format(name=type(error).__name__, **names)
    piece.refuse(str(error) if is_refused_end else sentence)


class LateFunction:
    """Wraps a callback that a piece registered; it equals the function, so that it can be unregistered."""

    def __init__(self, function: Callable[..., Any], piece: Piece) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._piece = piece

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function as code of its piece; errors reach the caller, but an attempt to end the kernel is only reported.

        While another piece runs, it is called as code of that piece, to which its outputs, such as a figure, then belong.
        """
        running_piece = current_piece()
        is_running = running_piece is not None and not running_piece.has_ended
        token = CURRENT_PIECE.set(running_piece if is_running else self._piece)
        try:
            return self._function(*arguments, **options)
        except SystemExit as error:
            _report_error(self._piece, error, CALLBACK_EXITED)
        finally:
            CURRENT_PIECE.reset(token)

    def __eq__(self, other: object) -> bool:
        function = other._function if isinstance(other, LateFunction) else other
        return bool(self._function == function)

    def __hash__(self) -> int:
        return hash(self._function)


class LateHandler:
    """Wraps a signal handler that a piece left installed, whose exceptions must not reach other code."""

    def __init__(self, handler: Callable[[int, Any], Any], piece: Piece) -> None:
        self._handler = handler
        self.piece = piece

    def __call__(self, number: int, frame: Any) -> None:
        """Call the handler as the piece's code."""
        caller_piece = current_piece()
        token = CURRENT_PIECE.set(self.piece)
        try:
            with protected_iteration(running_loop(), self.piece.refuse):
                self._handler(number, frame)
        except BaseException as error:
            name = signal.Signals(number).name
            is_running = caller_piece is not None and not caller_piece.has_ended
            if is_running or (name == "SIGINT" and isinstance(error, KeyboardInterrupt)):
                raise
            _report_error(self.piece, error, HANDLER_RAISED, signal=name)
        finally:
            CURRENT_PIECE.reset(token)


def guard_handlers(handlers_before: dict[int, Any], piece: Piece) -> None:
    """Wrap the signal handlers that a piece left installed; on the main thread."""
    if not on_main_thread():
        return
    for number, old_handler in handlers_before.items():
        handler = signal.getsignal(number)
        if (
            handler is not old_handler
            and callable(handler)
            and not isinstance(handler, LateHandler)
        ):
            with suppress(OSError, ValueError):
                signal.signal(number, LateHandler(handler, piece))
