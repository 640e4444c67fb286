"""Prevent threads and callbacks of the agent's Python from ending the user's kernel, for the life of the process.

A thread, a timer or a callback may continue after the piece that started it, so these guards stay once the first piece
has run. Each checks which code calls (``agent_pieces.py``); for the user's code and in child processes, the original is called.

Border: patches one IPython shell, functions of ``os``, ``signal``, ``_thread`` and ``faulthandler``, and the classes of
threads and of an event loop's callbacks. ``os._exit``, ``os.abort``, SIGKILL and a crash in C cannot be caught.
"""

import _thread
import asyncio
import faulthandler
import functools
import os
import signal
import threading
from contextlib import suppress
from typing import Any, NoReturn

from palimpsest.frontends.process_guard.agent_pieces import (
    CURRENT_PIECE,
    AnyFunction,
    KernelEndRefused,
    Piece,
    dispatch_by_caller,
    on_main_thread,
    patch_for_pieces,
    piece_thread,
)
from palimpsest.frontends.process_guard.event_loop import LOOP_STOPPED, add_builtins
from palimpsest.frontends.process_guard.late_callbacks import LateFunction, guard_callbacks
from palimpsest.frontends.process_guard.unanswered_input import guard_debuggers, guard_questions
from palimpsest.frontends.usage_errors import usage_error

CODE_ENDED = (
    "The code ended here. The kernel is the user's and was not ended: its variables are all there, and exit() "
    "and quit() do not end it from here. Let code run to its end (if/else), or raise an exception that says why."
)
SHUTDOWN_REFUSED = (
    "The code asked the kernel to end. The kernel is the user's and was not ended: its variables are all "
    "there. Ask the user to restart it if that is needed."
)
NO_RESET = "%{name} is not available here: the variables are the user's. Delete those of yours by name, with del."
SIGNAL_REFUSED = (
    "The code sent {name} to the kernel's own process, which would have ended it. The kernel is the user's "
    "and goes on; send signals to processes that the code started."
)
INTERRUPT_REFUSED = (
    "The code sent SIGINT to the kernel's own process, which is the user's stop button; it was not sent. "
    "Stop a thread of yours by an event that it looks at."
)
TIMER_REFUSED = (
    "The code set a timer ({name}) without a handler, which would have ended the kernel; it was not set. "
    "Set a handler before a timer."
)
DUMP_REFUSED = (
    "faulthandler.dump_traceback_later(exit=True) would have ended the kernel; it was not set. "
    "Leave out exit=True."
)
LATE_PAYLOAD_REFUSED = "The code asked the page for something ({source}), which was not done."
HARMLESS_SIGNALS = ("SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT", "SIGKILL", "SIGSTOP")
"""Signals that do not end a process by default, and two that cannot be handled."""
TIMERS = (("SIGALRM", "ITIMER_REAL"), ("SIGVTALRM", "ITIMER_VIRTUAL"), ("SIGPROF", "ITIMER_PROF"))
ORIGINAL_SIGNAL = signal.signal
"""The original function, for the guards: ``signal.signal`` is replaced for the agent's code."""
TEMPORARY_HANDLERS: list[Any] = []
"""The handlers that replace a default one while code runs."""

_PIECE_OF_THREAD = "_palimpsest_piece"
_installed_guards: set[str] = set()
"""The guards installed in this process: ``process``, and the ids of shells."""


