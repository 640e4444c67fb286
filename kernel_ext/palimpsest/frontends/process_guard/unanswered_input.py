"""Refuse what waits for somebody's keys in the agent's Python: nobody can answer there.

A question of ``input`` would stand below a cell that nobody expects to ask, and a debugger's reads from nowhere. Each
becomes a failed call with one sentence, also in a thread, and where the code takes the error.

Border: patches one shell's kernel, the debugger's classes, and, for the length of a run, the functions that read. A debugger
that gets its commands from a file or text of the code is left alone.
"""

import bdb
import builtins
import functools
import getpass
import io
import os
import pdb
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from IPython.core.error import StdinNotImplementedError

from palimpsest.frontends.process_guard.agent_pieces import (
    Piece,
    change_for_pieces,
    current_piece,
    for_pieces,
)
from palimpsest.frontends.process_guard.attribute_patches import swapped

NOBODY = "The code waited for keys ({name}), and nobody can answer there: it was ended. {instead}"
ASK = "Put the value into the code, or ask the user for it in your answer."
PRINT = "Print the values to look at, and run the code in smaller pieces."


class NobodyAnswers(StdinNotImplementedError):  # type: ignore[misc]  # named after what is wrong
    """Raised where the agent's code waits for somebody's keys; the text is the sentence that is shown."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def refuse_input(piece: Piece, name: str, instead: str = ASK) -> None:
    """End the code that waits for keys."""
    __tracebackhide__ = True
    words = NOBODY.format(name=name, instead=instead)
    piece.refuse(words)
    raise NobodyAnswers(words)


def _refusing(name: str, instead: str = ASK) -> Callable[..., None]:
    def refuse(_call: object, piece: Piece, *_arguments: Any, **_options: Any) -> None:
        __tracebackhide__ = True
        refuse_input(piece, name, instead)

    return refuse


def guard_questions(shell: Any) -> None:
    """Guard a kernel's two ways to ask, also for code that kept them, and what reads a terminal's keys."""
    kernel = getattr(shell, "kernel", None)
    for name, shown in (("raw_input", "input()"), ("getpass", "getpass()")):
        if hasattr(kernel, name):
            change_for_pieces(kernel, name, _refusing(shown))
    # A terminal's keys the functions themselves read, also after the end of a piece.
    if kernel is None:
        for module, name, _, called in _asking():
            change_for_pieces(module, name, _refusing(called))
        for name in ("read", "readline", "readlines"):
            with suppress(AttributeError):  # a stream whose methods cannot be set, or none
                change_for_pieces(sys.stdin, name, _refusing(f"sys.stdin.{name}()"))


def guard_debuggers() -> None:
    """Guard the entrances of Python's debugger, which those of IPython and others go through."""
    bdb.Bdb.set_trace = _without_keys(bdb.Bdb.set_trace)  # type: ignore[method-assign]
    pdb.Pdb.interaction = _without_keys(pdb.Pdb.interaction)  # type: ignore[method-assign]
    change_for_pieces(sys, "breakpointhook", _break)


def _break(hook: Callable[..., Any], piece: Piece, *arguments: Any, **options: Any) -> Any:
    __tracebackhide__ = True
    if os.environ.get("PYTHONBREAKPOINT") != "0":
        refuse_input(piece, "breakpoint()", PRINT)
    return hook(*arguments, **options)


def _without_keys(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, *arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        piece = current_piece()
        reads_text = not getattr(self, "use_rawinput", True) or not isinstance(self, pdb.Pdb)
        if piece is not None and not reads_text:
            refuse_input(piece, "a debugger", PRINT)
        return method(self, *arguments, **options)

    return checked


def _asking() -> list[tuple[Any, str, str, str]]:
    """Return the functions that read keys: module, name, dotted name, and how it is called."""
    return [(builtins, "input", "builtins.input", "input()")] + [
        (getpass, name, f"getpass.{name}", "getpass()")
        for name in ("getpass", "unix_getpass", "win_getpass", "fallback_getpass")
        if hasattr(getpass, name)
    ]


class _NoKeys(io.TextIOBase):
    """Stands in for standard input; code of others reads what was there before."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def readable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        number: int = self._original.fileno()
        return number

    def read(self, *arguments: Any) -> str:
        return self._asked("read", arguments)

    def readline(self, *arguments: Any) -> str:  # type: ignore[override]
        return self._asked("readline", arguments)

    def __next__(self) -> str:  # type: ignore[override]
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def _asked(self, name: str, arguments: tuple[Any, ...]) -> str:
        __tracebackhide__ = True
        if (piece := current_piece()) is not None:
            refuse_input(piece, f"sys.stdin.{name}()")
        text: str = getattr(self._original, name)(*arguments)
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


@contextmanager
def nobody_answers(tell: Callable[[str], object]) -> Iterator[None]:
    """Refuse the functions that read keys in the code of the block; ``tell`` gets a sentence for each that it replaced."""
    with ExitStack() as stack:
        for module, name, shown, called in _asking():
            checked = for_pieces(getattr(module, name), _refusing(called))
            stack.enter_context(swapped(module, name, shown, checked, tell))
        if sys.stdin is not None:
            stack.enter_context(swapped(sys, "stdin", "sys.stdin", _NoKeys(sys.stdin), tell))
        yield
