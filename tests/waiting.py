"""The only helpers with which tests wait: for a condition, never for a fixed time.

The timeout is a last resort, long enough for a machine under load; a passing test never reaches it.
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
    """Poll a condition; return its value as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it never became true"
        time.sleep(LOOK_SECONDS)
    return found


async def until(true: Callable[[], T], seconds: float = LAST_RESORT_SECONDS) -> T:
    """Poll a condition while the event loop runs; return its value as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it never became true"
        await asyncio.sleep(LOOK_SECONDS)
    return found


async def settled(rounds: int = 20) -> None:
    """Let all ready tasks run; those that wait for a thread or a socket do not count."""
    for _ in range(rounds):
        await asyncio.sleep(0)


class Beats:
    """The number of times the event loop came round."""

    count = 0


@asynccontextmanager
async def beating() -> AsyncIterator[Beats]:
    """Count during the block how often the event loop comes round, up to a hundred times a second."""
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
