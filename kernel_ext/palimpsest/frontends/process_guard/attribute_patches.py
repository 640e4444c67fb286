"""Set an attribute on one object during a block, restore it, and report if other code replaced it.

Border: standard library only.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
