"""Seventeen policies over one real session give the figures that were measured independently.

The figures come from a quadratic script that knows none of this code: chars/4, 1,600 tokens not seen, whole
messages cached for five minutes, 3 / 15 / 0.30 / 3.75 US dollars. Costs of compacting policies include the calls for summaries.
"""

from dataclasses import dataclass

import pytest
from tests.review.policies.pi_session import pi_timeline

from palimpsest.review.policies.registry import get
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.review.replay.simulation import simulate

RULER = Ruler(unseen=1600, prefix="message")
PRICE = PriceProfile(input=3, output=15, read=0.30, write=3.75)
NEAR = 0.02


@dataclass(frozen=True)
class Row:
    """A row of the exhibit."""

    policy: str
    fired: int
    input: float
    """Millions."""
    peak: int
    cached: float
    breaks: int
    """Within the lifetime of the cache."""
    rewrite: float
    cost: float
    uncached: float


ROWS = (
    Row("raw", 0, 36.22, 126_551, 0.993, 0, 2.1, 12.63, 109.51),
    Row("opencode.prune", 1, 33.60, 103_567, 0.990, 1, 3.3, 12.11, 101.65),
    Row("opencode.prune protect=20000 minimum=10000", 2, 27.45, 94_010, 0.988, 2, 3.6, 10.26, 83.21),
    Row("gemini.mask", 0, 36.22, 126_551, 0.993, 0, 2.1, 12.63, 109.51),
    Row("sweagent.last_n", 365, 17.46, 67_657, 0.962, 365, 9.9, 8.40, 53.23),
    Row("complexity_trap.mask", 362, 17.78, 68_827, 0.930, 362, 18.0, 10.47, 54.21),
    Row("sweagent.last_n n=10 polling=10", 36, 18.14, 71_117, 0.979, 36, 5.3, 7.60, 55.28),
    Row("anthropic.clear_tool_uses recomputed=yes", 98, 29.67, 99_402, 0.988, 98, 3.7, 11.03, 89.86),
    Row("anthropic.clear_tool_uses at_least=20000", 1, 30.21, 99_402, 0.990, 1, 3.15, 11.00, 91.48),
    Row("anthropic.clear_tool_uses trigger=30000 at_least=10000", 5, 19.83, 75_480, 0.986, 4, 3.6, 7.75, 60.34),
    Row("openclaw.cache_ttl", 1, 33.22, 108_142, 0.993, 0, 2.3, 11.67, 100.51),
    Row("openclaw.cache_ttl window=100000", 2, 24.86, 85_988, 0.992, 0, 2.4, 9.03, 75.43),
    Row("strands.sliding_window", 430, 3.12, 35_135, 0.347, 430, 57.9, 8.81, 10.20),
    Row("pi.compact", 0, 36.22, 126_551, 0.993, 0, 2.1, 12.63, 109.51),
    Row("pi.compact window=100000", 1, 23.20, 83_597, 0.990, 1, 2.7, 8.64, 70.72),
    Row("pi.compact window=64000", 4, 15.61, 47_593, 0.981, 4, 6.2, 6.71, 48.25),
    Row("gemini.compress window=128000", 2, 18.82, 63_833, 0.986, 2, 4.15, 7.49, 57.70),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.policy for row in ROWS])
def test_a_policy_gives_the_figures_of_the_exhibit(row: Row) -> None:
    policy = None if row.policy == "raw" else get(row.policy)

    found = simulate(pi_timeline(), policy, RULER)

    sizes = found.sizes
    total = sum(one.total for one in sizes)
    peak = max(one.total for one in sizes)
    read = sum(one.read for one in sizes)
    output = sum(one.output for one in sizes)
    written = sum(one.summary_output for one in sizes)
    asked = sum(one.summary_input for one in sizes)
    cost = sum(PRICE.cost(0, one.read, one.written, one.output) for one in sizes)
    assert len(sizes) == 453
    assert len(found.fired) == row.fired
    assert total / 1e6 == pytest.approx(row.input, rel=NEAR)
    assert peak == pytest.approx(row.peak, rel=NEAR)
    assert read / total == pytest.approx(row.cached, rel=NEAR)
    assert sum(bool(one.first_changed is not None and one.read) for one in sizes) == pytest.approx(
        row.breaks, rel=0.01
    )
    assert (total - read) / peak == pytest.approx(row.rewrite, rel=NEAR, abs=0.05)
    assert cost + PRICE.cost(0, asked, 0, written) == pytest.approx(row.cost, rel=NEAR)
    assert PRICE.cost(total + asked, 0, 0, output + written) == pytest.approx(
        row.uncached, rel=NEAR
    )


def test_the_session_is_the_one_of_the_exhibit() -> None:
    timeline = pi_timeline()

    assert len(timeline.requests) == 453
    assert sum(one.usage is not None for one in timeline.requests) == 439
    assert sum(item.kind == "call" for item in timeline.items) == 391
    assert timeline.requests[-1].turn == 88
