"""The default's numbers of pruning cost no more than the ones before, nor than no management where everything fits."""

from pathlib import Path
from statistics import mean

import pytest
from tests.context_policies.pi_session import RULER, pi_timeline
from tests.context_policies.presets.default_numbers import (
    KINDS,
    PRICE,
    costs,
    policy_of,
    summary_calls,
)
from tests.sample_size import thinned

from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.context_values.policies import Policy

BEFORE = policy_of(40_000, 20_000, "share")
NONE = "palimpsest prune.rule=none"


def cost_of_pi(policy: str, window: int) -> float:
    chosen = None if policy == "raw" else get(f"{policy} window={window}")
    replay = simulate(pi_timeline(), chosen, RULER)
    return sum(size.cost(PRICE) for size in replay.sizes) + summary_calls(replay)


@pytest.mark.parametrize("window", thinned([64_000, 128_000, 200_000], 3))
def test_the_default_is_not_dearer_than_no_management_over_a_real_session(window: int) -> None:
    default, *others = (
        cost_of_pi(policy, window) for policy in ("palimpsest", BEFORE, NONE, "raw")
    )

    assert all(default <= other * 1.000_001 for other in others)


@pytest.mark.soak  # with each commit the default is compared over a real session, above; this adds generated sessions in small windows
@pytest.mark.slow
@pytest.mark.parametrize("window", thinned([32_000, 64_000], 2))
def test_a_small_window_is_cheaper_over_sessions_that_its_numbers_were_not_chosen_by(
    window: int,
) -> None:
    found = [costs(kind, 3, window, ["palimpsest", BEFORE, NONE]) for kind in KINDS]

    assert mean(default / before for default, before, _ in found) < 0.95
    assert mean(default / none for default, _, none in found) < 0.99


def test_the_page_says_which_numbers_hold() -> None:
    prune = Policy().prune
    page = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")
    numbers = f"{prune.protect_tokens:,} / {prune.minimum_tokens:,}"

    assert f"| **{numbers}: the default** |" in page
    assert prune.minimum_scaled == "square"
    for window in (8_000, 16_000, 32_000, 64_000):
        share = window / prune.full_window
        protect, least = prune.protect_tokens * share, int(prune.minimum_tokens * share**2)
        assert f"| {window:,} | {protect:,.0f} | {least:,} |" in page
