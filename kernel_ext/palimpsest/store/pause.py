"""Let the garbage collector wait while a log is folded.

Folding makes hundreds of thousands of objects that all stay alive; looking through them again and
again for garbage took a fifth of the time (tests/bench/bench_store.py).
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()
_waiting = 0


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector unless somebody switched it off; several threads may do so at once."""
    global _waiting
    with _LOCK:
        paused = gc.isenabled() or _waiting > 0
        if paused:
            _waiting += 1
            gc.disable()
    try:
        yield
    finally:
        if paused:
            with _LOCK:
                _waiting -= 1
                if _waiting == 0:
                    gc.enable()
