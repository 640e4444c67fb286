"""Set an attribute on one object during a block, restore it, and report if other code replaced it.

``sys.excepthook`` is restored by IPython itself, silently, at the end of each statement. Code that set it is noticed at
the one place where IPython's ``run_code`` sets the hook, by replacing ``sys`` in its module.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core import interactiveshell

from palimpsest.frontends.process_guard.agent_pieces import CURRENT_PIECE, Piece


@contextmanager
def patched_attribute(target: Any, name: str, value: Any) -> Iterator[None]:
    """Within the block, set an attribute on one instance or module."""
    missing = object()
    original = vars(target).get(name, missing)
    setattr(target, name, value)
    try:
        yield
    finally:
        if original is missing:
            vars(target).pop(name, None)
        else:
            setattr(target, name, original)


REPLACED_AND_RESTORED = "This replaced {name}; it was put back."


@contextmanager
def swapped_attribute(
    target: Any, name: str, dotted_name: str, value: Any, report: Callable[[str], object]
) -> Iterator[None]:
    """Act as ``patched_attribute``, and ``report`` a sentence if other code replaced the attribute in the block."""
    with patched_attribute(target, name, value):
        try:
            yield
        finally:
            if getattr(target, name, None) is not value:
                report(REPLACED_AND_RESTORED.format(name=dotted_name))


HOOK_NAME = "excepthook"


class _WatchedSys:
    """Replaces ``sys`` in IPython's module, and calls ``before_set`` before the hook is set."""

    def __init__(self, before_set: Callable[[], object]) -> None:
        object.__setattr__(self, "_before_set", before_set)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == HOOK_NAME:
            self._before_set()
        setattr(sys, name, value)


@contextmanager
def reporting_excepthook(
    shell: Any, piece: Piece, report: Callable[[str], object]
) -> Iterator[None]:
    """Within the block, report once that code of the piece replaced the hook, which IPython restores."""
    known_hooks = [getattr(sys, HOOK_NAME, None), getattr(shell, HOOK_NAME, None)]
    original_count = len(known_hooks)

    def before_set() -> None:
        current_hook = getattr(sys, HOOK_NAME, None)
        if CURRENT_PIECE.get() is piece and current_hook not in known_hooks:
            known_hooks.append(current_hook)
            if len(known_hooks) == original_count + 1:  # the first replacement
                report(REPLACED_AND_RESTORED.format(name=f"sys.{HOOK_NAME}"))

    with patched_attribute(interactiveshell, "sys", _WatchedSys(before_set)):
        yield
