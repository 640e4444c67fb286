"""Pause Python's garbage collector while many long-lived objects are created.

Modules, classes and tables are such objects: collections during an import walk them again and again, find nothing to
free, and take a tenth of the import's time. Border: the standard library only, since it is imported before everything else.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MIN_FROZEN_OBJECTS = 10_000
"""New objects from which on freezing is worth it; a collection of fewer takes a millisecond."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector in all threads during the block; objects without references are still freed at once.

    If the block created many objects, they are moved to the oldest generation at its end, so that collections do not
    walk them twice more. Objects from before the block are moved too, which few new objects would not justify.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            has_many_objects = gc.get_count()[0] >= MIN_FROZEN_OBJECTS
            if (
                has_many_objects and not gc.get_freeze_count()
            ):  # nobody has frozen objects that would thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()
