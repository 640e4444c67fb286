"""A kernel that is killed loses no acknowledged record."""

import os
from pathlib import Path

import pytest
from tests.kill.kill_runs import kill_many
from tests.sample_size import sample_size

KILLS = int(os.environ.get("PALIMPSEST_KILLS", sample_size(5, 10_000)))
WORTH = sample_size(5, 4)
"""At least one kill in so many must hit running work; the real share depends on the machine's load."""


@pytest.mark.slow
@pytest.mark.timeout(300 + KILLS)
def test_a_killed_journal_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    tally = kill_many(tmp_path, KILLS)

    assert tally.failures == []
    assert tally.kills == KILLS
    assert tally.acks > 2 * KILLS
    assert tally.interrupted >= KILLS // WORTH


@pytest.mark.soak  # with each commit tests/kill/test_kernel.py kills a kernel in its turn; this adds many kills of a script
@pytest.mark.slow
@pytest.mark.timeout(300 + KILLS)
def test_a_kill_in_the_middle_of_a_turn_loses_nothing_that_was_told(tmp_path: Path) -> None:
    tally = kill_many(tmp_path, KILLS, workload="tests.kill.turn_workload:turns", seed=2)

    assert tally.failures == []
    assert tally.kills == KILLS
    assert tally.acks > KILLS
    assert tally.interrupted >= KILLS // WORTH
