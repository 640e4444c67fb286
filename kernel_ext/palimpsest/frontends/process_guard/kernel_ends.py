"""Prevent the agent's Python from ending the user's kernel, and report the attempt.

Border: patches of one run on one IPython shell, undone at its end; the guards that stay are in
``lasting_guards.py``. ``os._exit``, ``os.abort``, SIGKILL and a crash in C cannot be caught: the next
kernel names the piece (``store/session_state/interrupted_work.py``).
"""

import builtins
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core import interactiveshell

from palimpsest.frontends.process_guard.agent_pieces import KernelEndRefused, Piece, on_main_thread
from palimpsest.frontends.process_guard.attribute_patches import patched_attribute
from palimpsest.frontends.process_guard.lasting_guards import (
    CODE_ENDED,
    ORIGINAL_SIGNAL,
    SHUTDOWN_REFUSED,
    TEMPORARY_HANDLERS,
    TIMERS,
)
from palimpsest.frontends.process_guard.late_callbacks import guard_handlers
from palimpsest.frontends.process_guard.process_settings import signal_handlers

TIMER_FIRED = (
    "A timer went off ({name}) that no handler takes, which would have ended the kernel; it was left out. "
    "Set a handler before a timer."
)
TIMER_CANCELLED = "A timer ({name}) without a handler was still set and was cancelled: it would have ended the kernel."
NAMES_RESTORED = (
    "The code removed {names}, without which the kernel cannot go on; they were put back."
)
NEXT_INPUT_REFUSED = (
    "This wanted to put text into the user's next cell, which was not done. The text:\n{text}"
)
PAYLOAD_REFUSED = "This wanted the page to do something ({source}), which was not done."

MAX_NAMED_NAMES = 5
EXIT_ADVICE = "To exit: use 'exit', 'quit'"
NEEDED_MODULES = ("builtins", "sys", "os", "IPython", "ipykernel", "threading", "asyncio")


def exit_text(error: SystemExit) -> str:
    """Return the text for the model and the user about code that ended by SystemExit."""
    code = error.code
    if isinstance(error, KernelEndRefused):
        return f"SystemExit\n{code}"
    code_text = f": {code}" if type(code) in (int, str) else ""
    return f"SystemExit{code_text}\n{CODE_ENDED}"


@contextmanager
def keeping_kernel_alive(shell: Any, piece: Piece) -> Iterator[None]:
    """Within the block, catch attempts of a piece to end the kernel.

    Afterwards, removed modules and names are restored, requests to the page are dropped, and each is reported.
    """
    modules_before, builtins_before = dict(sys.modules), dict(vars(builtins))
    flags_before = {name: getattr(shell, name) for name in _SHELL_FLAGS if hasattr(shell, name)}
    payloads_before = list(shell.payload_manager.read_payload())
    handlers_before = signal_handlers()
    with patched_attribute(interactiveshell, "warn", _without_advice(interactiveshell.warn)):
        caught_timers = _catch_timers(piece)
        try:
            yield
        finally:
            _restore_removed(piece, sys.modules, modules_before, NEEDED_MODULES)
            _restore_removed(piece, vars(builtins), builtins_before, tuple(builtins_before))
            for name, value in flags_before.items():
                if getattr(shell, name) != value:
                    if name in ("exit_now", "keep_running"):
                        piece.refuse(SHUTDOWN_REFUSED)
                    setattr(shell, name, value)
            _end_timers(piece, caught_timers)
            guard_handlers(handlers_before, piece)
            _refuse_payloads(piece, shell.payload_manager, payloads_before)


def _catch_timers(piece: Piece) -> list[tuple[signal.Signals, int]]:
    """Install handlers for the timer signals without one; return the signals with their timers' numbers."""
    caught_timers: list[tuple[signal.Signals, int]] = []
    if not on_main_thread():
        return caught_timers

    def on_timer(number: int, _frame: object) -> None:
        piece.refuse(TIMER_FIRED.format(name=signal.Signals(number).name))

    for name, timer_kind in TIMERS:
        signal_number = getattr(signal, name, None)
        if signal_number is not None and signal.getsignal(signal_number) is signal.SIG_DFL:
            ORIGINAL_SIGNAL(signal_number, on_timer)
            TEMPORARY_HANDLERS.append(on_timer)
            caught_timers.append((signal_number, getattr(signal, timer_kind)))
    return caught_timers


def _end_timers(piece: Piece, caught_timers: list[tuple[signal.Signals, int]]) -> None:
    for signal_number, timer_kind in caught_timers:
        if signal.getsignal(signal_number) in (signal.SIG_DFL, *TEMPORARY_HANDLERS):
            if signal.getitimer(timer_kind)[0]:
                signal.setitimer(timer_kind, 0)
                piece.refuse(TIMER_CANCELLED.format(name=signal_number.name))
            ORIGINAL_SIGNAL(signal_number, signal.SIG_DFL)
    if caught_timers:
        TEMPORARY_HANDLERS.clear()


def _restore_removed(
    piece: Piece, table: dict[str, Any], entries_before: dict[str, Any], needed_names: Any
) -> None:
    removed_names = [name for name in needed_names if name in entries_before and name not in table]
    if removed_names:
        for name, value in entries_before.items():
            table.setdefault(name, value)
        piece.refuse(NAMES_RESTORED.format(names=", ".join(removed_names[:MAX_NAMED_NAMES])))


def remove_payloads(
    manager: Any, matches: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Remove matching payloads, which are requests to the page, from the waiting ones, and return them."""
    waiting_payloads = list(manager.read_payload())
    removed_payloads = [payload for payload in waiting_payloads if matches(payload)]
    if removed_payloads:
        manager.clear_payload()
        for payload in waiting_payloads:
            if payload not in removed_payloads:
                manager.write_payload(payload, single=False)
    return removed_payloads


def _refuse_payloads(piece: Piece, manager: Any, payloads_before: list[dict[str, Any]]) -> None:
    """Remove the code's requests to the page, and report them; earlier ones stay."""
    for payload in remove_payloads(
        manager, lambda payload: payload not in payloads_before and payload.get("source") != "page"
    ):
        source = payload.get("source")
        if source == "set_next_input":
            piece.refuse(NEXT_INPUT_REFUSED.format(text=payload.get("text", "")))
        elif source == "ask_exit":
            piece.refuse(SHUTDOWN_REFUSED)
        else:
            piece.refuse(PAYLOAD_REFUSED.format(source=source))


_SHELL_FLAGS = ("exit_now", "keepkernel_on_exit", "keep_running")


def _without_advice(warn: Callable[..., None]) -> Callable[..., None]:
    """Return ``warn`` without IPython's advice on how to end the kernel."""

    def warn_unless(message: Any, *arguments: Any, **options: Any) -> None:
        if not str(message).startswith(EXIT_ADVICE):
            options["stacklevel"] = options.get("stacklevel", 1) + 1
            warn(message, *arguments, **options)

    return warn_unless