class OwnInterrupt(KeyboardInterrupt):
    """Raised where the agent's code sends SIGINT to the kernel, where it would act as the stop button."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the code sent SIGINT to its own process, the kernel."]


def install_guards(shell: Any) -> None:
    """Install the guards of the process and of a shell, once each."""
    add_builtins()
    if "process" not in _installed_guards:
        _installed_guards.add("process")
        _guard_threads()
        _guard_signals()
        patch_for_pieces(asyncio.BaseEventLoop, "set_exception_handler", _set_exception_handler)
        patch_for_pieces(asyncio.BaseEventLoop, "stop", _stop_loop)
        guard_callbacks()
        guard_debuggers()
    if str(id(shell)) not in _installed_guards:
        _installed_guards.add(str(id(shell)))
        _guard_shell(shell)


def end_code(piece: Piece, sentence: str) -> NoReturn:
    """End the calling code, and report it where its end is not visible."""
    __tracebackhide__ = True
    if not on_main_thread():
        piece.refuse(sentence)
        raise SystemExit(sentence)  # exactly this class ends a thread without a traceback
    if piece.has_ended:
        piece.refuse(sentence)
    raise KernelEndRefused(sentence)


def _guard_threads() -> None:
    """Let each thread belong to the piece whose code starts it."""
    original_start, original_bootstrap = threading.Thread.start, threading.Thread._bootstrap_inner  # type: ignore[attr-defined]  # noqa: SLF001
    original_start_new = _thread.start_new_thread

    @functools.wraps(original_start)
    def guarded_start(self: threading.Thread) -> None:
        if (piece := CURRENT_PIECE.get()) is not None:
            setattr(self, _PIECE_OF_THREAD, piece)
        original_start(self)

    @functools.wraps(original_bootstrap)
    def guarded_bootstrap(self: threading.Thread) -> None:
        if (piece := getattr(self, _PIECE_OF_THREAD, None)) is None:
            original_bootstrap(self)
            return
        with piece_thread(piece, self):
            original_bootstrap(self)

    @functools.wraps(original_start_new)
    def guarded_start_new(function: Any, *arguments: Any) -> int:
        piece = CURRENT_PIECE.get()
        if piece is None or not callable(function):
            return original_start_new(function, *arguments)

        token = object()

        def run(*positional: Any, **keywords: Any) -> None:
            with piece_thread(piece, token):
                function(*positional, **keywords)

        # Before the start: the thread may not have begun when the piece ends.
        piece.threads.add(token)

        return original_start_new(run, *arguments)

    threading.Thread.start = guarded_start  # type: ignore[method-assign]
    threading.Thread._bootstrap_inner = guarded_bootstrap  # type: ignore[attr-defined]  # noqa: SLF001
    _thread.start_new_thread = guarded_start_new


def _guard_signals() -> None:
    """Let signals of the agent's code to its own process raise in the sender."""
    for module, name, is_own_target in (
        (os, "kill", _is_own_process),
        (os, "killpg", _is_own_group),
        (signal, "pthread_kill", lambda _target: True),
    ):
        if hasattr(module, name):
            patch_for_pieces(module, name, functools.partial(_send_signal, is_own_target))
    patch_for_pieces(signal, "raise_signal", _raise_signal)
    patch_for_pieces(_thread, "interrupt_main", _raise_signal)
    for name in ("alarm", "setitimer"):
        if hasattr(signal, name):
            patch_for_pieces(signal, name, _set_timer)
    patch_for_pieces(signal, "signal", _set_handler)
    patch_for_pieces(faulthandler, "dump_traceback_later", _set_dump_timer)


def _set_dump_timer(dump: AnyFunction, piece: Piece, *arguments: Any, **options: Any) -> None:
    if options.get("exit") or any(arguments[3:]):
        piece.refuse(DUMP_REFUSED)
    else:
        dump(*arguments, **options)


def _set_exception_handler(
    set_handler: AnyFunction, piece: Piece, loop: object, handler: Any
) -> None:
    is_kernel_loop = loop is piece.loop and callable(handler)
    set_handler(loop, LateFunction(handler, piece) if is_kernel_loop else handler)


def _stop_loop(stop: AnyFunction, piece: Piece, loop: object) -> None:
    if loop is piece.loop:
        piece.refuse(LOOP_STOPPED)
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


def _send_signal(
    is_own_target: AnyFunction, send: AnyFunction, piece: Piece, target: Any, number: Any
) -> Any:
    __tracebackhide__ = True
    if is_own_target(target):
        _refuse_if_deadly(piece, number)
    return send(target, number)


def _raise_signal(send: AnyFunction, piece: Piece, number: Any = signal.SIGINT) -> Any:
    __tracebackhide__ = True
    _refuse_if_deadly(piece, number)
    return send(number)


