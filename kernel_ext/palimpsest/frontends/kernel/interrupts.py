"""Handle the stop button, which sends SIGINT, while a turn runs.

Border: the main thread's signal handler only; its callers pass the function that stops a turn. ipykernel's own handler
loses interrupts while an awaiting cell waits for another thread or runs blocking code, and Python's default one wedges
the kernel when it raises inside the event loop (``docs/design/0005-kernel.md``). Therefore user code gets KeyboardInterrupt, a
suspended task is cancelled, and other work is only notified. The signal's number also goes to the engine thread through
a socket, written by the interpreter's C code, because a Python handler waits until C code returns.
"""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from palimpsest.frontends.kernel.code_execution import run_to_end, run_unsuspended

WAKE_SECONDS = 0.1
"""Delay before a signal without effect is sent again, doubled before each further signal."""
MAX_RESENT_SIGNALS = 8
"""Maximum times that a signal is sent again: code such as a long sum in C never checks for signals."""

_RUN_CODE: CodeType = InteractiveShell.run_code.__code__
_DRIVERS: tuple[CodeType, ...] = (run_unsuspended.__code__, run_to_end.__code__)


class Interruptible:
    """A job on the main thread that a signal may interrupt: agent code, a question, a description."""

    interrupted = False
    """Whether a signal arrived while the job ran."""
    has_reached_job = False
    """Whether a signal ends the job: KeyboardInterrupt was raised in it, or its task will be cancelled."""
    interruptible_code: CodeType | None = None
    """The function inside which KeyboardInterrupt may be raised at any place, not only in user code. Its caller catches
    it: a signal that is handled after the function was left, as a second one may be, raises nothing."""
    task: "asyncio.Task[Any] | None" = None
    """The task of the job; None for a job that does not await."""


