"""Models that litellm's list has forgotten keep their price, and the list itself always comes first."""

import pytest

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.model_info import parse_model
from palimpsest.model.catalog.unlisted_prices import RETIRED_PRICES, retired_price
from palimpsest.review.prices.offline_prices import offline_price, offline_source


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        ("anthropic/claude-sonnet-4-20250514", (3, 15, 0.3, 3.75, 6)),
        ("claude-sonnet-4-0", (3, 15, 0.3, 3.75, 6)),
        ("anthropic/claude-opus-4-1-20250805", (15, 75, 1.5, 18.75, 30)),
        ("anthropic/claude-3-5-haiku-latest", (0.8, 4, 0.08, 1, 1.6)),
        ("anthropic/claude-3-haiku-20240307", (0.25, 1.25, 0.03, 0.3, 0.5)),
    ],
)
def test_a_retired_model_has_its_price_with_its_source(
    model: str, rates: tuple[float, ...]
) -> None:
    found = offline_price(model)

    assert found is not None
    told = (found.input, found.output, found.cache_read, found.cache_write, found.cache_write_hour)
    assert told == pytest.approx(rates)
    assert "September 2025" in offline_source(model)


def test_long_prompts_and_batches_of_sonnet_4_have_theirs() -> None:
    found = retired_price("claude-sonnet-4-20250514")

    assert found is not None
    assert (found.at(200_001).input, found.at(200_001).output) == (6, 22.5)
    assert (found.at(10, "batch").input, found.at(10, "batch").output) == (1.5, 7.5)


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "claude-sonnet-4-99999999-x", "claude", "x"]
)
def test_no_other_name_is_taken_for_one(model: str) -> None:
    assert retired_price(model) is None


def test_no_row_stands_here_that_the_list_still_has() -> None:
    assert [
        name
        for name in RETIRED_PRICES
        if litellm_table.find_model(parse_model(f"anthropic/{name}"))
    ] == []
