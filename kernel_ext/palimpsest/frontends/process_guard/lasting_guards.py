"""Keep what the agent's Python starts from ending the user's kernel, as long as the process lives.

A thread, a timer or a callback may go on after the piece that started it, so these guards stay once the first piece
has run. Each asks whose code calls (``agent_pieces.py``); the user's own gets what was there before, and so does a child process.

Border: patches one IPython shell, functions of ``os``, ``signal``, ``_thread`` and ``faulthandler``, and the classes of
threads and of an event loop's callbacks. What leaves no chance (``os._exit``, ``os.abort``, SIGKILL, a crash in C) is not caught.
"""

import _thread
import asyncio
import faulthandler
import functools
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from palimpsest.frontends.process_guard.agent_pieces import (
    PIECE,
    Kept,
    Piece,
    change_for_pieces,
    for_pieces,
    on_main_thread,
    piece_thread,
)
from palimpsest.frontends.process_guard.event_loop import STOPPED
from palimpsest.frontends.process_guard.kept_builtins import keep_builtins
from palimpsest.frontends.process_guard.late_callbacks import (
    LateFunction,
    guard_callbacks,
)
from palimpsest.frontends.process_guard.unanswered_input import guard_debuggers, guard_questions
from palimpsest.frontends.usage_errors import usage_error

KEPT = (
    "The code ended here. The kernel is the user's and was not ended: its variables are all there, and exit() "
    "and quit() do not end it from here. Let code run to its end (if/else), or raise an exception that says why."
)
SHUT_DOWN = (
    "The code asked the kernel to end. The kernel is the user's and was not ended: its variables are all "
    "there. Ask the user to restart it if that is needed."
)
NO_RESET = "%{name} is not available here: the variables are the user's. Delete those of yours by name, with del."
SIGNALLED = (
    "The code sent {name} to the kernel's own process, which would have ended it. The kernel is the user's "
    "and goes on; send signals to processes that the code started."
)
INTERRUPTED = (
    "The code sent SIGINT to the kernel's own process, which is the user's stop button; it was not sent. "
    "Stop a thread of yours by an event that it looks at."
)
ALARMED = (
    "The code set a timer ({name}) without a handler, which would have ended the kernel; it was not set. "
    "Set a handler before a timer."
)
DUMPED = (
    "faulthandler.dump_traceback_later(exit=True) would have ended the kernel; it was not set. "
    "Leave out exit=True."
)
PAYLOAD = "The code asked the page for something ({source}), which was not done."
LASTING = ("SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT", "SIGKILL", "SIGSTOP")
"""Signals that end nothing by default, and two that no process can leave out."""
TIMERS = (
    ("SIGALRM", "ITIMER_REAL"),
    ("SIGVTALRM", "ITIMER_VIRTUAL"),
    ("SIGPROF", "ITIMER_PROF"),
)
SET_HANDLER = signal.signal
"""The function itself, for the guards: the agent's code gets another one."""
STAND_INS: list[Any] = []
"""The handlers that stand in for a default one while code runs."""

_PIECE_OF_THREAD = "_palimpsest_piece"
_guarded: set[str] = set()
"""What is guarded in this process: ``process``, and the numbers of shells."""


