"""Measure the CPU time of a whole step in a session of 10,000 messages, and in short ones.

A step is one request with what comes before and after it: a prompt is sent to the session, and all that it causes is
counted. The short session with equal requests shows what the length costs; the one that was just begun, what the
window costs.
"""

import asyncio
import tempfile
from pathlib import Path

from tests.bench.figure import Figure
from tests.loop.test_long_sessions import COMPACTED_EVERY, STEPS, step_seconds

TARGET_RATIO = 1.3
"""How much more a step may cost in the long session: it grows with the live window, not with the session."""
NEW = 4
LONG = 2_000
"""Turns of five messages each."""
ROUNDS = 2
"""The sessions are measured in turn, and the lowest counts: other work on the machine only adds."""


def measure() -> list[Figure]:
    """Return the figures of the three sessions, and the ratio of the two with equal requests."""
    found = {turns: [_measured(turns)] for turns in (NEW, COMPACTED_EVERY, LONG)}
    for _ in range(ROUNDS - 1):
        for turns, seconds in found.items():
            seconds.append(_measured(turns))
    new, short, long = (min(seconds) * 1000 for seconds in found.values())
    return [
        Figure("CPU of a whole step in a session of 20 messages", new, "ms"),
        Figure("CPU of a whole step in a session of 200 messages", short, "ms"),
        Figure("CPU of a whole step in a session of 10,000 messages", long, "ms"),
        Figure(
            "... of 10,000 messages, in those of 200 with equal requests",
            long / short,
            "times",
            TARGET_RATIO,
        ),
    ]


def _measured(turns: int) -> float:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number in range(7 * STEPS):
            Path(folder, f"{number}.txt").write_text("hello\n")
        return asyncio.run(step_seconds(Path(folder), turns))
