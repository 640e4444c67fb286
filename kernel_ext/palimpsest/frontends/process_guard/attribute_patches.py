"""Set an attribute on one object for the length of a run, and take it back, saying what was replaced meanwhile.

Border: standard library only.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def patched(target: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute on one instance or module until the end of the block."""
    missing = object()
    before = vars(target).get(name, missing)
    setattr(target, name, value)
    try:
        yield
    finally:
        if before is missing:
            vars(target).pop(name, None)
        else:
            setattr(target, name, before)


PUT_BACK = "This replaced {name}; it was put back."


@contextmanager
def swapped(
    target: Any, name: str, shown: str, value: Any, tell: Callable[[str], object]
) -> Iterator[None]:
    """Set an attribute as ``patched`` does; ``tell`` gets a sentence where other code had replaced it meanwhile."""
    with patched(target, name, value):
        try:
            yield
        finally:
            if getattr(target, name, None) is not value:
                tell(PUT_BACK.format(name=shown))