class OwnInterrupt(KeyboardInterrupt):
    """Raised where the agent's code sends SIGINT to the kernel: the signal would be taken for the stop button."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the code sent SIGINT to its own process, the kernel."]


def guard(shell: Any) -> None:
    """Set the guards of the process and of a shell, once."""
    keep_builtins()
    if "process" not in _guarded:
        _guarded.add("process")
        _guard_threads()
        _guard_signals()
        _guard_loop()
        guard_callbacks()
        guard_debuggers()
    if str(id(shell)) not in _guarded:
        _guarded.add(str(id(shell)))
        _guard_shell(shell)


def end(piece: Piece, words: str) -> NoReturn:
    """End the code that asks; where nobody sees it end, a sentence says so."""
    __tracebackhide__ = True
    if not on_main_thread():
        piece.refuse(words)
        raise SystemExit(words)  # of this very class a thread's end is not printed
    if piece.ended:
        piece.refuse(words)
    raise Kept(words)


def _guard_threads() -> None:
    """Have a thread belong to the piece whose code starts it."""
    start, begin = threading.Thread.start, threading.Thread._bootstrap_inner  # type: ignore[attr-defined]  # noqa: SLF001
    start_new = _thread.start_new_thread

    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        if (piece := PIECE.get()) is not None:
            setattr(self, _PIECE_OF_THREAD, piece)
        start(self)

    @functools.wraps(begin)
    def begun(self: threading.Thread) -> None:
        if (piece := getattr(self, _PIECE_OF_THREAD, None)) is None:
            begin(self)
            return
        with piece_thread(piece, self):
            begin(self)

    @functools.wraps(start_new)
    def started_new(function: Any, *arguments: Any) -> int:
        piece = PIECE.get()
        if piece is None or not callable(function):
            return start_new(function, *arguments)

        token = object()

        def run(*given: Any, **named: Any) -> None:
            with piece_thread(piece, token):
                function(*given, **named)

        piece.threads.add(token)  # from now on: the thread may not have begun when the piece ends

        return start_new(run, *arguments)

    threading.Thread.start = started  # type: ignore[method-assign]
    threading.Thread._bootstrap_inner = begun  # type: ignore[attr-defined]  # noqa: SLF001
    _thread.start_new_thread = started_new


def _guard_signals() -> None:
    """Have the agent's signals to its own process raise where they are sent."""
    for module, name, own_target in (
        (os, "kill", _is_own_process),
        (os, "killpg", _is_own_group),
        (signal, "pthread_kill", lambda _target: True),
    ):
        if hasattr(module, name):
            change_for_pieces(module, name, _sender(own_target))
    change_for_pieces(signal, "raise_signal", _raise)
    change_for_pieces(_thread, "interrupt_main", _raise)
    for name in ("alarm", "setitimer"):
        if hasattr(signal, name):
            change_for_pieces(signal, name, _set_timer)
    change_for_pieces(signal, "signal", _set_handler)
    change_for_pieces(faulthandler, "dump_traceback_later", _dump_later)


def _dump_later(dump: Callable[..., None], piece: Piece, *arguments: Any, **options: Any) -> None:
    if options.get("exit") or any(arguments[3:]):
        piece.refuse(DUMPED)
    else:
        dump(*arguments, **options)


def _guard_loop() -> None:
    """Have the kernel's loop go on where the agent's code stops it, from any thread."""
    change_for_pieces(asyncio.BaseEventLoop, "set_exception_handler", _set_exception_handler)
    change_for_pieces(asyncio.BaseEventLoop, "stop", _stop)


def _set_exception_handler(
    set_handler: Callable[..., None], piece: Piece, loop: object, handler: Any
) -> None:
    is_late = loop is piece.loop and callable(handler)
    set_handler(loop, LateFunction(handler, piece) if is_late else handler)


def _stop(stop: Callable[[object], None], piece: Piece, loop: object) -> None:
    if loop is piece.loop:
        piece.refuse(STOPPED)
    else:
        stop(loop)


def _is_own_process(pid: Any) -> bool:
    with suppress(Exception):
        return int(pid) in (os.getpid(), 0, -1) or int(pid) == -os.getpgrp()
    return False


def _is_own_group(group: Any) -> bool:
    with suppress(Exception):
        return int(group) in (0, os.getpgrp())
    return False


def _sender(own_target: Callable[[Any], bool]) -> Callable[..., Any]:
    def send_to(send: Callable[..., Any], piece: Piece, target: Any, number: Any) -> Any:
        __tracebackhide__ = True
        if own_target(target):
            _refuse_signal(piece, number)
        return send(target, number)

    return send_to


