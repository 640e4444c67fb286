"""The engine's presets decide the same over sizes as over messages, for every kind of recorded session."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness
from tests.review.decision_sessions import SCENES
from tests.sample_size import sample_size

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.counterfactual.exact_whatif import exact_whatif
from palimpsest.review.counterfactual.light_whatif import light_whatif
from palimpsest.review.counterfactual.steps import Replay
from palimpsest.review.policies.registry import get
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy

BAND = 50
"""Tokens by which the totals of a request may differ after a summary or a reminder: what the engine says
around them is known by its usual words, and a stand-in is counted by the policy's estimator."""
NEVER_SENT = {("stopped_summary", "palimpsest"), ("stopped_summary", "openclaw-2026.2")}
"""The user stopped a summary, and took out what it was for: the exact walk reduces what a request would have held
that was never sent, and no timeline has."""


def review_of(store: Store, session_id: str) -> SessionReview:
    return SessionReview(timeline_of(store, session_id, counter), get, lambda _model: None)


def decided(replay: Replay) -> list[Counter[tuple[str, str | None]]]:
    """Return what each request cleared or shortened: rule and part."""
    return [
        Counter(
            (one.rule, one.part_id) for one in step.decisions if one.action in ("truncate", "clear")
        )
        for step in replay.steps
    ]


def summaries(replay: Replay) -> list[int]:
    return [len(step.compactions) for step in replay.steps]


def tokens(replay: Replay) -> list[int]:
    return [step.tokens for step in replay.steps]


async def recorded_scene(tmp_path: Path, scene: str) -> tuple[SessionHarness, str]:
    harness, session = await SCENES[scene](tmp_path)
    await session.journal.flush()
    return harness, session.id


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
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
    ["pruned", "cold", "cold_openclaw", "after_turn", "compacted_by_hand", "steered"],
)
async def test_under_the_recorded_policy_every_total_is_the_recorded_one(
    tmp_path: Path, scene: str
) -> None:
    harness, session_id = await recorded_scene(tmp_path, scene)
    recorded = exact_whatif(harness.store, session_id).recorded

    light = light_whatif(review_of(harness.store, session_id), harness.services.policy)

    assert tokens(light.other) == tokens(recorded)
    assert light.same


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
Turns = Sequence[tuple[Sequence[tuple[int, int]], int]]


async def recorded(root: Path, turns: Turns) -> tuple[SessionHarness, str]:
    """Record a session without reductions: turns of reads, each after a pause in minutes."""
    answers: list[ModelAnswer] = []
    for reads, _ in turns:
        answers += [calls("read", path=f"log{name}.txt", limit=lines) for name, lines in reads]
        answers.append(says("Well."))
    harness, _ = make_fit_harness(
        root, *answers, says(SUMMARY), window=40_000, caching=True, policy=QUIET
    )
    session = await harness.session()
    for number, (_, minutes) in enumerate(turns):
        harness.clock.now += minutes * 60_000
        await ask(session, f"Read the logs, {number}.")
    await session.journal.flush()
    return harness, session.id


QUIET = policy_with_changes(Policy(), {"prune.rule": "none", "overflow.auto": False})


@cache
def folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


@pytest.mark.slow
@settings(
    max_examples=sample_size(10, 25),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
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
