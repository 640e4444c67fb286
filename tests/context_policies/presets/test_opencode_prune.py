"""OpenCode's prune counts each result once and decides like OpenCode's own walk back over all of them."""

from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.context_policies.presets.test_preset_laws import RULER, edited, timelines
from tests.sample_size import sample_size

from palimpsest.context_policies.interface.policy import PolicyResult, PolicyView, Probe
from palimpsest.context_policies.items.reducible import placeholder_changes
from palimpsest.context_policies.presets.clearing import (
    OPENCODE_PROTECTED,
    RESULT_CLEARED,
    OldResults,
    OpenCodePrune,
)
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class WalksBack(OpenCodePrune):
    """The rule as OpenCode writes it: at each turn's end all results are walked over, the newest first."""

    def step(self, state: OldResults, view: PolicyView) -> PolicyResult:
        passed = freed = 0
        old: list[int] = []
        for index in reversed(view.outputs):
            item = view.item(index)
            if item.turn > view.turn - self.turns:
                continue
            if view.state(index) == "cleared":
                break
            if item.is_error and not self.failed:
                continue
            if item.tool in OPENCODE_PROTECTED or item.pinned or not view.shows(index):
                continue
            passed += view.tokens(index)
            if passed > self.protect:
                freed += view.tokens(index)
                old.append(index)
        probe = Probe("tokens of results that may be cleared", freed, self.minimum)
        if freed <= self.minimum:
            return PolicyResult(state, probe=probe)
        changes = placeholder_changes(view, old, "cleared", RESULT_CLEARED)
        return PolicyResult(state, changes, probe, fired=True)


NUMBERS = st.fixed_dictionaries(
    {
        "protect": st.sampled_from([0, 50, 500, 2_000]),
        "minimum": st.sampled_from([0, 200, 3_000]),
        "turns": st.integers(0, 2),
        "failed": st.booleans(),
    }
)


@settings(
    max_examples=sample_size(25, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(timeline=st.one_of(timelines(), edited()), numbers=NUMBERS)
def test_it_decides_like_a_walk_back_over_all_results(
    timeline: Timeline, numbers: dict[str, Any]
) -> None:
    counted = simulate(timeline, OpenCodePrune(**numbers), RULER)
    walked = simulate(timeline, WalksBack(**numbers), RULER)

    assert counted.timeline.transitions == walked.timeline.transitions
    assert counted.firing_requests == walked.firing_requests
    assert [at.probe for at in counted.probes] == [at.probe for at in walked.probes]