def _raise(send: Callable[..., Any], piece: Piece, number: Any = signal.SIGINT) -> Any:
    __tracebackhide__ = True
    _refuse_signal(piece, number)
    return send(number)


def _refuse_signal(piece: Piece, number: Any) -> None:
    __tracebackhide__ = True
    with suppress(ValueError, TypeError):
        one = signal.Signals(number)
        handler = signal.getsignal(one)
        if one is signal.SIGINT and (piece.ended or not on_main_thread()):
            end(piece, INTERRUPTED)
        if one is signal.SIGINT and handler is not signal.SIG_IGN:
            raise OwnInterrupt
        if handler in (signal.SIG_DFL, *STAND_INS) and one.name not in LASTING:
            end(piece, SIGNALLED.format(name=one.name))


def _set_handler(set_handler: Callable[..., Any], piece: Piece, number: Any, handler: Any) -> Any:
    """Leave the stand-in in its place where a piece asks for the default end by a timer."""
    is_end = handler in (signal.SIG_DFL, int(signal.SIG_DFL))
    is_timer = any(number == getattr(signal, name, None) for name, _ in TIMERS)
    if is_end and is_timer and not piece.ended and STAND_INS:
        handler = STAND_INS[-1]
    return set_handler(number, handler)


def _set_timer(set_timer: Callable[..., Any], piece: Piece, *arguments: Any) -> Any:
    """While a piece runs, timers without a handler are caught when they go off; later, when they are set."""
    if piece.ended and arguments:
        which = signal.ITIMER_REAL if len(arguments) == 1 else arguments[0]
        names = [name for name, timer in TIMERS if getattr(signal, timer, None) == which]
        sets = bool(arguments[-1 if len(arguments) == 1 else 1])
        if names and sets and signal.getsignal(getattr(signal, names[0])) is signal.SIG_DFL:
            end(piece, ALARMED.format(name=names[0]))
    return set_timer(*arguments)


def _guard_shell(shell: Any) -> None:
    """Keep a shell from being ended and emptied by the agent's code."""
    change_for_pieces(shell, "ask_exit", _no_exit)
    change_for_pieces(shell, "reset", _no_reset)
    if hasattr(shell, "_update_exit_now"):  # traitlets look it up by name on the instance
        change_for_pieces(shell, "_update_exit_now", _keep_running)
    table = shell.magics_manager.magics["line"]
    for name in ("reset", "reset_selective"):
        if name in table:
            table[name] = for_pieces(table[name], functools.partial(_no_reset, name=name))
    guard_questions(shell)
    change_for_pieces(shell.events, "register", _register)
    change_for_pieces(shell.payload_manager, "write_payload", _write_payload)


def _no_exit(_exit: object, piece: Piece, *_arguments: Any, **_options: Any) -> NoReturn:
    end(piece, KEPT if on_main_thread() and not piece.ended else SHUT_DOWN)


def _no_reset(
    _reset: object, piece: Piece, *_arguments: Any, name: str = "reset", **_: Any
) -> NoReturn:
    words = NO_RESET.format(name=name)
    if piece.ended or not on_main_thread():
        end(piece, words)
    raise usage_error(words)


def _keep_running(_update: object, piece: Piece, change: Any) -> None:
    if change.new:
        piece.refuse(SHUT_DOWN)


def _register(register: Callable[..., None], piece: Piece, event: str, function: Any) -> None:
    listener = LateFunction(function, piece)
    piece.listeners.add(listener)
    register(event, listener)


def _write_payload(
    write: Callable[..., None], piece: Piece, data: Any, *arguments: Any, **options: Any
) -> None:
    if piece.ended:
        source = data.get("source") if isinstance(data, dict) else ""
        piece.refuse(PAYLOAD.format(source=source))
    else:
        write(data, *arguments, **options)
