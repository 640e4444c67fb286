"""Every rule and preset decides the same live, over sizes and exactly, for every kind of recorded session."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context_policies.whatif.replayed_sessions import (
    EVERY_RULE_ACTS,
    Turns,
    decided,
    decided_everywhere,
    decided_instead,
    recorded,
    review_of,
    ruled,
)
from tests.harness.session import SessionHarness
from tests.recordings.decision_sessions import SCENES, SOME_SCENES
from tests.sample_size import slow_cases, thinned

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.context_policies.whatif.light_whatif import light_whatif
from palimpsest.context_policies.whatif.steps import Replay
from palimpsest.transcript.context_values.prune_policy import PruneRule

BAND = 50
"""Tokens by which the totals of a request may differ after a summary or a reminder: what the engine says
around them is known by its usual words, and a stand-in is counted by the policy's estimator."""
NEVER_SENT = {("stopped_summary", "palimpsest"), ("stopped_summary", "openclaw-2026.2")}
"""The user stopped a summary, and took out what it was for: the exact walk reduces what a request would have held
that was never sent, and no timeline has."""


def summaries(replay: Replay) -> list[int]:
    return [len(step.compactions) for step in replay.steps]


def tokens(replay: Replay) -> list[int]:
    return [step.tokens for step in replay.steps]


async def recorded_scene(tmp_path: Path, scene: str) -> tuple[SessionHarness, str]:
    harness, session = await SCENES[scene](tmp_path)
    await session.journal.flush()
    return harness, session.id


@pytest.mark.slow
@pytest.mark.parametrize("scene", thinned(SOME_SCENES, 5))
async def test_every_preset_decides_the_same_over_sizes_as_over_messages(
    tmp_path: Path, scene: str
) -> None:
    harness, session_id = await recorded_scene(tmp_path, scene)
    for preset, policy in PRESETS.items():
        exact = exact_whatif(harness.store, session_id, policy)
        light = light_whatif(review_of(harness.store, session_id), policy)

        assert tokens(light.recorded) == tokens(exact.recorded), preset
        if (scene, preset) in NEVER_SENT:
            continue
        assert decided(light.other) == decided(exact.other), preset
        assert summaries(light.other) == summaries(exact.other), preset
        for mine, theirs in zip(tokens(light.other), tokens(exact.other), strict=True):
            assert mine == pytest.approx(theirs, abs=BAND), preset


@pytest.mark.slow
@pytest.mark.parametrize(
    "scene",
    thinned(["pruned", "cold", "cold_openclaw", "after_turn", "compacted_by_hand", "steered"], 6),
)
async def test_under_the_recorded_policy_every_total_is_the_recorded_one(
    tmp_path: Path, scene: str
) -> None:
    harness, session_id = await recorded_scene(tmp_path, scene)
    recorded = exact_whatif(harness.store, session_id).recorded

    light = light_whatif(review_of(harness.store, session_id), harness.services.rules.policy)

    assert tokens(light.other) == tokens(recorded)
    assert light.is_unchanged


SMALL: dict[str, dict[str, object]] = {
    "palimpsest": {"prune.protect_tokens": 2_000, "prune.minimum_tokens": 500},
    "opencode-1.1": {"prune.protect_tokens": 2_000, "prune.minimum_tokens": 500},
    "opencode-1.18": {"compact.tail_maximum": 3_000},
    "openclaw-2026.2": {"prune.soft_ratio": 0.1, "prune.ttl_seconds": 60.0},
    "openclaw-2026.9": {
        "prune.soft_ratio": 0.1,
        "prune.hard_ratio": 0.2,
        "prune.ttl_seconds": 60.0,
    },
}
"""Numbers so small that each preset has something to do in a short session."""
STEPS = st.lists(st.tuples(st.integers(0, 7), st.integers(40, 250)), min_size=0, max_size=5)
TURNS = st.lists(st.tuples(STEPS, st.sampled_from([0, 0, 2, 10])), min_size=2, max_size=5)


@cache
def folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


@pytest.mark.slow
@slow_cases(4, 25, derandomize=True)
@given(turns=TURNS)
async def test_any_session_is_pruned_alike_over_sizes_and_over_messages(turns: Turns) -> None:
    with TemporaryDirectory(dir=folder().name) as root:
        harness, session_id = await recorded(Path(root), turns)
        review = review_of(harness.store, session_id)
        for name, numbers in SMALL.items():
            policy = policy_with_changes(PRESETS[name], numbers)
            exact = exact_whatif(harness.store, session_id, policy).other
            light = light_whatif(review, policy).other

            assert decided(light) == decided(exact), name
            assert summaries(light) == summaries(exact), name
            for mine, theirs in zip(tokens(light), tokens(exact), strict=True):
                assert mine == pytest.approx(theirs, abs=BAND), name
        await harness.workspace.close()


EVERYWHERE = {rule: ruled(rule) for rule in get_args(PruneRule)} | {
    name: policy_with_changes(policy, SMALL.get(name, {})) for name, policy in PRESETS.items()
}
"""Of each rule and each preset a policy that has something to do in a short session."""


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(EVERYWHERE, 5))
async def test_a_rule_acts_alike_live_and_in_both_replays(tmp_path: Path, name: str) -> None:
    for folder_name in ("live", "quiet"):
        (tmp_path / folder_name).mkdir()

    acts = await decided_everywhere(tmp_path / "live", EVERYWHERE[name], EVERY_RULE_ACTS)
    instead = await decided_instead(tmp_path / "quiet", EVERYWHERE[name], EVERY_RULE_ACTS)

    assert acts["live"] == acts["exact"] == acts["light"]
    assert instead["light"] == instead["exact"]
    if name not in ("none", "opencode-1.18"):
        assert any(acts["live"]), "it has nothing to do in this session"
        assert any(instead["light"]), "it has nothing to do in this session"


@pytest.mark.soak  # with each commit each rule acts alike in one session, and one rule in any, in this file; this adds each rule in any session
@pytest.mark.slow
@slow_cases(4, 20, derandomize=True)
@given(turns=TURNS, name=st.sampled_from([*EVERYWHERE]))
async def test_any_rule_acts_alike_in_any_session(turns: Turns, name: str) -> None:
    with TemporaryDirectory(dir=folder().name) as root:
        acts = await decided_everywhere(Path(root), EVERYWHERE[name], turns)

    assert acts["live"] == acts["exact"] == acts["light"]
