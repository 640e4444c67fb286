"""Policies of the cache itself stand beside those of the context: the same requests, kept otherwise."""

import pytest
from tests.review.replay.made_usage import caching_session

from palimpsest.review.comparison.offline_prices import offline_price
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.review.recordings.preset_policies import policy_from_words
from palimpsest.review.replay.cache_policy import CACHE_POLICIES
from palimpsest.review.replay.ruler import PriceProfile, kept_for
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline

NAMES = ["recorded", *CACHE_POLICIES]


def review(timeline: Timeline) -> SessionReview:
    return SessionReview(timeline, get, offline_price)


def test_a_longer_lifetime_saves_the_pauses_and_costs_the_writes() -> None:
    made = review(caching_session(12, pause_seconds=400, losses=dict.fromkeys(range(12), 0)))
    price = "anthropic/claude-opus-4-5"

    compared = made.compare(NAMES, price=price)

    rows = dict(zip(NAMES, compared.figures, strict=True))
    minutes, hour = rows["cache.lifetime seconds=300"], rows["cache.lifetime seconds=3600"]
    assert (minutes.cached, hour.cached > 0.8) == (0, True)
    assert hour.cost < minutes.cost
    first = compared["cache.lifetime seconds=3600"].sizes[0]
    own = made.price(price)
    known = own.model_price
    assert known is not None
    assert known.cache_write_hour is not None
    assert first.cost(own) > first.written * known.cache_write_hour / 1e6


def test_what_is_kept_is_what_is_read() -> None:
    made = review(caching_session(12))

    compared = made.compare(NAMES, price="units")

    rows = dict(zip(NAMES, compared.figures, strict=True))
    assert rows["cache.all"].cached == pytest.approx(rows["recorded"].cached, abs=0.01)
    system = compared["cache.system"]
    beside = made.ruler.of(5).unseen
    assert system.sizes[5].read == pytest.approx(beside)
    assert system.sizes[5].written == 0
    assert rows["cache.system"].cost > rows["cache.all"].cost
    assert rows["cache.no_results"].cached == pytest.approx(rows["cache.all"].cached, abs=0.01)
    assert rows["cache.system"].verdict == (
        "The requests are the recorded ones; only what stands before the conversation is kept in the cache."
    )


@pytest.mark.parametrize(
    "name",
    ["cache.", "cache.lifetime", "cache.lifetime seconds=x", "cache.system 3", "cache.everything"],
)
def test_an_unknown_policy_of_the_cache_is_one_sentence(name: str) -> None:
    with pytest.raises(
        UserError, match=r"There is no policy .* of the cache; there are cache\.lifetime"
    ):
        review(caching_session(3)).compare(["raw", name])


def test_the_command_line_takes_their_names() -> None:
    assert policy_from_words("cache.lifetime seconds=3600") == "cache.lifetime seconds=3600"


def test_writes_for_an_hour_cost_twice_the_input_where_no_list_says_it() -> None:
    price = PriceProfile(3, 15, 0.3, 3.75)

    assert kept_for(price, hourly=True).write == 6
    assert kept_for(price, hourly=False).write == 3.75
    assert kept_for(PriceProfile(3, 15, 0.3, 3), hourly=True).write == 3
