"""A replay that became cheaper gives every figure of every policy as before, to the last digit."""

from pathlib import Path
from typing import Any

import pytest
from tests.review.comparison.kept_figures import Figures, figures_of_long, figures_of_pi, kept
from tests.sample_size import sample_size

LAST_DIGIT = 1e-14
"""Sums of floating point numbers differ by so much between versions of Python."""


def _same(found: Figures, before: Figures) -> None:
    assert list(found) == list(before)
    for policy, values in before.items():
        for figure, value in values.items():
            assert found[policy][figure] == _about(value), (policy, figure)


def _about(value: Any) -> Any:
    number = isinstance(value, float | dict)
    return pytest.approx(value, rel=LAST_DIGIT, abs=0) if number else value


def test_presets_over_the_recording_of_pi_have_the_figures_of_before(tmp_path: Path) -> None:
    """Size, cache, cost, forgetting by kind, how often each acted and what it says of that."""
    one_in = sample_size(8, 1)
    before = kept()["pi"]
    _same(figures_of_pi(tmp_path, one_in), {name: before[name] for name in [*before][::one_in]})


@pytest.mark.soak  # with each commit presets have their figures over a real recording, above; this adds one of 2,450 requests
def test_the_measured_policies_over_a_long_recording_have_the_figures_of_before(
    tmp_path: Path,
) -> None:
    """2,450 requests and 6,086 items, in which each of them acts often."""
    before = kept()["long"]
    _same(figures_of_long(tmp_path), before)
    assert sum(1 for figures in before.values() if figures["fired"]) > len(before) // 2
