"""Policies of the cache itself stand beside those of the context: the same requests, kept otherwise."""

import pytest
from tests.context_policies.calibration.made_usage import caching_session

from palimpsest.context_policies import registry
from palimpsest.context_policies.presets.cache_keeping import CacheKeeping, ProviderCache
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, with_writes_kept
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
    beside = made.ruler.request_ruler(5).unseen_tokens
    assert system.sizes[5].read == pytest.approx(beside)
    assert system.sizes[5].written == 0
    assert rows["cache.system"].cost > rows["cache.all"].cost
    assert rows["cache.no_results"].cached == pytest.approx(rows["cache.all"].cached, abs=0.01)
    assert rows["cache.system"].verdict == (
        "The requests are the recorded ones; only what stands before the conversation is kept in the cache."
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
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
def test_what_is_no_policy_of_the_cache_is_refused_in_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        review(caching_session(3)).compare(["raw", name])

    assert sentence in str(refused.value)
    assert str(refused.value).count(". ") <= 1


def test_they_stand_in_the_one_table_that_every_place_is_made_of() -> None:
    own = {preset.preset for preset in registry.presets() if issubclass(preset, CacheKeeping)}
    assert len(own) == 8

    assert own <= {row["policy"] for row in registry.list().records()}
    assert own <= set(preset_names())
    offered = {
        policy_choice.name: policy_choice
        for policy_choice in policy_choices()
        if policy_choice.name in own
    }
    assert own == offered.keys()
    for offer in offered.values():
        slider, *others = offer.sliders
        assert {300, 3_600} <= {*slider.stops}
        assert [other.name for other in others] in ([], ["minimum", "block"])
    assert policy_from_words("cache.lifetime seconds=300") == get("cache.lifetime", seconds=300)
    assert get("cache.lifetime").name == "cache.lifetime seconds=3600"


def test_a_sweep_over_lifetimes_is_one_of_their_numbers() -> None:
    made = review(caching_session(12, pause_seconds=400, losses=dict.fromkeys(range(12), 0)))

    swept = made.sweep("cache.lifetime.seconds", [0, 300, 3_600], price="units")

    costs = [figures.cost for figures in swept.comparison.figures]
    assert costs[0] == costs[1] > costs[2]


PROVIDERS = {
    "cache.anthropic": (300, 1_024, 1),
    "cache.deepseek": (7_200, 64, 64),
    "cache.gemini": (300, 1_024, 1),
    "cache.openai": (300, 1_024, 128),
}


@pytest.mark.parametrize(("name", "numbers"), PROVIDERS.items())
def test_a_provider_keeps_by_its_lifetime_its_minimum_and_its_blocks(
    name: str, numbers: tuple[int, int, int]
) -> None:
    seconds, minimum, block = numbers
    known = get(name)
    assert isinstance(known, ProviderCache)
    assert (known.seconds, known.minimum, known.block) == numbers
    soon = review(caching_session(12, pause_seconds=seconds - 1))
    losses = dict.fromkeys(range(12), 0)
    late = review(caching_session(12, pause_seconds=seconds + 1, losses=losses))

    kept = soon.compare([name, f"{name} minimum=1000000"], price="units")
    lost = late.compare([name], price="units")

    sizes = kept[name].sizes[1:]
    assert any(size.read for size in sizes)
    assert all(size.read % block == pytest.approx(0) for size in sizes)
    assert all(size.read >= minimum for size in sizes if size.read)
    assert not any(size.read for size in kept[f"{name} minimum=1000000"].sizes[1:])
    paused = [
        size.read
        for before, after, size in zip(
            late.timeline.requests, late.timeline.requests[1:], lost[name].sizes[1:], strict=False
        )
        if (after.seconds_since(before) or 0) > seconds
    ]
    assert set(paused) == {0}


FOR_MINUTES = "; the cache keeps a prefix for 300 s after its last use"
FOR_AN_HOUR = (
    "; the cache keeps a prefix for 3,600 s after its last use, written at the price of an hour"
)


@pytest.mark.parametrize(
    ("name", "minimum", "said"),
    [
        ("cache.openai", "1,024", f" in blocks of 128{FOR_MINUTES}"),
        ("cache.anthropic seconds=3600 minimum=4096", "4,096", FOR_AN_HOUR),
        ("cache.gemini seconds=0", "1,024", ""),
    ],
)
def test_a_providers_rules_are_told_in_a_sentence(name: str, minimum: str, said: str) -> None:
    [row] = review(caching_session(3)).compare([name], price="units").figures[-1:]

    read = f"of each prompt from {minimum} tokens on what stands again is read"
    assert row.verdict == f"The requests are the recorded ones; {read}{said}."


def test_blocks_have_at_least_a_token() -> None:
    with pytest.raises(UserError, match="takes a whole number from 1, not '0'"):
        get("cache.openai block=0")


def test_a_live_session_has_none_of_them() -> None:
    with pytest.raises(ConfigError, match="a live session has no use for it"):
        live_policy("cache.system")


def test_writes_for_an_hour_cost_twice_the_input_where_no_list_says_it() -> None:
    price = PriceProfile(3, 15, 0.3, 3.75)

    assert with_writes_kept(price, hourly=True).write == 6
    assert with_writes_kept(price, hourly=False).write == 3.75
    assert with_writes_kept(PriceProfile(3, 15, 0.3, 3), hourly=True).write == 3
