"""Measure the CPU time of one step in a session of 10,000 messages and in a short one with equal requests."""

import asyncio
import tempfile
from pathlib import Path

from tests.bench.figure import Figure
from tests.loop.test_long_sessions import COMPACTED_EVERY, STEPS, TURNS, step_seconds

EXTRA_MS = 1.0
"""Milliseconds that a step may take beyond twice the time in a short session."""


def measure() -> list[Figure]:
    """Return the figures of both sessions."""
    short, long = (_measured(turns) * 1000 for turns in (COMPACTED_EVERY, TURNS))
    return [
        Figure("CPU of a step in a session of 200 messages", short, "ms"),
        Figure("CPU of a step in a session of 10,000 messages", long, "ms", 2 * short + EXTRA_MS),
    ]


def _measured(turns: int) -> float:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number in range(7 * STEPS):
            Path(folder, f"{number}.txt").write_text("hello\n")
        return asyncio.run(step_seconds(Path(folder), turns))
