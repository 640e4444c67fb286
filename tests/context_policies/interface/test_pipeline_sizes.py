"""In a pipeline a rule counts what the policies before it left, not what was there."""

from collections.abc import Iterator

import pytest
from tests.context_policies.pi_session import pi_timeline
from tests.context_policies.presets.test_preset_laws import cut_short
from tests.sample_size import thinned

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import Simulation, simulate

RULER = Ruler(unseen_tokens=1600)


def shortening(chars: int) -> CustomPolicy:
    """Return a policy that shows so many characters of each result."""

    @palimpsest.policy(sticky=True)
    def short(view: PastView) -> Iterator[Change]:
        for index in view.outputs:
            yield policies.truncate(index, chars)

    return short


def states(found: Simulation) -> set[str]:
    return {transition.state for transition in found.timeline.transitions}


def test_what_was_shortened_and_is_still_worth_it_is_pruned() -> None:
    pipeline = shortening(2_000) | get("opencode.prune protect=20000 minimum=10000")

    assert states(simulate(pi_timeline(), pipeline, RULER)) == {"truncated", "cleared"}


def test_results_that_were_shortened_before_are_masked_too() -> None:
    replay = simulate(
        pi_timeline(), shortening(4_000) | get("gemini.mask protect=10000 minimum=10000"), RULER
    )

    made = replay.timeline.transitions
    shortened = {transition.item for transition in made if transition.state == "truncated"}
    masked = {transition.item for transition in made if transition.state == "masked"}
    assert shortened & masked


@pytest.mark.parametrize("rule", thinned(["opencode.prune", "gemini.mask"], 2))
def test_a_pipeline_never_sends_more_than_its_first_policy(rule: str) -> None:
    timeline = cut_short(pi_timeline(), 150)
    first = simulate(timeline, shortening(2_000), RULER)

    both = simulate(timeline, shortening(2_000) | get(f"{rule} protect=5000 minimum=2000"), RULER)

    pairs = zip(first.sizes, both.sizes, strict=True)
    assert all(two.total <= earlier.total for earlier, two in pairs)
