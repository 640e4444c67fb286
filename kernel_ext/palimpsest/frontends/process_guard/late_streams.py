"""Restore standard output and error where a thread or callback left by a piece breaks or replaces them.

Replacements by a piece itself are undone at its end. A thread that continues may set ``sys.stdout`` to None, to a closed file or
to any object: the user's next cell would print nowhere, or the kernel would never answer it. So both streams are checked around
each cell, before the kernel ends a message, and when a thread or callback of a piece has ended.
Border: acts only while work left by a piece runs, or ran since the last cell. Streams that the user's own cell sets stay.
"""

import functools
import sys
from contextlib import suppress
from typing import Any

from palimpsest.frontends.process_guard.agent_pieces import (
    CURRENT_PIECE,
    LATE_WORK_CALLBACKS,
    Piece,
)
from palimpsest.frontends.process_guard.left_running import running_pieces, set_ended_futures

STREAM_UNUSABLE = "It left sys.{name} unusable ({what}); it was put back."
STREAM_REPLACED = "It replaced sys.{name} while no cell ran; it was put back."
STREAM_NAMES = ("stdout", "stderr")

_usable_streams: dict[str, tuple[Any, Any]] = {}
"""By name, the last usable stream, and the thread that sends the text of a kernel's stream."""
_recently_ended_pieces: list[Piece] = []
"""The last piece with work that ended since the last cell, or none."""

_guarded_shells: set[str] = set()
"""The ids of the guarded shells."""


def guard_streams(shell: Any) -> None:
    """Guard both streams of a shell's process, once for a shell."""
    if str(id(shell)) in _guarded_shells:
        return
    _guarded_shells.add(str(id(shell)))
    _remember_streams()
    shell.events.register("pre_run_cell", lambda *_: _before_cell(shell))
    shell.events.register("post_run_cell", _after_cell)
    kernel: Any = getattr(shell, "kernel", None)
    hook = getattr(kernel, "post_handler_hook", None)
    if hook is not None:

        @functools.wraps(hook)
        def restore_before_hook() -> None:
            _restore_streams()
            hook()

        kernel.post_handler_hook = restore_before_hook


def _before_cell(shell: Any) -> None:
    set_ended_futures()
    # Streams get their parent message when a cell begins, which a replaced stream missed.
    parent = getattr(shell, "get_parent", lambda: None)()
    _restore_streams(is_between_cells=True, parent=parent)


def _after_cell(*_: object) -> None:
    if CURRENT_PIECE.get() is None:  # a piece has its own streams
        _restore_streams()
        _remember_streams()
        _recently_ended_pieces.clear()


def _after_late_work(piece: Piece) -> None:
    if piece.has_ended and not piece.in_child:
        _recently_ended_pieces[:] = [piece]
        _restore_streams()


def _remember_streams() -> None:
    for name in STREAM_NAMES:
        stream = getattr(sys, name, None)
        if not _stream_problem(stream):
            _usable_streams[name] = (stream, getattr(stream, "pub_thread", None))


def _restore_streams(*, is_between_cells: bool = False, parent: Any = None) -> None:
    """Restore unusable streams, and between cells also replaced ones, and report each to the newest piece."""
    pieces = [*_recently_ended_pieces, *running_pieces()]
    if not pieces or CURRENT_PIECE.get() not in (None, *pieces):
        return
    sentences: list[str] = []
    for name, (usable_stream, sending_thread) in _usable_streams.items():
        current_stream = getattr(sys, name, None)
        problem = _stream_problem(current_stream)
        if not problem and (current_stream is usable_stream or not is_between_cells):
            continue
        if sending_thread is not None and _stream_problem(usable_stream):
            usable_stream.pub_thread = sending_thread  # a kernel's stream that was closed
        setattr(sys, name, usable_stream)
        with suppress(Exception):  # the code of any object
            if parent and hasattr(usable_stream, "set_parent"):
                usable_stream.set_parent(parent)
        sentence = STREAM_UNUSABLE if problem else STREAM_REPLACED
        sentences.append(sentence.format(name=name, what=problem))
    for sentence in sentences:  # now that both streams can show it
        pieces[-1].refuse(sentence)


def _stream_problem(stream: Any) -> str:
    """Return why a stream is unusable; empty where it is usable."""
    if stream is None:
        return "None"
    with suppress(Exception):  # the code of any object
        if getattr(stream, "closed", False) is True:
            return "closed"
        if callable(stream.write) and callable(stream.flush):
            return ""
    return f"of the type {type(stream).__name__}"


LATE_WORK_CALLBACKS.append(_after_late_work)
