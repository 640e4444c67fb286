"""Policies of the cache itself stand beside those of the context: the same requests, kept otherwise."""

import pytest
from tests.context_policies.calibration.made_usage import caching_session

from palimpsest.context_policies import registry
from palimpsest.context_policies.presets.cache_keeping import CacheKeeping
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, kept_for
from palimpsest.context_policies.registry import get
from palimpsest.live_policies.live_stage import live_policy
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.chosen_policies import policy_from_words, preset_names
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.transcript.errors import ConfigError, UserError
from palimpsest.transcript.timeline import Timeline

LIFETIMES = ["cache.lifetime seconds=300", "cache.lifetime seconds=3600"]
NAMES = ["recorded", *LIFETIMES, "cache.all", "cache.system", "cache.no_results"]


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
    ("name", "told"),
    [
        ("cache.", "There is no policy 'cache.'; did you mean 'cache.all'"),
        ("cache.everything", "There is no policy 'cache.everything'"),
        ("cache.lifetime seconds=x", "takes a whole number from 0, not 'x'"),
        ("cache.lifetime seconds=-1", "takes a whole number from 0, not '-1'"),
        ("cache.lifetime seconds=inf", "takes a whole number from 0, not 'inf'"),
        ("cache.system 3", "as number=value"),
        ("cache.system minutes=3", "has no number 'minutes'"),
        ("cache.system | opencode.prune", "repeats the recorded requests"),
        ("opencode.prune | cache.lifetime seconds=60", "repeats the recorded requests"),
    ],
)
def test_what_is_no_policy_of_the_cache_is_refused_in_a_sentence(name: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        review(caching_session(3)).compare(["raw", name])

    assert told in str(refused.value)
    assert str(refused.value).count(". ") <= 1


def test_they_stand_in_the_one_table_that_every_place_is_made_of() -> None:
    own = {preset.preset for preset in registry.presets() if issubclass(preset, CacheKeeping)}
    assert len(own) == 4

    assert own <= {row["policy"] for row in registry.list().records()}
    assert own <= set(preset_names())
    offered = {
        policy_choice.name: policy_choice
        for policy_choice in policy_choices()
        if policy_choice.name in own
    }
    assert own == offered.keys()
    for offer in offered.values():
        (slider,) = offer.sliders
        assert {300, 3_600} <= {*slider.stops}
    assert policy_from_words("cache.lifetime seconds=300") == get("cache.lifetime", seconds=300)
    assert get("cache.lifetime").name == "cache.lifetime seconds=3600"


def test_a_sweep_over_lifetimes_is_one_of_their_numbers() -> None:
    made = review(caching_session(12, pause_seconds=400, losses=dict.fromkeys(range(12), 0)))

    swept = made.sweep("cache.lifetime.seconds", [0, 300, 3_600], price="units")

    costs = [figures.cost for figures in swept.comparison.figures]
    assert costs[0] == costs[1] > costs[2]


def test_a_live_session_has_none_of_them() -> None:
    with pytest.raises(ConfigError, match="none of a live session"):
        live_policy("cache.system")


def test_writes_for_an_hour_cost_twice_the_input_where_no_list_says_it() -> None:
    price = PriceProfile(3, 15, 0.3, 3.75)

    assert kept_for(price, hourly=True).write == 6
    assert kept_for(price, hourly=False).write == 3.75
    assert kept_for(PriceProfile(3, 15, 0.3, 3), hourly=True).write == 3
