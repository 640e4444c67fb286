"""Detect whether a cell runs alone or as part of a batch, as with Run All.

The request to run a cell does not say so. In a batch, a cell begins as soon as the cell before it has ended,
or was sent before that; a user who runs single cells is slower. Border: imports nothing heavy, since it is loaded
by ``%load_ext``.
"""

import time
from collections.abc import Callable
from typing import Any

from palimpsest.frontends.user_cells.requested_cells import running_request

MAX_GAP_SECONDS = 0.1
"""A cell that begins or was sent within this time after the cell before belongs to the same batch."""
MIN_LEAD_SECONDS = 0.05
"""Minimum time between the sending of a cell and the end of the cell before it, for the same batch."""
MAX_ANNOUNCED_SECONDS = 2.0
"""Maximum time from the announcement of a batch to its first cell."""


class CellBatches:
    """Groups the cells that run one directly after another.

    Contract: ``begin_cell`` and ``end_cell`` are called for each outermost cell, on the main thread.
    """

    def __init__(
        self,
        monotonic_seconds: Callable[[], float] = time.monotonic,
        wall_seconds: Callable[[], float] = time.time,
    ) -> None:
        self.number = 0
        """Number of the running or the last batch."""
        self.position = 0
        """Number of cells of the batch that ran before this one."""
        self.began_at = wall_seconds()
        """Time at which the batch began, in seconds since 1970."""
        self.announced_cells = 0
        """Number of cells that a page has announced to send together; 0 for none."""
        self._steady_clock = monotonic_seconds
        self._wall_clock = wall_seconds
        self._announced_at = float("-inf")
        self._ended_times: tuple[float, float] | None = None
        """Times at which the cell before ended, by the steady clock and by the wall clock."""
        self._previous_request_time = float("-inf")
        """Time at which the cell before was sent, by the sender's clock."""
        self._min_delay_seconds = float("inf")
        """Minimum time between the sending of a cell, by the sender's clock, and its begin, by this kernel's clock."""

    @property
    def is_batch(self) -> bool:
        """Whether the running cell is part of a batch of several cells."""
        return self.position > 0 or self.announced_cells > 1

    def begin_cell(self, request_time_of_cell: float | None = None) -> None:
        """Record the begin of a cell, whose request has this time by the sender's clock, in seconds since 1970."""
        now = self._wall_clock()
        sent_at = float("inf") if request_time_of_cell is None else request_time_of_cell
        if request_time_of_cell is not None:
            self._min_delay_seconds = min(self._min_delay_seconds, now - sent_at)
        is_same_batch = self._ended_times is not None and (
            self._steady_clock() - self._ended_times[0] < MAX_GAP_SECONDS
            or sent_at + self._min_delay_seconds < self._ended_times[1] - MIN_LEAD_SECONDS
            # Cells that were sent together form a batch, also where a loaded machine runs them slowly.
            or 0 <= sent_at - self._previous_request_time < MAX_GAP_SECONDS
        )
        self._previous_request_time = (
            float("-inf") if request_time_of_cell is None else request_time_of_cell
        )
        if is_same_batch:
            self.position += 1
            return
        if self._steady_clock() - self._announced_at > MAX_ANNOUNCED_SECONDS:
            self.announced_cells = 0  # an error ended the announced batch before its last cell
        self.number += 1
        self.position = 0
        self.began_at = now

    def end_cell(self) -> None:
        """Record the end of a cell."""
        self._ended_times = self._steady_clock(), self._wall_clock()
        self.announced_cells = max(0, self.announced_cells - 1)

    def announce_cells(self, cells: int) -> None:
        """Record that a page sends several cells together; from any thread."""
        self.announced_cells = cells
        self._announced_at = self._steady_clock()


def request_time(shell: Any) -> float | None:
    """Return the time of the running cell's request, in seconds since 1970; None where it is unknown."""
    try:
        return float(running_request(shell)["header"]["date"].timestamp())
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
