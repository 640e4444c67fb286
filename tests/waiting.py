"""The one place where tests wait: until something is true, never for a time.

The limit is a last resort, long enough for a machine that does much else; nothing waits it out in
a test that is green.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")

LAST_RESORT_SECONDS = 30.0
LOOK_SECONDS = 0.002


def eventually(true: Callable[[], T], seconds: float = LAST_RESORT_SECONDS) -> T:
    """Return what a condition gives as soon as it holds."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it never became true"
        time.sleep(LOOK_SECONDS)
    return found


async def until(true: Callable[[], T], seconds: float = LAST_RESORT_SECONDS) -> T:
    """Return what a condition gives as soon as it holds, and let the loop run meanwhile."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it never became true"
        await asyncio.sleep(LOOK_SECONDS)
    return found


async def settled(rounds: int = 20) -> None:
    """Let everything that can go on do so; what waits for a thread or a socket does not count."""
    for _ in range(rounds):
        await asyncio.sleep(0)


class Beats:
    """How often the loop was free to do something else."""

    count = 0


@asynccontextmanager
async def beating() -> AsyncIterator[Beats]:
    """Count while the block runs how often the loop comes round, a hundred times a second at most."""
    beats = Beats()

    async def beat() -> None:
        while True:
            await asyncio.sleep(0.01)
            beats.count += 1

    task = asyncio.ensure_future(beat())
    try:
        yield beats
    finally:
        task.cancel()
