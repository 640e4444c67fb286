"""A cell that begins when the one before it ends, or waited for it, is one of several."""

import pytest

from palimpsest.frontends.cell_turn.cell_batches import (
    MAX_GAP_SECONDS,
    MIN_LEAD_SECONDS,
    CellBatches,
)


class Clock:
    """One clock for both of ours, and a sender's clock that differs from it."""

    def __init__(self, ahead: float = 0.0) -> None:
        self.now = 1_000.0
        self.ahead = ahead
        self.batches = CellBatches(lambda: self.now, lambda: self.now)

    def run(
        self, *, sent: float | None, takes: float = 1.0, after: float = 0.0
    ) -> tuple[int, bool]:
        """Run a cell ``after`` seconds; ``sent`` is when it was sent by our clock."""
        self.now += after
        self.batches.begin_cell(None if sent is None else sent + self.ahead)
        self.now += takes
        self.batches.end_cell()
        return self.batches.number, self.batches.is_batch


@pytest.mark.parametrize("ahead", [0.0, 3_600.0, -86_400.0])
def test_cells_that_were_sent_together_are_one_batch_also_on_a_slow_machine(ahead: float) -> None:
    clock = Clock(ahead)
    sent = clock.now

    batches = [
        clock.run(sent=sent, after=delay) for delay in (0.01, 0.002, 2.0, MAX_GAP_SECONDS / 2)
    ]

    assert batches == [(1, False), (1, True), (1, True), (1, True)]


@pytest.mark.parametrize("ahead", [0.0, 3_600.0, -86_400.0])
def test_cells_that_all_waited_for_the_load_are_one_batch_also_with_pauses_between_them(
    ahead: float,
) -> None:
    clock = Clock(ahead)
    sent = clock.now
    clock.now += 5.0
    clock.batches.end_cell()  # of the cell that loaded the extension, whose begin nobody heard

    batches = [
        clock.run(sent=sent + 0.002 * number, takes=0.001, after=3 * MAX_GAP_SECONDS)
        for number in range(3)
    ]

    assert batches == [(1, False), (1, True), (1, True)]


@pytest.mark.parametrize("ahead", [0.0, 3_600.0, -86_400.0])
def test_cells_that_a_person_runs_one_by_one_are_alone(ahead: float) -> None:
    clock = Clock(ahead)

    batches = []
    for _ in range(3):
        clock.now += MAX_GAP_SECONDS + MIN_LEAD_SECONDS
        batches.append(clock.run(sent=clock.now, after=0.01))

    assert batches == [(1, False), (2, False), (3, False)]


def test_a_program_that_sends_no_time_is_seen_by_its_speed() -> None:
    clock = Clock()

    batches = [clock.run(sent=None, after=after) for after in (0.0, 0.001, 1.0)]

    assert batches == [(1, False), (1, True), (2, False)]


def test_a_page_may_announce_a_run_of_several_cells() -> None:
    clock = Clock()
    clock.batches.announce_cells(2)

    assert clock.run(sent=None)[1] is False  # after its end only one is left
    clock.batches.announce_cells(2)
    clock.batches.begin_cell()
    assert clock.batches.is_batch
