"""Tell whether a cell runs by itself or as one of several, as with Run All.

Nothing in a cell's request says so. With several, a cell begins as soon as the one before it has ended, or was
sent before that; a person who runs cells one by one is slower. Border: imports nothing heavy, since it is loaded
by ``%load_ext``.
"""

import time
from collections.abc import Callable
from typing import Any

NEXT_SECONDS = 0.1
"""A cell that begins or was sent sooner after the one before it belongs to the same batch."""
ALLOWANCE_SECONDS = 0.05
"""How much earlier than the end of the cell before it a cell must have been sent to belong to its batch."""
ANNOUNCED_SECONDS = 2.0
"""How long before its first cell a run is announced at most."""


class CellBatches:
    """Groups the cells that run one directly after another.

    Contract: ``begin`` and ``end`` are called for each outermost cell, on the main thread.
    """

    def __init__(
        self,
        steady: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.number = 0
        """Of the batch that runs, or ran last."""
        self.position = 0
        """How many cells of the batch ran before this one."""
        self.began = wall()
        """When the batch began, in seconds since 1970."""
        self.announced = 0
        """How many cells a page has announced that it sends together; 0 for none."""
        self._steady = steady
        self._wall = wall
        self._announced_at = float("-inf")
        self._ended: tuple[float, float] | None = None
        self._sent = float("-inf")
        """When the cell before was sent, by the sender's clock."""
        self._delay = float("inf")
        """The shortest time from the sender's clock to ours that was seen: their difference, and the way."""

    @property
    def several(self) -> bool:
        """Whether the cell that runs is one of several."""
        return self.position > 0 or self.announced > 1

    def begin(self, sent: float | None = None) -> None:
        """Begin a cell; ``sent`` is when its request was made by the sender's clock, in seconds since 1970."""
        now = self._wall()
        waited = now - sent if sent is not None else float("inf")
        self._delay = min(self._delay, waited)
        follows = self._ended is not None and (
            self._steady() - self._ended[0] < NEXT_SECONDS
            or (sent is not None and sent + self._delay < self._ended[1] - ALLOWANCE_SECONDS)
            # What was sent together is, however long a machine under load takes from one cell to the next.
            or (sent is not None and 0 <= sent - self._sent < NEXT_SECONDS)
        )
        self._sent = float("-inf") if sent is None else sent
        if follows:
            self.position += 1
            return
        if self._steady() - self._announced_at > ANNOUNCED_SECONDS:
            self.announced = 0  # an error ended that run before its last cell
        self.number += 1
        self.position = 0
        self.began = now

    def end(self) -> None:
        """End a cell."""
        self._ended = self._steady(), self._wall()
        self.announced = max(0, self.announced - 1)

    def announce(self, cells: int) -> None:
        """Record that a page sends several cells together; from any thread."""
        self.announced = cells
        self._announced_at = self._steady()


def sent_at(shell: Any) -> float | None:
    """Return when the request of the running cell was made, in seconds since 1970; None where that is unknown."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return None
    try:
        return float(kernel.get_parent("shell")["header"]["date"].timestamp())
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
