"""Refuse calls of the agent's Python that wait for keyboard input, since nobody can answer there.

The prompt of ``input`` would appear below a cell where nobody expects it, and a debugger has no input. Each
becomes a failed call with one sentence, also in a thread, and where the code catches the error.

Border: patches one shell's kernel, the debugger's classes, and, during a run, the functions that read. A debugger
that reads its commands from a file or text of the code is allowed.
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
    AnyFunction,
    Piece,
    current_piece,
    dispatch_by_caller,
    patch_for_pieces,
)
from palimpsest.frontends.process_guard.attribute_patches import swapped_attribute

INPUT_REFUSED = (
    "The code waited for keys ({name}), and nobody can answer there: it was ended. {instead}"
)
ADVICE_ASK = "Put the value into the code, or ask the user for it in your answer."
ADVICE_PRINT = "Print the values to look at, and run the code in smaller pieces."


class NobodyAnswers(StdinNotImplementedError):  # type: ignore[misc]  # no suffix Error: it is shown as a sentence
    """Raised where the agent's code waits for keyboard input; its message is shown."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def refuse_input(piece: Piece, name: str, advice: str = ADVICE_ASK) -> None:
    """Refuse a call that waits for keyboard input; raises NobodyAnswers."""
    __tracebackhide__ = True
    sentence = INPUT_REFUSED.format(name=name, instead=advice)
    piece.refuse(sentence)
    raise NobodyAnswers(sentence)


def _refusing_function(name: str) -> AnyFunction:
    def refuse(_call: object, piece: Piece, *_arguments: Any, **_options: Any) -> None:
        __tracebackhide__ = True
        refuse_input(piece, name)

    return refuse


def guard_questions(shell: Any) -> None:
    """Guard the kernel's input functions, also where code holds references to them; in a terminal, Python's own."""
    kernel = getattr(shell, "kernel", None)
    for name, call_text in (("raw_input", "input()"), ("getpass", "getpass()")):
        if hasattr(kernel, name):
            patch_for_pieces(kernel, name, _refusing_function(call_text))
    # In a terminal, the functions read the keys themselves, also after the end of a piece.
    if kernel is None:
        for module, name, _, call_text in _input_functions():
            patch_for_pieces(module, name, _refusing_function(call_text))
        for name in ("read", "readline", "readlines"):
            with suppress(AttributeError):  # no stream, or one whose methods cannot be set
                patch_for_pieces(sys.stdin, name, _refusing_function(f"sys.stdin.{name}()"))


def guard_debuggers() -> None:
    """Guard the entry points of Python's debugger, which IPython's and other debuggers use."""
    bdb.Bdb.set_trace = _refusing_debugger_method(bdb.Bdb.set_trace)  # type: ignore[method-assign]
    pdb.Pdb.interaction = _refusing_debugger_method(pdb.Pdb.interaction)  # type: ignore[method-assign]
    patch_for_pieces(sys, "breakpointhook", _refuse_breakpoint)


def _refuse_breakpoint(hook: AnyFunction, piece: Piece, *arguments: Any, **options: Any) -> Any:
    __tracebackhide__ = True
    if os.environ.get("PYTHONBREAKPOINT") != "0":
        refuse_input(piece, "breakpoint()", ADVICE_PRINT)
    return hook(*arguments, **options)


def _refusing_debugger_method(method: AnyFunction) -> AnyFunction:
    @functools.wraps(method)
    def call_or_refuse(self: Any, *arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        piece = current_piece()
        reads_text = not getattr(self, "use_rawinput", True) or not isinstance(self, pdb.Pdb)
        if piece is not None and not reads_text:
            refuse_input(piece, "a debugger", ADVICE_PRINT)
        return method(self, *arguments, **options)

    return call_or_refuse


def _input_functions() -> list[tuple[Any, str, str, str]]:
    """Return the functions that wait for keyboard input, as module, name, dotted name, and text of a call."""
    return [(builtins, "input", "builtins.input", "input()")] + [
        (getpass, name, f"getpass.{name}", "getpass()")
        for name in ("getpass", "unix_getpass", "win_getpass", "fallback_getpass")
        if hasattr(getpass, name)
    ]


class _NoKeys(io.TextIOBase):
    """Replaces standard input during a run; code outside the piece reads the original."""

    def __init__(self, original: Any) -> None:
        self._original_stdin = original

    def readable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return int(self._original_stdin.fileno())

    def read(self, *arguments: Any) -> str:
        return self._read_or_refuse("read", arguments)

    def readline(self, *arguments: Any) -> str:  # type: ignore[override]
        return self._read_or_refuse("readline", arguments)

    def __next__(self) -> str:  # type: ignore[override]
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def _read_or_refuse(self, name: str, arguments: tuple[Any, ...]) -> str:
        __tracebackhide__ = True
        if (piece := current_piece()) is not None:
            refuse_input(piece, f"sys.stdin.{name}()")
        text: str = getattr(self._original_stdin, name)(*arguments)
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original_stdin, name)


@contextmanager
def refusing_input(report: Callable[[str], object]) -> Iterator[None]:
    """Within the block, refuse calls that read keys; ``report`` gets a sentence for each function that code replaced."""
    with ExitStack() as stack:
        for module, name, dotted_name, call_text in _input_functions():
            guard = dispatch_by_caller(getattr(module, name), _refusing_function(call_text))
            stack.enter_context(swapped_attribute(module, name, dotted_name, guard, report))
        if sys.stdin is not None:
            patch = swapped_attribute(sys, "stdin", "sys.stdin", _NoKeys(sys.stdin), report)
            stack.enter_context(patch)
        yield
