"""Keep a piece of the agent's Python from ending the user's kernel, and say that it tried.

Border: patches one IPython shell and the functions of ``os`` and ``signal`` that send signals, for the
length of one run and for the code of that run alone. What leaves no chance (``os._exit``, ``os.abort``,
SIGKILL, a crash in C) is not caught: the next kernel names the piece
(``store/session_state/interrupted_work.py``).
"""

import builtins
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, NoReturn

from IPython.core import interactiveshell

from palimpsest.frontends.process_guard.attribute_patches import patch
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
LASTING = ("SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT", "SIGKILL", "SIGSTOP")
"""Signals that end nothing by default, and two that no process can leave out."""
TIMERS = (
    ("SIGALRM", "ITIMER_REAL"),
    ("SIGVTALRM", "ITIMER_VIRTUAL"),
    ("SIGPROF", "ITIMER_PROF"),
)


class Kept(SystemExit):
    """Raised where the agent's code asks the kernel to end; its code is the sentence that is shown."""


class OwnInterrupt(KeyboardInterrupt):
    """Raised where the agent's code sends SIGINT to the kernel: the signal would be taken for the stop button."""

    def _render_traceback_(self) -> list[str]:
        return ["KeyboardInterrupt: the code sent SIGINT to its own process, the kernel."]


def exit_text(raised: SystemExit) -> str:
    """Return what the model and the user are told of a piece that ended by SystemExit."""
    code = raised.code
    if isinstance(raised, Kept):
        return f"SystemExit\n{code}"
    shown = f": {code}" if type(code) in (int, str) else ""
    return f"SystemExit{shown}\n{KEPT}"


