"""Replays of a session are kept in memory, and only where asking again cannot give another answer."""

import functools
from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.context_policies.pi_session import RULER, pi_timeline
from tests.context_policies.presets.test_preset_laws import cut_short

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay import simulation_cache
from palimpsest.context_policies.replay.simulation_cache import SimulationCache
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.timeline import Timeline

KEPT = 5
NAMES = ["a"]


def newest(view: PastView) -> Iterable[Change]:
    for index in view.outputs[:-KEPT]:
        yield policies.clear(index)


def by_names(view: PastView) -> Iterable[Change]:
    yield from (policies.clear(output) for output in view.outputs[: len(NAMES)])


def own(function: object = newest) -> CustomPolicy:
    made = palimpsest.policy(function)  # type: ignore[call-overload]
    assert isinstance(made, CustomPolicy)
    return made


@functools.cache
def session() -> Timeline:
    """Return the first third of a session: enough that each policy here acts, and other numbers otherwise."""
    return cut_short(pi_timeline(), 150)


@pytest.fixture
def cache() -> SimulationCache:
    return SimulationCache(session())


@pytest.mark.parametrize("name", ["sweagent.last_n n=7", "opencode.prune | gemini.mask"])
def test_a_preset_with_the_same_numbers_is_replayed_once(cache: SimulationCache, name: str) -> None:
    first = cache.simulation(get(name), RULER, 0)

    assert cache.simulation(get(name), RULER, 0) is first
    assert len(cache) == 1


def test_other_numbers_another_ruler_and_another_window_are_replayed(
    cache: SimulationCache,
) -> None:
    policy = get("pi.compact")
    found = [
        cache.simulation(policy, RULER, 100_000),
        cache.simulation(get("pi.compact", keep_tokens=5_000), RULER, 100_000),
        cache.simulation(policy, replace(RULER, factor=2.0), 100_000),
        cache.simulation(policy, RULER, 64_000),
    ]

    assert len({id(simulation) for simulation in found}) == len(cache) == 4


def test_a_function_is_replayed_again_when_a_number_outside_of_it_was_changed(
    cache: SimulationCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cache.simulation(own(), RULER, 0)
    assert cache.simulation(own(), RULER, 0) is first

    monkeypatch.setitem(globals(), "KEPT", 50)
    other = cache.simulation(own(), RULER, 0)

    assert other is not first
    assert len(other.timeline.transitions) < len(first.timeline.transitions)


def test_a_function_that_uses_what_may_change_unseen_is_always_replayed(
    cache: SimulationCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "NAMES", ["a"])
    first = cache.simulation(own(by_names), RULER, 0)

    NAMES.append("b")
    second = cache.simulation(own(by_names), RULER, 0)

    assert len(cache) == 0
    assert second.timeline.transitions != first.timeline.transitions


def test_a_closure_is_always_replayed(cache: SimulationCache) -> None:
    def keeping(count: int) -> CustomPolicy:
        def inner(view: PastView) -> Iterable[Change]:
            yield from (policies.clear(output) for output in view.outputs[:-count])

        return own(inner)

    few, many = (cache.simulation(keeping(count), RULER, 0) for count in (2, 100))

    assert len(cache) == 0
    assert few.timeline.transitions != many.timeline.transitions


def test_the_replays_not_used_for_longest_are_forgotten(
    cache: SimulationCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation_cache, "MAX_REPLAYS", 2)
    first = cache.simulation(get("sweagent.last_n"), RULER, 0)
    cache.simulation(get("gemini.mask"), RULER, 0)
    assert cache.simulation(get("sweagent.last_n"), RULER, 0) is first

    cache.simulation(get("pi.compact"), RULER, 0)

    assert len(cache) == 2
    assert cache.simulation(get("sweagent.last_n"), RULER, 0) is first


def test_replays_with_many_transitions_are_bounded_by_their_size(
    cache: SimulationCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation_cache, "MAX_ROWS", 10)
    for name in ("sweagent.last_n", "gemini.mask", "pi.compact"):
        cache.simulation(get(name), RULER, 0)

    assert len(cache) == 1


def test_figures_at_another_price_are_counted_anew() -> None:
    review = SessionReview(session(), get, lambda _model: None)
    units = review.compare(["sweagent.last_n"], price="units")
    cheap = review.compare(["sweagent.last_n"], price=replace(units.price, input=1.0, name="cheap"))

    assert units.simulations[0] is cheap.simulations[0]
    assert units.figures[0].cost_uncached != cheap.figures[0].cost_uncached
