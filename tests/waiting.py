"""The only helpers with which tests wait: for a condition, never for a fixed time.

The timeout is a last resort, long enough for a machine under load; a passing test never reaches it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")

LAST_RESORT_SECONDS = 120.0
LOOK_SECONDS = 0.002
MAX_PAUSE_SECONDS = 0.1


def pause(waited: float) -> float:
    """Return the seconds until the next look: a twentieth of what was waited, so that looking costs little."""
    return min(max(LOOK_SECONDS, waited / 20), MAX_PAUSE_SECONDS)


def eventually(condition: Callable[[], T], seconds: float = LAST_RESORT_SECONDS) -> T:
    """Poll a condition; return its value as soon as it is true."""
    begun = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begun
        assert waited < seconds, "it never became true"
        time.sleep(pause(waited))
    return value


async def until(condition: Callable[[], T], seconds: float = LAST_RESORT_SECONDS) -> T:
    """Poll a condition while the event loop runs; return its value as soon as it is true."""
    begun = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begun
        assert waited < seconds, "it never became true"
        await asyncio.sleep(pause(waited))
    return value


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


async def request_ended(writer: Any) -> None:
    """Await the end of the request of a title or of a turn summary, where one runs."""
    if writer._task is not None:
        await asyncio.wait({writer._task})
