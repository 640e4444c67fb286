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
    current_piece,
    on_main_thread,
    piece_thread,
)
from palimpsest.frontends.process_guard.event_loop import STOPPED
from palimpsest.frontends.process_guard.kept_builtins import keep_builtins
from palimpsest.frontends.process_guard.late_callbacks import (
    LateFunction,
    LateListener,
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
        send = getattr(module, name, None)
        if send is not None:
            setattr(module, name, _sender(send, own_target))
    for module, name in ((signal, "raise_signal"), (_thread, "interrupt_main")):
        setattr(module, name, _raiser(getattr(module, name)))
    for name in ("alarm", "setitimer"):
        if hasattr(signal, name):
            setattr(signal, name, _timer(getattr(signal, name)))
    signal.signal = _handler_setter(signal.signal)
    dump = faulthandler.dump_traceback_later

    @functools.wraps(dump)
    def dumped(*arguments: Any, **options: Any) -> None:
        piece = current_piece()
        if piece is not None and (options.get("exit") or any(arguments[3:])):
            piece.refuse(DUMPED)
        else:
            dump(*arguments, **options)

    faulthandler.dump_traceback_later = dumped


def _guard_loop() -> None:
    """Have the kernel's loop go on where the agent's code stops it, from any thread."""
    set_handler = asyncio.BaseEventLoop.set_exception_handler

    @functools.wraps(set_handler)
    def handler_set(self: asyncio.BaseEventLoop, handler: Any) -> None:
        piece = current_piece()
        is_late = piece is not None and self is piece.loop and callable(handler)
        set_handler(
            self, LateFunction(handler, piece) if is_late and piece is not None else handler
        )

    asyncio.BaseEventLoop.set_exception_handler = handler_set  # type: ignore[method-assign]
    stop = asyncio.BaseEventLoop.stop

    @functools.wraps(stop)
    def stopped(self: asyncio.BaseEventLoop) -> None:
        piece = current_piece()
        if piece is not None and self is piece.loop:
            piece.refuse(STOPPED)
        else:
            stop(self)

    asyncio.BaseEventLoop.stop = stopped  # type: ignore[method-assign]


def _is_own_process(pid: Any) -> bool:
    with suppress(Exception):
        return int(pid) in (os.getpid(), 0, -1) or int(pid) == -os.getpgrp()
    return False


def _is_own_group(group: Any) -> bool:
    with suppress(Exception):
        return int(group) in (0, os.getpgrp())
    return False


def _sender(
    send: Callable[[Any, Any], Any], own_target: Callable[[Any], bool]
) -> Callable[[Any, Any], Any]:
    @functools.wraps(send)
    def checked(target: Any, number: Any) -> Any:
        __tracebackhide__ = True
        piece = current_piece()
        if piece is not None and own_target(target):
            _refuse_signal(piece, number)
        return send(target, number)

    return checked


def _raiser(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    def checked(signalnum: Any = signal.SIGINT) -> Any:
        __tracebackhide__ = True
        if (piece := current_piece()) is not None:
            _refuse_signal(piece, signalnum)
        return send(signalnum)

    return checked


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


def _handler_setter(set_handler: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the stand-in in its place where a piece asks for the default end by a timer."""
    names = {getattr(signal, name) for name, _ in TIMERS if hasattr(signal, name)}

    @functools.wraps(set_handler)
    def checked(signalnum: Any, handler: Any) -> Any:
        piece = current_piece()
        is_end = handler in (signal.SIG_DFL, int(signal.SIG_DFL)) and signalnum in names
        if piece is not None and is_end and not piece.ended and STAND_INS:
            handler = STAND_INS[-1]
        return set_handler(signalnum, handler)

    return checked


def _timer(set_timer: Callable[..., Any]) -> Callable[..., Any]:
    """While a piece runs, timers without a handler are caught when they go off; later, when they are set."""
    names = {getattr(signal, timer): name for name, timer in TIMERS if hasattr(signal, timer)}

    @functools.wraps(set_timer)
    def checked(*arguments: Any) -> Any:
        piece = current_piece()
        if piece is not None and piece.ended and arguments:
            name = "SIGALRM" if len(arguments) == 1 else names.get(arguments[0], "")
            sets = bool(arguments[-1 if len(arguments) == 1 else 1])
            if name and sets and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
                end(piece, ALARMED.format(name=name))
        return set_timer(*arguments)

    return checked


def _guard_shell(shell: Any) -> None:
    """Keep a shell from being ended and emptied by the agent's code."""
    _instead(shell, "ask_exit", lambda piece, *_a, **_o: _no_exit(piece))
    _instead(shell, "reset", lambda piece, *_a, **_o: _no_reset(piece, "reset"))
    if hasattr(shell, "_update_exit_now"):  # traitlets look it up by name on the instance
        _instead(shell, "_update_exit_now", lambda piece, change: _keep_running(piece, change))
    table = shell.magics_manager.magics["line"]
    for name in ("reset", "reset_selective"):
        if name in table:
            table[name] = _guarded_call(
                table[name], lambda piece, *_a, name=name: _no_reset(piece, name)
            )
    guard_questions(shell)
    register = shell.events.register

    @functools.wraps(register)
    def registered(event: str, function: Any) -> None:
        piece = current_piece()
        register(event, function if piece is None else LateListener(function, piece))

    shell.events.register = registered
    write = shell.payload_manager.write_payload

    @functools.wraps(write)
    def written(data: Any, *arguments: Any, **options: Any) -> None:
        piece = current_piece()
        if piece is not None and piece.ended:
            source = data.get("source") if isinstance(data, dict) else ""
            piece.refuse(PAYLOAD.format(source=source))
        else:
            write(data, *arguments, **options)

    shell.payload_manager.write_payload = written


def _instead(target: Any, name: str, refuse: Callable[..., Any]) -> None:
    setattr(target, name, _guarded_call(getattr(target, name), refuse))


def _guarded_call(call: Callable[..., Any], refuse: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def checked(*arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        piece = current_piece()
        if piece is None:
            return call(*arguments, **options)
        return refuse(piece, *arguments, **options)

    return checked


def _no_exit(piece: Piece) -> NoReturn:
    end(piece, KEPT if on_main_thread() and not piece.ended else SHUT_DOWN)


def _no_reset(piece: Piece, name: str) -> NoReturn:
    words = NO_RESET.format(name=name)
    if piece.ended or not on_main_thread():
        end(piece, words)
    raise usage_error(words)


def _keep_running(piece: Piece, change: Any) -> None:
    if change.new:
        piece.refuse(SHUT_DOWN)
