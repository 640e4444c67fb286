"""What does not fit its window is marked and is never the cheapest; what is left of a window is said."""

from functools import cache

import pytest
from tests.review.comparison.test_own_rule import timelines_of
from tests.sample_size import sample_size, sampled_cases, thinned

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get, presets
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.review.comparison.policy_comparison import PolicyComparison
from palimpsest.review.comparison.policy_figures import requests_over
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Price

LONG = {"pi_large_session.jsonl": 453, "claude_code_spotter": 143}
"""Recordings with prompts of over 160,000 tokens, by their requests."""
PRICE = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)
OWN_ESTIMATE = {
    "opencode.compact_v2": "it counts less than the provider, as OpenCode does",
    "deepagents.truncate_args": "it shortens inputs of calls alone",
    "langchain.trim_messages": "it has no limit by default",
}
"""Presets whose originals can pass the window, and why."""


@cache
def review(name: str) -> SessionReview:
    [timeline] = [found for found in timelines_of(name) if len(found.requests) == LONG[name]]
    return SessionReview(timeline, get, lambda _model: PRICE)


def compared(name: str, *policies: str, window: int = 0) -> PolicyComparison:
    return review(name).compare(policies, window=window)


@pytest.mark.soak  # with each commit what cannot fit is marked and never the cheapest, below; this adds every preset that counts tokens
@pytest.mark.parametrize("name", sampled_cases([*LONG], "claude_code_spotter"))
def test_no_row_of_a_preset_with_a_threshold_passes_its_window(name: str) -> None:
    names = [preset.preset for preset in presets() if preset.token_source][:: sample_size(3, 1)]

    comparison = compared(name, *names, window=0)

    over = {figures.name for figures in comparison.figures if not figures.fits}
    assert over <= {*OWN_ESTIMATE}


@pytest.mark.parametrize("window", [32_000, pytest.param(64_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", sampled_cases([*LONG], "claude_code_spotter"))
def test_what_cannot_fit_is_marked_and_never_the_cheapest(name: str, window: int) -> None:
    names = ["raw", "recorded", *(preset.preset for preset in presets())][:: sample_size(2, 1)]

    comparison = compared(name, *names, window=window)

    fits = {}
    for figures, replay in zip(comparison.figures, comparison.simulations, strict=True):
        limit = replay.window
        assert figures.over == requests_over(replay)
        assert ("Does not fit" in figures.verdict) == (figures.over > 0)
        assert limit in (0, window)
        fits[figures.name] = figures.fits
    assert not fits["raw"]
    assert comparison.cheapest is None or fits[comparison.cheapest]
    assert comparison.json()["cheapest"] == comparison.cheapest
    assert any("never the cheapest" in note for note in comparison.table.notes)
    row = next(record for record in comparison.table.records() if record["policy"] == "raw")
    assert isinstance(row["over"], int)
    assert row["over"] > 100


def test_a_window_that_is_assumed_holds_for_all_but_given_ones() -> None:
    [own, given] = compared(
        "pi_large_session.jsonl", "pi.compact", "pi.compact window=100000", window=64_000
    ).simulations

    assert (own.window, given.window) == (64_000, 100_000)
    assert own.probes[-1].probe.threshold == 64_000 - 16_384
    assert given.probes[-1].probe.threshold == 100_000 - 16_384


def test_a_sweep_never_takes_a_value_that_does_not_fit() -> None:
    """Without a threshold nothing is paid for summaries, but such requests would be refused."""
    swept = review("pi_large_session.jsonl").sweep(
        "pi.compact.reserve", [0, 64_000], window=100_000
    )
    by_value = dict(zip(swept.values, swept.comparison.figures, strict=True))

    assert by_value[swept.cheapest].fits
    none = review("pi_large_session.jsonl").sweep(
        "opencode.prune.protect", [10_000, 40_000], window=8_000
    )
    assert none.cheapest is None


def test_what_is_left_of_a_window_is_said_where_the_longest_answer_is_not_known() -> None:
    comparison = compared("pi_large_session.jsonl", "palimpsest", window=32_000)

    assert (
        "palimpsest works in 24,000 of 32,000 tokens: the rest is kept free for the answer, whose longest is not known."
        in comparison.table.notes
    )
    assert not compared("pi_large_session.jsonl", "pi.compact").windows


@pytest.mark.parametrize("policy", thinned(["palimpsest", "opencode-1.1", "opencode-1.18"], 3))
def test_an_engines_policy_counts_another_agents_requests_as_they_were_reported(
    policy: str,
) -> None:
    """Claude Code's system prompt is not recorded: its 25,860 tokens are in the usage alone."""
    [simulation] = compared("claude_code_spotter", f"{policy} window=200000").simulations

    compactions = {
        transition.request
        for transition in simulation.timeline.transitions
        if transition.state == "summarised"
    }
    assert len(compactions) == 1
    assert 70 < min(compactions) < 130
    assert max(size.total for size in simulation.sizes) < 200_000


def test_a_session_whose_window_nobody_knows_is_not_marked() -> None:
    timeline: Timeline = review("claude_code_spotter").timeline
    replay = simulate(timeline, None, Ruler())

    assert requests_over(replay) == 0
