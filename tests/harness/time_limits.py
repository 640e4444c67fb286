"""Time limits of a compaction and its turn that run out when a test says so, however slow the machine is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from palimpsest.loop import turn
from palimpsest.loop.context_management import summary_writer
from palimpsest.loop.run_inputs import compaction_state

LIMITED = (turn, summary_writer, compaction_state)
"""The modules whose limits are held."""


class HeldTimeLimits:
    """Stands for ``asyncio`` in the modules that limit a compaction: a limit is known by its seconds."""

    def __init__(self) -> None:
        self._running: list[tuple[float, asyncio.Timeout | asyncio.Event]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[asyncio.Timeout]:
        """Limit a block as ``asyncio.timeout`` does, until ``run_out``."""
        async with asyncio.timeout(None) as limit:
            self._running.append((seconds, limit))
            try:
                yield limit
            finally:
                self._running.remove((seconds, limit))

    async def sleep(self, seconds: float) -> None:
        """Wait as ``asyncio.sleep`` does, until ``run_out``."""
        if not seconds:
            await asyncio.sleep(0)
            return
        over = asyncio.Event()
        self._running.append((seconds, over))
        try:
            await over.wait()
        finally:
            self._running.remove((seconds, over))

    def counted(self, seconds: float) -> int:
        """Return how many limits of so many seconds run now."""
        return sum(one == seconds for one, _ in self._running)

    def runs(self, seconds: float) -> bool:
        """Return whether something is limited to so many seconds now."""
        return self.counted(seconds) > 0

    def run_out(self, seconds: float, *, of_turn: bool = False) -> None:
        """Let the limits of so many seconds run out, or the turn's alone, which sleeps; at least one must be running."""
        found = [
            limit
            for one, limit in self._running
            if one == seconds and (isinstance(limit, asyncio.Event) or not of_turn)
        ]
        assert found, f"nothing is limited to {seconds:g} seconds"
        for limit in found:
            if isinstance(limit, asyncio.Event):
                limit.set()
            else:
                limit.reschedule(0)


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> HeldTimeLimits:
    """The time limits of compactions and turns, which run out only when the test says so."""
    held = HeldTimeLimits()
    for module in LIMITED:
        monkeypatch.setattr(module, "asyncio", held)
    return held