class InterruptHold:
    """The SIGINT handler of one turn.

    Contract: ``on_signal`` is called on the engine thread at each signal until ``restore_handler``. If other code
    saved this handler and restores it after ``restore_handler`` (ipykernel does, around every message), it
    passes the signal on to the handler before it.
    """

    def __init__(self, interrupts: "Interrupts", on_signal: Callable[[], object]) -> None:
        self.on_signal: Callable[[], object] | None = on_signal
        self._interrupts = interrupts
        self._handler = self._handle  # the same bound method, so that comparisons with ``is`` work
        self._previous_handler: Any = signal.signal(signal.SIGINT, self._handler)

    @property
    def is_installed(self) -> bool:
        """Whether this is the process's handler at present."""
        return signal.getsignal(signal.SIGINT) is self._handler

    def reinstall(self) -> None:
        """Install the handler again after other code replaced it."""
        if not self.is_installed:
            self._previous_handler = signal.signal(signal.SIGINT, self._handler)

    def restore_handler(self) -> None:
        """Restore the previous handler; on the main thread."""
        self.on_signal = None
        self._interrupts.remove(self)
        if self.is_installed:
            signal.signal(signal.SIGINT, self._previous_handler or signal.SIG_DFL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.on_signal is not None:
            self._interrupts.handle(self, frame)
        elif callable(self._previous_handler):
            self._previous_handler(number, frame)


class Interrupts:
    """Handles SIGINT while turns run.

    Responsibilities: interrupt, cancel or notify the job on the main thread; notify the
    engine at once, even while C code holds the main thread.
    """

    def __init__(self, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self.running_piece: Interruptible | None = None
        """The job that runs on the main thread at present."""
        self._loop = loop
        self._open_holds: list[InterruptHold] = []
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._previous_wakeup_fd = -1
        self._reading_lock = threading.Lock()
        """Held while signal numbers are read from the socket and assigned to a turn."""
        self._is_unhandled = False
        """Whether no handler has run since the socket reported the newest signal."""
        self._is_own_pending = False
        """Whether this class sent a signal since the handler last ran; the next run of the handler notifies no turn."""
        self._unread_own_count = 0
        """Number of signals sent by this class whose numbers were not read from the socket yet."""
        self._task_to_cancel: asyncio.Task[Any] | None = None
        """The task that its event loop was asked to cancel."""

    def install(self, on_signal: Callable[[], object]) -> InterruptHold | None:
        """Install a handler for a turn; returns None off the main thread, where none can be installed."""
        if threading.current_thread() is not threading.main_thread():
            return None
        self._listen_for_signals()
        hold = InterruptHold(self, on_signal)
        self._open_holds.append(hold)
        return hold

    @property
    def is_handling(self) -> bool:
        """Whether one of the handlers of this class is installed at present."""
        return any(hold.is_installed for hold in self._open_holds)

    def remove(self, hold: InterruptHold) -> None:
        """Remove a handler, and the signal numbers in the socket, which were meant for it."""
        with self._reading_lock:
            if self._sockets is not None and hold.is_installed:
                self._read_signals(self._sockets[0])
            if hold in self._open_holds:
                self._open_holds.remove(hold)

    def handle(self, hold: InterruptHold, frame: FrameType | None) -> None:
        """Interrupt or cancel the running job; called in the signal handler."""
        is_own, self._is_own_pending = self._is_own_pending, False
        self._loop().call_soon_threadsafe(self._acknowledge, None if is_own else hold)
        running_piece = self.running_piece
        if running_piece is None:
            return
        running_piece.interrupted = True
        task = running_piece.task
        if _is_inside(frame, running_piece.interruptible_code) or _in_user_code(
            frame, is_driven=task is None
        ):
            self._task_to_cancel = None
            running_piece.has_reached_job = True
            raise KeyboardInterrupt
        if task is not None and not task.done() and self._task_to_cancel is not task:
            self._task_to_cancel = task
            running_piece.has_reached_job = True
            task.get_loop().call_soon_threadsafe(self._cancel, task)

    def _cancel(self, task: "asyncio.Task[Any]") -> None:
        if self._task_to_cancel is task:
            self._task_to_cancel = None
            task.cancel()

    def interrupt_main(self) -> None:
        """End a blocking call of the main thread by a signal, without notifying a turn."""
        if not self.is_handling:
            return  # the signal would go to other code's handler
        main = threading.main_thread().ident
        self._is_own_pending = True
        self._unread_own_count += 1
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, signal.SIGINT)
        else:  # pragma: no cover  # Windows: the signal is seen when the call returns
            signal.raise_signal(signal.SIGINT)

    def close(self) -> None:
        """Close the socket, while the engine still runs."""
        if self._sockets is None:
            return
        reader, writer = self._sockets
        self._sockets = None
        if signal.set_wakeup_fd(-1) != writer.fileno() and self._previous_wakeup_fd >= 0:
            signal.set_wakeup_fd(self._previous_wakeup_fd, warn_on_full_buffer=False)
        loop = self._loop()

        def close_sockets() -> None:
            loop.remove_reader(reader)
            reader.close()
            writer.close()

        loop.call_soon_threadsafe(close_sockets)

    def _notify_turn(self, hold: InterruptHold | None) -> None:
        if hold is not None and hold.on_signal is not None:
            hold.on_signal()

    def _acknowledge(self, hold: InterruptHold | None) -> None:
        """Record that the handler ran, which handled all numbers in the socket so far; on the engine."""
        if self._sockets is not None:
            self._on_signal_numbers(self._sockets[0])
        self._is_unhandled = False
        self._notify_turn(hold)

    def _listen_for_signals(self) -> None:
        """Make the interpreter write signal numbers to a socket, and read them on the engine."""
        if self._sockets is None:
            reader, writer = socket.socketpair()
            reader.settimeout(0)
            writer.settimeout(0)
            self._sockets = reader, writer
            loop, fd = self._loop(), reader.fileno()
            loop.call_soon_threadsafe(loop.add_reader, fd, self._on_signal_numbers, reader)
        own_fd = self._sockets[1].fileno()
        previous_fd = signal.set_wakeup_fd(own_fd, warn_on_full_buffer=False)
        if previous_fd != own_fd:
            self._previous_wakeup_fd = previous_fd

    def _on_signal_numbers(self, reader: socket.socket) -> None:
        with self._reading_lock:
            signal_count = self._read_signals(reader)
            hold = self._open_holds[-1] if self._open_holds else None
        if signal_count and hold is not None and hold.is_installed:
            self._is_unhandled = True
            self._notify_turn(hold)
            self._loop().call_later(WAKE_SECONDS, self._resend, hold, 0)

    def _read_signals(self, reader: socket.socket) -> int:
        """Read the socket; returns the number of reported signals that this class did not send."""
        try:
            numbers = reader.recv(512)
        except OSError:
            return 0
        if self._previous_wakeup_fd >= 0:
            try:
                os.write(self._previous_wakeup_fd, numbers)
            except OSError:
                self._previous_wakeup_fd = -1
        signal_count = numbers.count(signal.SIGINT)
        own_count = min(signal_count, self._unread_own_count)
        self._unread_own_count -= own_count
        return signal_count - own_count

    def _resend(self, hold: InterruptHold, attempts: int) -> None:
        """Send the signal again if it had no effect yet; on the engine.

        A signal that arrives between the interpreter's last check for signals and a wait, for a lock
        or in a selector, does not end that wait, and its handler would run after it. A signal that arrives
        between two pieces of user code requests the cancellation of the task, which its event loop never
        does if the next piece does not await: the next signal interrupts that piece. A signal is
        meant for one turn: when that turn has ended, it is not sent again to the next one.
        """
        has_effect = not self._is_unhandled and self._task_to_cancel is None
        is_over = hold.on_signal is None or not hold.is_installed
        if has_effect or is_over or attempts == MAX_RESENT_SIGNALS:
            return
        if hasattr(signal, "pthread_kill"):
            self.interrupt_main()
            delay = WAKE_SECONDS * 2 ** (attempts + 1)
            self._loop().call_later(delay, self._resend, hold, attempts + 1)


def _is_inside(frame: FrameType | None, code: CodeType | None) -> bool:
    """Return whether a function is on the stack at or below a frame."""
    while code is not None and frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def _in_user_code(frame: FrameType | None, *, is_driven: bool) -> bool:
    """Return whether user code is on the stack between this frame and the code that runs the agent's Python.

    A cell's own code is also further down the stack, so for code run by ``run_unsuspended`` or ``run_to_end`` only
    frames above that function count; a task has no frames of the cell below it.
    """
    is_user_code = False
    while frame is not None:
        if frame.f_code is _RUN_CODE:
            is_user_code = True
        elif frame.f_code in _DRIVERS:
            return is_user_code
        frame = frame.f_back
    return is_user_code and not is_driven
