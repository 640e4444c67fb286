"""Keep standard output and error writable where a thread or callback that a piece left breaks or replaces them.

What a piece itself replaces is put back at its end. A thread that goes on may set ``sys.stdout`` to None, to a closed file or
to any object: the user's next cell would print nowhere, or the kernel would never answer it. So both are looked at around
each cell, before the kernel ends a message, and when something late has ended.
Border: acts only while something of a piece goes on, or went on since the last cell. What the user's own cell sets stays.
"""

import functools
import sys
from contextlib import suppress
from typing import Any

from palimpsest.frontends.process_guard.agent_pieces import LATE_LOOKS, PIECE, Piece
from palimpsest.frontends.process_guard.left_running import look_again, pieces_that_run

UNUSABLE = "It left sys.{name} unusable ({what}); it was put back."
REPLACED = "It replaced sys.{name} while no cell ran; it was put back."
NAMES = ("stdout", "stderr")

_good: dict[str, tuple[Any, Any]] = {}
"""The stream that took text last, and the thread that sends what is written to a kernel's stream."""
_late: list[Piece] = []
"""Pieces of which something ended since the last cell."""

_watched: set[str] = set()
"""The numbers of the shells that are watched."""

_untold: list[tuple[Piece, str]] = []


def guard_streams(shell: Any) -> None:
    """Watch both streams of a shell's process from now on; once for a shell."""
    if str(id(shell)) in _watched:
        return
    _watched.add(str(id(shell)))
    _remember()
    shell.events.register("pre_run_cell", lambda *_: _cell_begins(shell))
    shell.events.register("post_run_cell", _cell_ended)
    kernel: Any = getattr(shell, "kernel", None)
    hook = getattr(kernel, "post_handler_hook", None)
    if hook is not None:

        @functools.wraps(hook)
        def checked() -> None:
            _mend()
            _tell()
            hook()

        kernel.post_handler_hook = checked


def _cell_begins(shell: Any) -> None:
    look_again()
    # A stream was told of this cell when it began, which one that stood elsewhere was not.
    parent = getattr(shell, "get_parent", lambda: None)()
    for stream in _mend(between=True):
        if parent and hasattr(stream, "set_parent"):
            stream.set_parent(parent)
    _tell()


def _cell_ended(*_: object) -> None:
    if PIECE.get() is None:  # a piece has streams of its own
        _mend()
        _tell()
        _remember()
        _late.clear()


def _look(piece: Piece) -> None:
    if piece.ended and not piece.in_child:
        _late.append(piece)
        del _late[:-1]
        _mend()
        _tell()


def _remember() -> None:
    for name in NAMES:
        stream = getattr(sys, name, None)
        if not _problem(stream):
            _good[name] = (stream, getattr(stream, "pub_thread", None))


def _mend(*, between: bool = False) -> list[Any]:
    """Put back what takes no text, and with ``between`` what was replaced since the last cell; return the streams."""
    pieces = [*_late, *pieces_that_run()]
    mended: list[Any] = []
    if not pieces or PIECE.get() not in (None, *pieces):
        return mended
    for name, (good, thread) in _good.items():
        now = getattr(sys, name, None)
        problem = _problem(now)
        if not problem and (now is good or not between):
            continue
        if thread is not None and _problem(good):
            good.pub_thread = thread  # a kernel's stream that was closed
        setattr(sys, name, good)
        mended.append(good)
        _untold.append(
            (pieces[-1], (UNUSABLE if problem else REPLACED).format(name=name, what=problem))
        )
    return mended


def _tell() -> None:
    """Tell the pieces what was put back, when there are streams to tell it on."""
    while _untold:
        piece, words = _untold.pop(0)
        piece.refuse(words)


def _problem(stream: Any) -> str:
    """Return why nothing can be written to a stream; empty where it can."""
    if stream is None:
        return "None"
    with suppress(Exception):  # the code of any object
        if getattr(stream, "closed", False) is True:
            return "closed"
        if callable(stream.write) and callable(stream.flush):
            return ""
    return f"of the type {type(stream).__name__}"


LATE_LOOKS.append(_look)
