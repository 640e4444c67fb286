"""Pause Python's garbage collector while many objects are made that stay.

Modules, classes and tables are such objects: collections during an import walk them again and again, find nothing to
free, and take a tenth of its time. Border: the standard library only, since it is imported before everything else.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10_000
"""Objects more than before; a collection of fewer takes a millisecond."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Collect nothing meanwhile, in any thread; what nobody refers to is still freed at once.

    At the end what was made counts as old where it is many objects, so that it is not walked twice more on its way there;
    what was there before counts as old then, too, and a few objects are not worth that.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            many = gc.get_count()[0] >= MANY
            if many and not gc.get_freeze_count():  # nobody has frozen objects that would thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()
