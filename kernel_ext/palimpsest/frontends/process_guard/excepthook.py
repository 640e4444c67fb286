"""Tell that a piece of code set ``sys.excepthook``, which IPython takes back without a word at each statement's end.

Border: IPython's ``run_code`` is watched at the one place where it sets the hook, through the name ``sys`` of its module.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core import interactiveshell

from palimpsest.frontends.process_guard.agent_pieces import PIECE, Piece
from palimpsest.frontends.process_guard.attribute_patches import PUT_BACK, patched

NAME = "excepthook"


class _WatchedSys:
    """Stands in for ``sys`` in IPython's module: calls ``look`` before the hook is set."""

    def __init__(self, look: Callable[[], object]) -> None:
        object.__setattr__(self, "_look", look)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == NAME:
            self._look()
        setattr(sys, name, value)


@contextmanager
def excepthook_watched(shell: Any, piece: Piece, tell: Callable[[str], object]) -> Iterator[None]:
    """Tell once, in the code of the block, that it replaced the hook and that it was put back."""
    known = [getattr(sys, NAME, None), getattr(shell, NAME, None)]

    def look() -> None:
        now = getattr(sys, NAME, None)
        if PIECE.get() is piece and now not in known:
            known.append(now)
            if len(known) == 3:  # the first that is not known
                tell(PUT_BACK.format(name=f"sys.{NAME}"))

    with patched(interactiveshell, "sys", _WatchedSys(look)):
        yield
