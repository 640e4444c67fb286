"""Set an attribute on one object for the length of a run, and take it back.

Border: standard library only.
"""

from collections.abc import Callable
from typing import Any


def patch(target: Any, name: str, value: Any) -> Callable[[], None]:
    """Set an attribute on one instance or module; returns a function that undoes it."""
    missing = object()
    before = vars(target).get(name, missing)
    setattr(target, name, value)

    def take_back() -> None:
        if before is missing:
            vars(target).pop(name, None)
        else:
            setattr(target, name, before)

    return take_back
