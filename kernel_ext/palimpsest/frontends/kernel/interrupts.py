"""The stop button: SIGINT while a turn runs.

Border: the main thread's signal handler and nothing else; what stopping means is handed in.
ipykernel's own handler loses interrupts while an awaiting cell waits for another thread or runs
blocking code, and Python's default one wedges the kernel when it raises inside the event loop
(spec/kernel.md B1). So: user code gets KeyboardInterrupt, a suspended task is cancelled, and
everything else is only notified. The signal's number also goes to the engine thread by a socket,
written by the interpreter's C code, because a Python handler waits until C code returns.
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

from palimpsest.frontends.kernel.code_execution import drive

WAKE_SECONDS = 0.1
"""Delay before a signal that had no effect is sent again; doubled before each further time."""
MOST_WAKES = 8
"""How often a signal is sent again at most: code such as a long sum in C never checks for signals."""

_RUN_CODE: CodeType = InteractiveShell.run_code.__code__
_DRIVE: CodeType = drive.__code__


class Interruptible:
    """What runs on the main thread: a piece of the agent's code, a question, a description."""

    interrupted = False
    """Set when a signal arrived while it ran."""
    reached = False
    """Set when a signal ended it: KeyboardInterrupt was raised in it, or its task is to be cancelled."""
    everywhere = False
    """KeyboardInterrupt may be raised anywhere in it, not only in user code."""
    task: "asyncio.Task[Any] | None" = None
    """Its task, when it awaits."""


