"""Every token is counted once, and an unknown price stays unknown."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import thinned

from palimpsest.model.adapter.usage import normalise_usage, with_estimates
from palimpsest.model.interface import StepFinished
from palimpsest.transcript.values import COUNTS, Price, PriceTier, Usage

SONNET = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            Usage(input=100, output=10, total=110),
        ),
        (
            {
                "prompt_tokens": 170,
                "completion_tokens": 9,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 100},
            },
            Usage(input=20, output=9, cache_read=100, cache_write=50),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 30,
                "completion_tokens_details": {"reasoning_tokens": 20},
                "total_tokens": 40,
            },
            Usage(input=10, output=10, reasoning=20, total=40),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 30,
                "completion_tokens_details": {"reasoning_tokens": 20},
                "total_tokens": 60,
            },
            Usage(input=10, output=30, reasoning=20, total=60),
        ),
        (
            {"prompt_tokens": 50, "completion_tokens": 5, "prompt_cache_hit_tokens": 40},
            Usage(input=10, output=5, cache_read=40),
        ),
        (
            {"prompt_tokens": 5, "completion_tokens": 1, "cache_read_input_tokens": 9},
            Usage(input=0, output=1, cache_read=9),
        ),
        ({"prompt_tokens": 0, "completion_tokens": 3}, Usage(output=3)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({}, None),
        (None, None),
    ],
)
def test_reads_what_providers_report(report: Any, expected: Usage | None) -> None:
    assert normalise_usage(report) == expected


def test_costs_are_added_by_kind() -> None:
    usage = Usage(input=600, output=300, reasoning=200, cache_read=300, cache_write=100)

    assert usage.cost(SONNET) == pytest.approx(0.009765)


def test_an_unknown_price_is_an_unknown_cost() -> None:
    assert Usage(input=1).cost(Price()) is None
    assert Usage(input=1).cost(Price(input=1.0)) is None
    assert Usage(input=1).cost(Price(input=0.0, output=0.0)) == 0.0


def test_a_long_prompt_has_its_own_price() -> None:
    long = Price(input=6.0, output=22.5)
    price = SONNET.model_copy(update={"tiers": (PriceTier(above=200_000, price=long),)})

    assert Usage(input=250_000, output=1_000).cost(price) == pytest.approx(1.5225)
    assert Usage(input=200_000).cost(price) == pytest.approx(0.6)


def test_an_estimate_keeps_what_was_reported_of_the_prompt() -> None:
    reported = Usage(input=7, cache_read=3)

    assert with_estimates("xx", "abc", "d", len) == Usage(
        input=2, output=3, reasoning=1, estimated=True
    )
    assert with_estimates("xx", "abc", "d", len, reported) == Usage(
        input=7, cache_read=3, output=3, reasoning=1, estimated=True
    )


@pytest.mark.parametrize(
    "wrong",
    thinned([-1, -(10**9), -0.5, float("nan"), float("inf"), -float("inf"), True, "12", "many", [], {}, 10**18, 2e9], 3),
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(
    "path",
    [
        ("prompt_tokens",),
        ("completion_tokens",),
        ("total_tokens",),
        ("cache_read_input_tokens",),
        ("cache_creation_input_tokens",),
        ("prompt_cache_hit_tokens",),
        ("prompt_tokens_details", "cached_tokens"),
        ("completion_tokens_details", "reasoning_tokens"),
    ],
    ids=lambda path: path[-1],
)
def test_a_report_with_an_impossible_number_is_not_believed(path: Any, wrong: Any) -> None:
    value = wrong if len(path) == 1 else {path[1]: wrong}

    assert (
        normalise_usage({"prompt_tokens": 100, "completion_tokens": 10} | {path[0]: value}) is None
    )


def test_a_prompt_that_was_not_reported_is_estimated() -> None:
    reported = Usage(output=5, total=5)

    assert with_estimates("xx", "abc", "d", len, reported) == Usage(
        input=2, output=5, estimated=True
    )


@given(st.fixed_dictionaries({name: st.integers(-(10**12), 10**12) for name in COUNTS}))
def test_the_end_of_an_answer_never_takes_back_what_was_spent(counts: dict[str, int]) -> None:
    spent = Usage(input=100, output=50)
    usage = StepFinished("stop", Usage(**counts), cost=float(counts["input"])).usage

    after = spent.plus(usage)

    assert all(getattr(after, name) >= getattr(spent, name) for name in COUNTS)


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), -float("inf")])
def test_an_impossible_cost_is_an_unknown_one(cost: float) -> None:
    assert StepFinished("stop", Usage(), cost=cost).cost is None