def _refuse_if_deadly(piece: Piece, number: Any) -> None:
    """Raise if the signal would end or interrupt the kernel; return otherwise."""
    __tracebackhide__ = True
    with suppress(ValueError, TypeError):
        signal_number = signal.Signals(number)
        handler = signal.getsignal(signal_number)
        if signal_number is signal.SIGINT and (piece.has_ended or not on_main_thread()):
            end_code(piece, INTERRUPT_REFUSED)
        if signal_number is signal.SIGINT and handler is not signal.SIG_IGN:
            raise OwnInterrupt
        if (
            handler in (signal.SIG_DFL, *TEMPORARY_HANDLERS)
            and signal_number.name not in HARMLESS_SIGNALS
        ):
            end_code(piece, SIGNAL_REFUSED.format(name=signal_number.name))


def _set_handler(set_handler: AnyFunction, piece: Piece, number: Any, handler: Any) -> Any:
    """Set a handler; for a timer's default handler, which ends the process, a running piece keeps the temporary one."""
    is_default = handler in (signal.SIG_DFL, int(signal.SIG_DFL))
    is_timer = any(number == getattr(signal, name, None) for name, _ in TIMERS)
    if is_default and is_timer and not piece.has_ended and TEMPORARY_HANDLERS:
        handler = TEMPORARY_HANDLERS[-1]
    return set_handler(number, handler)


def _set_timer(set_timer: AnyFunction, piece: Piece, *arguments: Any) -> Any:
    """Set a timer; refuse one without a handler after the piece's end, since only a running piece catches it."""
    if piece.has_ended and arguments:
        timer_kind = signal.ITIMER_REAL if len(arguments) == 1 else arguments[0]
        names = [name for name, timer in TIMERS if getattr(signal, timer, None) == timer_kind]
        is_set = bool(arguments[-1 if len(arguments) == 1 else 1])
        if names and is_set and signal.getsignal(getattr(signal, names[0])) is signal.SIG_DFL:
            end_code(piece, TIMER_REFUSED.format(name=names[0]))
    return set_timer(*arguments)


def _guard_shell(shell: Any) -> None:
    """Prevent the agent's code from ending or emptying a shell."""
    patch_for_pieces(shell, "ask_exit", _refuse_exit)
    patch_for_pieces(shell, "reset", _refuse_reset)
    if hasattr(shell, "_update_exit_now"):  # traitlets finds it by name on the instance
        patch_for_pieces(shell, "_update_exit_now", _refuse_exit_flag)
    line_magics = shell.magics_manager.magics["line"]
    for name in ("reset", "reset_selective"):
        if name in line_magics:
            refuse_reset = functools.partial(_refuse_reset, name=name)
            line_magics[name] = dispatch_by_caller(line_magics[name], refuse_reset)
    guard_questions(shell)
    patch_for_pieces(shell.events, "register", _register_listener)
    patch_for_pieces(shell.payload_manager, "write_payload", _write_payload)


def _refuse_exit(_exit: object, piece: Piece, *_arguments: Any, **_options: Any) -> NoReturn:
    end_code(piece, CODE_ENDED if on_main_thread() and not piece.has_ended else SHUTDOWN_REFUSED)


def _refuse_reset(
    _reset: object, piece: Piece, *_arguments: Any, name: str = "reset", **_: Any
) -> NoReturn:
    sentence = NO_RESET.format(name=name)
    if piece.has_ended or not on_main_thread():
        end_code(piece, sentence)
    raise usage_error(sentence)


def _refuse_exit_flag(_update: object, piece: Piece, change: Any) -> None:
    if change.new:
        piece.refuse(SHUTDOWN_REFUSED)


def _register_listener(register: AnyFunction, piece: Piece, event: str, function: Any) -> None:
    listener = LateFunction(function, piece)
    piece.listeners.add(listener)
    register(event, listener)


def _write_payload(
    write: AnyFunction, piece: Piece, data: Any, *arguments: Any, **options: Any
) -> None:
    if piece.has_ended:
        source = data.get("source") if isinstance(data, dict) else ""
        piece.refuse(LATE_PAYLOAD_REFUSED.format(source=source))
    else:
        write(data, *arguments, **options)
