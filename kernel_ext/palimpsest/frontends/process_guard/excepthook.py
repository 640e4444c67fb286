"""Report that code set ``sys.excepthook``, which IPython silently resets at the end of each statement.

Border: checks at the one place where IPython's ``run_code`` sets the hook, by replacing ``sys`` in its module.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core import interactiveshell

from palimpsest.frontends.process_guard.agent_pieces import CURRENT_PIECE, Piece
from palimpsest.frontends.process_guard.attribute_patches import (
    REPLACED_AND_RESTORED,
    patched_attribute,
)

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

    def before_set() -> None:
        current = getattr(sys, HOOK_NAME, None)
        if CURRENT_PIECE.get() is piece and current not in known_hooks:
            known_hooks.append(current)
            if len(known_hooks) == 3:  # the first replacement
                report(REPLACED_AND_RESTORED.format(name=f"sys.{HOOK_NAME}"))

    with patched_attribute(interactiveshell, "sys", _WatchedSys(before_set)):
        yield