class KernelEnds:
    """Catches what would end the kernel, while a piece of code runs.

    Responsibilities: refuse ends and resets in the code that asks; put back what was removed; take the
    requests to the page; collect a sentence about each: ``refusals`` make a call a failed one.
    """

    def __init__(self, mine: Callable[[], bool]) -> None:
        self.refusals: list[str] = []
        self._mine = mine

    def refuse(self, words: str) -> None:
        """Add the sentence of something that was asked for and not done, once."""
        if words not in self.refusals:
            self.refusals.append(words)

    @contextmanager
    def installed(self, shell: Any) -> Iterator[None]:
        """Catch the ends that the code of the block asks for; what it needs is imported before."""
        modules, names = dict(sys.modules), dict(vars(builtins))
        kept = {name: getattr(shell, name) for name in _FLAGS if hasattr(shell, name)}
        asked = list(shell.payload_manager.read_payload())
        undo = [
            patch(shell, "ask_exit", self._ask_exit),
            patch(shell, "reset", self._refuse_reset),
            patch(interactiveshell, "warn", _without_advice(interactiveshell.warn)),
            *self._magics(shell),
            *self._signals(),
        ]
        if hasattr(shell, "_update_exit_now"):  # traitlets look it up by name on the instance
            undo.append(patch(shell, "_update_exit_now", lambda _change: None))
        timers = self._timers()
        try:
            yield
        finally:
            self._put_back(sys.modules, modules, NEEDED)
            self._put_back(vars(builtins), names, tuple(names))
            for name, value in kept.items():
                if getattr(shell, name) != value:
                    if name in ("exit_now", "keep_running"):
                        self.refuse(SHUT_DOWN)
                    setattr(shell, name, value)
            for take_back in reversed(undo):
                take_back()
            self._end_timers(timers)
            self._take_payloads(shell.payload_manager, asked)

    def _ask_exit(self) -> None:
        __tracebackhide__ = True
        self._end(KEPT)

    def _end(self, words: str) -> NoReturn:
        """End the code that asks; a thread ends without a word, so that it is noted."""
        if threading.current_thread() is not threading.main_thread():
            self.refuse(words)
        raise Kept(words)

    def _refuse_reset(self, *_arguments: Any, **_options: Any) -> None:
        raise usage_error(NO_RESET.format(name="reset"))

    def _magics(self, shell: Any) -> list[Callable[[], None]]:
        table = shell.magics_manager.magics["line"]
        undo: list[Callable[[], None]] = []
        for name in ("reset", "reset_selective"):
            if name in table:
                undo.append(functools.partial(table.__setitem__, name, table[name]))
                table[name] = functools.partial(_refuse, NO_RESET.format(name=name))
        return undo

    def _signals(self) -> list[Callable[[], None]]:
        """Have this code's signals to its own process raise where they are sent."""
        own = os.getpid()

        def to_own(pid: Any) -> bool:
            with suppress(Exception):
                return int(pid) in (own, 0, -1) or int(pid) == -os.getpgrp()
            return False

        def to_group(pgid: Any) -> bool:
            with suppress(Exception):
                return int(pgid) in (0, os.getpgrp())
            return False

        def always(_target: Any) -> bool:
            return True

        found: list[tuple[ModuleType, str, Callable[[Any], bool]]] = [
            (os, "kill", to_own),
            (os, "killpg", to_group),
            (signal, "pthread_kill", always),
        ]
        undo = []
        for module, name, own_target in found:
            send = getattr(module, name, None)
            if send is not None:
                undo.append(patch(module, name, self._sender(send, own_target)))
        raise_signal = signal.raise_signal
        checked = self._sender(lambda _own, number: raise_signal(number), always)
        undo.append(patch(signal, "raise_signal", lambda signalnum: checked(own, signalnum)))
        return undo

    def _sender(
        self, send: Callable[[Any, Any], Any], own_target: Callable[[Any], bool]
    ) -> Callable[[Any, Any], Any]:
        kernel = os.getpid()

        @functools.wraps(send)
        def checked(target: Any, number: Any) -> Any:
            __tracebackhide__ = True
            if os.getpid() == kernel and self._mine() and own_target(target):
                self._refuse_signal(number)
            return send(target, number)

        return checked

    def _refuse_signal(self, number: Any) -> None:
        __tracebackhide__ = True
        with suppress(ValueError, TypeError):
            one = signal.Signals(number)
            handler = signal.getsignal(one)
            if one is signal.SIGINT and handler is not signal.SIG_IGN:
                raise OwnInterrupt
            if handler in (signal.SIG_DFL, *_OURS) and one.name not in LASTING:
                self._end(SIGNALLED.format(name=one.name))

    def _timers(self) -> list[tuple[signal.Signals, int]]:
        """Take the signals of timers that have no handler; returns them with their timers' numbers."""
        taken: list[tuple[signal.Signals, int]] = []
        if threading.current_thread() is not threading.main_thread():
            return taken

        def gone_off(number: int, _frame: object) -> None:
            self.refuse(ALARMED.format(name=signal.Signals(number).name))

        for name, timer in TIMERS:
            one = getattr(signal, name, None)
            if one is not None and signal.getsignal(one) is signal.SIG_DFL:
                signal.signal(one, gone_off)
                _OURS.append(gone_off)
                taken.append((one, getattr(signal, timer)))
        return taken

    def _end_timers(self, taken: list[tuple[signal.Signals, int]]) -> None:
        for one, timer in taken:
            if signal.getsignal(one) in (signal.SIG_DFL, *_OURS):
                if signal.getitimer(timer)[0]:
                    signal.setitimer(timer, 0)
                    self.refuse(CANCELLED.format(name=one.name))
                signal.signal(one, signal.SIG_DFL)
        if taken:
            _OURS.clear()

    def _put_back(self, table: dict[str, Any], before: dict[str, Any], needed: Any) -> None:
        gone = [name for name in needed if name in before and name not in table]
        if gone:
            for name, value in before.items():
                table.setdefault(name, value)
            self.refuse(RESTORED.format(names=", ".join(gone[:5])))

    def _take_payloads(self, manager: Any, before: list[dict[str, Any]]) -> None:
        """Leave the page the requests from before the code ran; those of the code are told."""
        after = list(manager.read_payload())
        made = [one for one in after if one not in before and one.get("source") != "page"]
        if not made:
            return
        manager.clear_payload()
        for one in after:
            if one not in made:
                manager.write_payload(one, single=False)
        for one in made:
            source = one.get("source")
            if source == "set_next_input":
                self.refuse(NEXT_INPUT.format(text=one.get("text", "")))
            elif source == "ask_exit":
                self.refuse(SHUT_DOWN)
            else:
                self.refuse(OTHER_PAYLOAD.format(source=source))


_FLAGS = ("exit_now", "keepkernel_on_exit", "keep_running")
_OURS: list[Any] = []
"""The handlers that stand in for a default one while code runs."""


def _refuse(words: str, *_arguments: Any) -> None:
    raise usage_error(words)


def _without_advice(warn: Callable[..., None]) -> Callable[..., None]:
    """Leave out IPython's advice to end the kernel by other words."""

    def warn_unless(message: Any, *arguments: Any, **options: Any) -> None:
        if not str(message).startswith(ADVICE):
            options["stacklevel"] = options.get("stacklevel", 1) + 1
            warn(message, *arguments, **options)

    return warn_unless