class InterruptHold:
    """One turn's SIGINT handler.

    Contract: ``told`` is called on the engine thread at each signal until ``end``. When other code
    saved this handler meanwhile and restores it later (ipykernel does, around every message), it
    passes the signal on to the handler before it.
    """

    def __init__(self, interrupts: "Interrupts", told: Callable[[], object]) -> None:
        self.told: Callable[[], object] | None = told
        self._interrupts = interrupts
        self._handler = self._handle  # one bound method, so that it can be recognised
        self._previous: Any = signal.signal(signal.SIGINT, self._handler)

    @property
    def in_place(self) -> bool:
        """Whether this is the process's handler now."""
        return signal.getsignal(signal.SIGINT) is self._handler

    def again(self) -> None:
        """Become the process's handler again after other code replaced it."""
        if not self.in_place:
            self._previous = signal.signal(signal.SIGINT, self._handler)

    def end(self) -> None:
        """Restore the handler before this one; on the main thread."""
        self.told = None
        self._interrupts.forget(self)
        if self.in_place:
            signal.signal(signal.SIGINT, self._previous or signal.SIG_DFL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.told is not None:
            self._interrupts.met(self, frame)
        elif callable(self._previous):
            self._previous(number, frame)


class Interrupts:
    """Handles SIGINT while turns run.

    Responsibilities: decide what the signal does to the job on the main thread; notify the
    engine at once, even while C code holds the main thread.
    """

    def __init__(self, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self.running: Interruptible | None = None
        """What runs on the main thread now."""
        self._loop = loop
        self._catching: list[InterruptHold] = []
        self._pair: tuple[socket.socket, socket.socket] | None = None
        self._before_fd = -1
        self._reading = threading.Lock()
        """Held while signal numbers are read from the socket and assigned to a turn."""
        self._unmet = False
        """Whether no handler has run since the socket reported the newest signal."""
        self._own_comes = False
        """Whether we sent a signal since the handler last ran; its next run notifies no turn."""
        self._own_numbers = 0
        """Signals we sent ourselves whose numbers were not read from the socket yet."""
        self._cancels: asyncio.Task[Any] | None = None
        """The task that is cancelled as soon as its event loop runs the callback."""

    def catch(self, told: Callable[[], object]) -> InterruptHold | None:
        """Catch the signal for a turn; None off the main thread, where no handler can be set."""
        if threading.current_thread() is not threading.main_thread():
            return None
        self._listen()
        catching = InterruptHold(self, told)
        self._catching.append(catching)
        return catching

    @property
    def caught(self) -> bool:
        """Whether one of our handlers receives a signal that is sent now."""
        return any(catching.in_place for catching in self._catching)

    def forget(self, catching: InterruptHold) -> None:
        """Notify this hold no more; signal numbers still in the socket were meant for it."""
        with self._reading:
            if self._pair is not None and catching.in_place:
                self._numbers(self._pair[0])
            if catching in self._catching:
                self._catching.remove(catching)

    def met(self, catching: InterruptHold, frame: FrameType | None) -> None:
        """Interrupt or cancel the job that runs; called in the signal handler."""
        own, self._own_comes = self._own_comes, False
        self._loop().call_soon_threadsafe(self._met, None if own else catching)
        running = self.running
        if running is None:
            return
        running.interrupted = True
        task = running.task
        if running.everywhere or _in_user_code(frame, driven=task is None):
            self._cancels = None
            running.reached = True
            raise KeyboardInterrupt
        if task is not None and not task.done() and self._cancels is not task:
            self._cancels = task
            running.reached = True
            task.get_loop().call_soon_threadsafe(self._cancel, task)

    def _cancel(self, task: "asyncio.Task[Any]") -> None:
        if self._cancels is task:
            self._cancels = None
            task.cancel()

    def interrupt_main(self) -> None:
        """Make a blocking call in the main thread return, by a signal that no turn is notified of."""
        if not self.caught:
            return  # it would go to a handler that is not ours
        main = threading.main_thread().ident
        self._count_own()
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, signal.SIGINT)
        else:  # pragma: no cover  # Windows: the signal is seen when the call returns
            signal.raise_signal(signal.SIGINT)

    def close(self) -> None:
        """Close the socket, while the engine still runs."""
        if self._pair is None:
            return
        reader, writer = self._pair
        self._pair = None
        if signal.set_wakeup_fd(-1) != writer.fileno() and self._before_fd >= 0:
            signal.set_wakeup_fd(self._before_fd, warn_on_full_buffer=False)
        loop = self._loop()

        def forget() -> None:
            loop.remove_reader(reader)
            reader.close()
            writer.close()

        loop.call_soon_threadsafe(forget)

    def _tell(self, catching: InterruptHold | None) -> None:
        if catching is not None and catching.told is not None:
            catching.told()

    def _met(self, catching: InterruptHold | None) -> None:
        """Note that the handler ran: every number in the socket so far is handled; on the engine."""
        if self._pair is not None:
            self._read(self._pair[0])
        self._unmet = False
        self._tell(catching)

    def _count_own(self) -> None:
        self._own_comes = True
        self._own_numbers += 1

    def _listen(self) -> None:
        """Have the interpreter write signal numbers to our socket, and read them on the engine."""
        if self._pair is None:
            reader, writer = socket.socketpair()
            reader.settimeout(0)
            writer.settimeout(0)
            self._pair = reader, writer
            loop = self._loop()
            loop.call_soon_threadsafe(loop.add_reader, reader.fileno(), self._read, reader)
        ours = self._pair[1].fileno()
        before = signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
        if before != ours:
            self._before_fd = before

    def _read(self, reader: socket.socket) -> None:
        with self._reading:
            signals = self._numbers(reader)
            catching = self._catching[-1] if self._catching else None
        if signals and catching is not None and catching.in_place:
            self._unmet = True
            self._tell(catching)
            self._loop().call_later(WAKE_SECONDS, self._wake, catching, 0)

    def _numbers(self, reader: socket.socket) -> int:
        """Read the socket; returns how many signals it reported that we did not send ourselves."""
        try:
            numbers = reader.recv(512)
        except (BlockingIOError, OSError):
            return 0
        if self._before_fd >= 0:
            try:
                os.write(self._before_fd, numbers)
            except OSError:
                self._before_fd = -1
        signals = numbers.count(signal.SIGINT)
        own = min(signals, self._own_numbers)
        self._own_numbers -= own
        return signals - own

    def _wake(self, catching: InterruptHold, tried: int) -> None:
        """Send the signal once more if it had no effect yet; on the engine.

        A signal that arrives between the interpreter's last check for signals and a wait, for a lock
        or in a selector, does not end that wait, and its handler would run after it. One that arrives
        between two pieces of user code requests that the task is cancelled, which its event loop never
        does when the next piece does not await: the next signal interrupts that piece. A signal is
        meant for one turn: once that turn is over, it is not sent again to the next one.
        """
        has_effect = not self._unmet and self._cancels is None
        is_over = catching.told is None or not catching.in_place
        if has_effect or is_over or tried == MOST_WAKES:
            return
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            self._count_own()
            signal.pthread_kill(main, signal.SIGINT)
            self._loop().call_later(
                WAKE_SECONDS * 2 ** (tried + 1), self._wake, catching, tried + 1
            )


def _in_user_code(frame: FrameType | None, *, driven: bool) -> bool:
    """Tell whether user code is on the stack between this frame and the code that runs the agent's Python.

    A cell's own code is further down the stack too, so for code that we drive ourselves only frames
    above ``drive`` count; a task has no frames of the cell below it.
    """
    seen = False
    while frame is not None:
        if frame.f_code is _RUN_CODE:
            seen = True
        elif frame.f_code is _DRIVE:
            return seen
        frame = frame.f_back
    return seen and not driven
