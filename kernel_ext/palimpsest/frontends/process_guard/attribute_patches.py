"""Set an attribute on one object for the length of a run, and take it back, saying what was replaced meanwhile.

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


PUT_BACK = "This replaced {name}; it was put back."


def swap(
    target: Any, name: str, shown: str, value: Any
) -> Callable[[Callable[[str], object]], None]:
    """Set an attribute as ``patch`` does; what undoes it says so where other code had replaced it meanwhile."""
    take_back = patch(target, name, value)

    def put_back(tell: Callable[[str], object]) -> None:
        if getattr(target, name, None) is not value:
            tell(PUT_BACK.format(name=shown))
        take_back()

    return put_back
