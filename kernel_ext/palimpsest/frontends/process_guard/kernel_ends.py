"""Keep a piece of the agent's Python from ending the user's kernel, and say that it tried.

Border: what one run needs on one IPython shell and is taken back at its end; the guards that stay are in
``lasting_guards.py``. What leaves no chance (``os._exit``, ``os.abort``, SIGKILL, a crash in C) is not caught: the next
kernel names the piece (``store/session_state/interrupted_work.py``).
"""

import builtins
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core import interactiveshell

from palimpsest.frontends.process_guard.agent_pieces import Kept, Piece
from palimpsest.frontends.process_guard.attribute_patches import patched
from palimpsest.frontends.process_guard.lasting_guards import (
    KEPT,
    SET_HANDLER,
    SHUT_DOWN,
    STAND_INS,
    TIMERS,
)
from palimpsest.frontends.process_guard.late_callbacks import guard_handlers
from palimpsest.frontends.process_guard.process_settings import signal_handlers

ALARMED = (
    "A timer went off ({name}) that no handler takes, which would have ended the kernel; it was left out. "
    "Set a handler before a timer."
)
CANCELLED = "A timer ({name}) without a handler was still set and was cancelled: it would have ended the kernel."
RESTORED = "The code removed {names}, without which the kernel cannot go on; they were put back."
NEXT_INPUT = (
    "This wanted to put text into the user's next cell, which was not done. The text:\n{text}"
)
OTHER_PAYLOAD = "This wanted the page to do something ({source}), which was not done."

ADVICE = "To exit: use 'exit', 'quit'"
NEEDED = ("builtins", "sys", "os", "IPython", "ipykernel", "threading", "asyncio")


def exit_text(raised: SystemExit) -> str:
    """Return what the model and the user are told of a piece that ended by SystemExit."""
    code = raised.code
    if isinstance(raised, Kept):
        return f"SystemExit\n{code}"
    shown = f": {code}" if type(code) in (int, str) else ""
    return f"SystemExit{shown}\n{KEPT}"


@contextmanager
def kernel_kept(shell: Any, piece: Piece) -> Iterator[None]:
    """Catch what would end the kernel in a piece, until the end of the block.

    What was removed is put back, the requests to the page are taken, and each is said to the piece.
    """
    modules, names = dict(sys.modules), dict(vars(builtins))
    kept = {name: getattr(shell, name) for name in _FLAGS if hasattr(shell, name)}
    asked = list(shell.payload_manager.read_payload())
    handlers = signal_handlers()
    with patched(interactiveshell, "warn", _without_advice(interactiveshell.warn)):
        timers = _take_timers(piece)
        try:
            yield
        finally:
            _put_back(piece, sys.modules, modules, NEEDED)
            _put_back(piece, vars(builtins), names, tuple(names))
            for name, value in kept.items():
                if getattr(shell, name) != value:
                    if name in ("exit_now", "keep_running"):
                        piece.refuse(SHUT_DOWN)
                    setattr(shell, name, value)
            _end_timers(piece, timers)
            guard_handlers(handlers, piece)
            _take_payloads(piece, shell.payload_manager, asked)


def _take_timers(piece: Piece) -> list[tuple[signal.Signals, int]]:
    """Take the signals of timers that have no handler; returns them with their timers' numbers."""
    taken: list[tuple[signal.Signals, int]] = []
    if threading.current_thread() is not threading.main_thread():
        return taken

    def gone_off(number: int, _frame: object) -> None:
        piece.refuse(ALARMED.format(name=signal.Signals(number).name))

    for name, timer in TIMERS:
        one = getattr(signal, name, None)
        if one is not None and signal.getsignal(one) is signal.SIG_DFL:
            SET_HANDLER(one, gone_off)
            STAND_INS.append(gone_off)
            taken.append((one, getattr(signal, timer)))
    return taken


def _end_timers(piece: Piece, taken: list[tuple[signal.Signals, int]]) -> None:
    for one, timer in taken:
        if signal.getsignal(one) in (signal.SIG_DFL, *STAND_INS):
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
                piece.refuse(CANCELLED.format(name=one.name))
            SET_HANDLER(one, signal.SIG_DFL)
    if taken:
        STAND_INS.clear()


def _put_back(piece: Piece, table: dict[str, Any], before: dict[str, Any], needed: Any) -> None:
    gone = [name for name in needed if name in before and name not in table]
    if gone:
        for name, value in before.items():
            table.setdefault(name, value)
        piece.refuse(RESTORED.format(names=", ".join(gone[:5])))


def taken_payloads(manager: Any, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Take requests to the page out of those that wait, and return them."""
    waiting = list(manager.read_payload())
    taken = [one for one in waiting if wanted(one)]
    if taken:
        manager.clear_payload()
        for one in waiting:
            if one not in taken:
                manager.write_payload(one, single=False)
    return taken


def _take_payloads(piece: Piece, manager: Any, before: list[dict[str, Any]]) -> None:
    """Leave the page the requests from before the code ran; those of the code are told."""
    for one in taken_payloads(
        manager, lambda one: one not in before and one.get("source") != "page"
    ):
        source = one.get("source")
        if source == "set_next_input":
            piece.refuse(NEXT_INPUT.format(text=one.get("text", "")))
        elif source == "ask_exit":
            piece.refuse(SHUT_DOWN)
        else:
            piece.refuse(OTHER_PAYLOAD.format(source=source))


_FLAGS = ("exit_now", "keepkernel_on_exit", "keep_running")


def _without_advice(warn: Callable[..., None]) -> Callable[..., None]:
    """Leave out IPython's advice to end the kernel by other words."""

    def warn_unless(message: Any, *arguments: Any, **options: Any) -> None:
        if not str(message).startswith(ADVICE):
            options["stacklevel"] = options.get("stacklevel", 1) + 1
            warn(message, *arguments, **options)

    return warn_unless
