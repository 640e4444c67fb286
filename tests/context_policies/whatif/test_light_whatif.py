"""A what-if is answered from the sizes of items, for any session and any policy, and says that it is estimated."""

from pathlib import Path

import pytest
from tests.recordings.decision_sessions import SCENES
from tests.recordings.formats.sample_files import sample

import palimpsest
from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.whatif.light_whatif import light_whatif
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.session_review import SessionReview
from palimpsest.review.whatif import whatif
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError


async def review(tmp_path: Path, scene: str) -> SessionReview:
    harness, session = await SCENES[scene](tmp_path)
    await session.journal.flush()
    return SessionReview(timeline_of(harness.store, session.id, counter), get, lambda _model: None)


async def test_a_policy_is_compared_in_every_form_and_said_to_be_estimated(tmp_path: Path) -> None:
    answer = light_whatif(await review(tmp_path, "pruned"), PRESETS["openclaw-2026.9"])

    for form in (answer.text, answer.markdown, answer.html, answer._repr_html_()):
        assert "Counterfactual: no model was asked." in form
        assert "Estimated: sizes are those of the session" in form
        assert "12 steps as recorded, and under openclaw-2026.9" in form
        assert f"{answer.recorded.tokens:,}" in form
        assert f"{answer.other.tokens:,}" in form
    assert "without 2 old outputs cleared" in answer.text
    assert "with a stand-in summary" in answer.text
    assert answer.first_difference is not None
    assert not answer.is_unchanged


async def test_a_session_compared_with_itself_is_the_same(tmp_path: Path) -> None:
    answer = light_whatif(await review(tmp_path, "pruned"))

    assert answer.is_unchanged
    assert answer.first_difference is None
    assert "Every request would have shown what the recorded one showed." in answer.text


@pytest.mark.parametrize("policy", ["sweagent.last_n n=1", get("sweagent.last_n", n=1)])
async def test_any_policy_of_the_field_is_taken_by_name_and_as_a_value(
    tmp_path: Path, policy: str
) -> None:
    answer = light_whatif(await review(tmp_path, "pruned"), policy)

    assert "under sweagent.last_n n=1" in answer.text
    assert answer.other.tokens < answer.recorded.tokens
    assert {decision.rule for decision in answer.other.decisions} == {"prune/sweagent.last_n n=1"}
    assert "old output cleared" in answer.text


async def test_a_policy_of_ones_own_is_taken(tmp_path: Path) -> None:
    @palimpsest.policy(sticky=True)
    def shorter(view: object) -> list[Change]:
        return [palimpsest.policies.clear(index) for index in view.outputs[:-1]]  # type: ignore[attr-defined]

    answer = light_whatif(await review(tmp_path, "after_turn"), shorter)

    assert answer.other.tokens < answer.recorded.tokens
    assert "under shorter" in answer.text


async def test_raw_shows_what_was_cleared_again(tmp_path: Path) -> None:
    answer = light_whatif(await review(tmp_path, "pruned"), "raw")

    assert answer.first_difference == 5
    assert answer.other.decisions == ()
    assert answer.other.tokens > answer.recorded.tokens
    assert answer.other.overflows


async def test_a_stand_in_has_the_stated_size(tmp_path: Path) -> None:
    given = await review(tmp_path, "compacted")
    early = policy_with_changes(
        Policy(), {"prune.rule": "none", "reserved": 10_000, "compact.tail_turns": 0}
    )

    small, large = (light_whatif(given, early, summary_tokens=size) for size in (800, 3_000))

    assert small.other.compactions[0].stand_in
    assert large.other.peak - small.other.peak <= 2_200
    assert large.other.tokens - small.other.tokens >= 2_200
    assert "800 tokens stands in" in small.text


async def test_a_window_that_is_too_small_for_a_policy_is_said_to_be_refused(
    tmp_path: Path,
) -> None:
    strict = policy_with_changes(Policy(), {"guard.hard_minimum": 50_000})

    answer = light_whatif(await review(tmp_path, "pruned"), strict)

    assert all("50,000" in step.refused for step in answer.other.steps)
    assert answer.other.overflows == len(answer.other.steps)


async def test_an_exact_replay_is_made_on_request_and_for_the_engines_policies_alone(
    tmp_path: Path,
) -> None:
    harness, session = await SCENES["truncated"](tmp_path)
    await session.journal.flush()

    assert whatif(harness.store, session.id, "opencode-1.18", exact=True).exact
    assert whatif(harness.store, session.id, exact=True).is_unchanged
    exact = whatif(harness.store, session.id, "opencode-1.18", exact=True)
    assert exact.proof.rows
    assert exact.comparison.lead == (exact.proof.sentence,)
    assert exact.text.index("Replayed as recorded") < exact.text.index("input tokens of all steps")
    assert not whatif(harness.store, session.id, "opencode-1.18").exact
    with pytest.raises(UserError, match="has no exact replay"):
        whatif(harness.store, session.id, "pi.compact", exact=True)
    with pytest.raises(UserError, match=r"There is no policy 'opencode-1\.19'"):
        whatif(harness.store, session.id, "opencode-1.19")


@pytest.mark.slow
def test_a_recording_of_another_agent_is_compared_under_each_of_the_engines_policies(
    tmp_path: Path,
) -> None:
    with palimpsest.open_recording(sample("marshmallow-1867.traj", tmp_path)) as recording:
        given = recording[0]
        found = {name: given.whatif(name, window=20_000) for name in PRESETS}
        compared = given.compare(["recorded", *PRESETS], price="units", window=20_000)

    for name, light in found.items():
        assert len(light.other.steps) == len(given.timeline.requests)
        assert f"under {name}" in light.text
        assert light.other.peak > 0
    assert [figures.name for figures in compared.figures] == ["recorded", *PRESETS]
    assert all(
        figures.distance is not None or "but there were no" in figures.verdict
        for figures in compared.figures[1:]
    )
