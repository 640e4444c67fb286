"""How long a search takes in a text of many equal pieces."""

import time
from collections.abc import Callable


def best_seconds(search: Callable[[str], object], piece: str, length: int) -> float:
    """Return the shortest of three times that a search takes in a text of about this length."""
    text = piece * (length // len(piece)) + "!"
    times = []
    for _ in range(3):
        began = time.process_time()
        search(text)
        times.append(time.process_time() - began)
    return min(times)
