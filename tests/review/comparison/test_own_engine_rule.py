"""The law of the own rule for sessions of ours: the recorded policy acts where the live loop did."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.recordings.decision_sessions import SCENES, SOME_SCENES
from tests.sample_size import thinned

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context_policies.registry import get
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.comparison.own_engine_rule import own_engine_rule
from palimpsest.review.comparison.own_rule import OwnRule
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import TimelineEvent


async def reviewed(tmp_path: Path, scene: str) -> SessionReview:
    tmp_path.mkdir(exist_ok=True)  # noqa: ASYNC240  # made once, in a test
    harness, session = await SCENES[scene](tmp_path)
    await session.journal.flush()
    store = harness.store
    timeline = timeline_of(store, session.id, counter)
    return SessionReview(timeline, get, lambda _model: None, SentRequests(store, session.id))


def policies_of(review: SessionReview) -> dict[str, Policy]:
    assert review.sent is not None
    return {**review.sent.policies}


@pytest.mark.slow
@pytest.mark.parametrize("scene", thinned(SOME_SCENES, 6))
async def test_the_recorded_policy_acts_where_the_live_loop_did(tmp_path: Path, scene: str) -> None:
    review = await reviewed(tmp_path, scene)
    rule = review.own_rule()
    assert rule is not None
    compacted = {event.request for event in review.timeline.events if event.kind == "compact"}
    pruned = {
        transition.request
        for transition in review.timeline.transitions
        if transition.rule.startswith("prune/")
    }

    assert {*rule.found_at, *rule.by_hand} == compacted
    assert {*rule.cleared_at} == pruned
    assert rule.is_reproduced
    assert rule.assumptions == () or scene == "changed_policy"


@pytest.mark.soak  # with each commit the recorded policy acts where the live loop did, beside it; this adds the sentence
@pytest.mark.slow
async def test_it_is_told_before_anything_is_said_of_another_policy(tmp_path: Path) -> None:
    words = (await reviewed(tmp_path / "compacted", "compacted")).proof().own_rule
    cleared = (await reviewed(tmp_path / "pruned", "pruned")).proof().own_rule

    assert "this agent's own rule found 1 of 1 compactions, at request 7" in words
    assert "this agent's own rule found 4 of 4 clearings, at requests 5, 7, 10, 12" in cleared


@pytest.mark.slow
async def test_a_policy_that_was_not_the_recorded_one_is_found_out(tmp_path: Path) -> None:
    """It never compacts, and clears nothing."""
    for scene, recorded in (("compacted", (6,)), ("pruned", (4, 6, 9, 11))):
        review = await reviewed(tmp_path / scene, scene)
        quiet = {"prune.rule": "none", "overflow.auto": False}
        others = {
            key: policy_with_changes(policy, quiet) for key, policy in policies_of(review).items()
        }
        rule = own_engine_rule(review.timeline, review.ruler, others)
        assert rule is not None

        assert (*rule.missed, *rule.uncleared_at) == recorded
        assert not rule.is_reproduced
        assert "found 0 of" in rule.sentence_end


@pytest.mark.slow
async def test_an_automatic_compaction_that_was_none_is_found_out(tmp_path: Path) -> None:
    review = await reviewed(tmp_path, "compacted")
    events = (TimelineEvent(2, "compact", "automatic"), *review.timeline.events)
    timeline = replace(review.timeline, events=events, earlier={})

    rule = own_engine_rule(timeline, review.ruler, policies_of(review))

    assert rule is not None
    assert (rule.found_at, rule.missed) == ((6,), (2,))


@pytest.mark.slow
async def test_each_request_is_compared_with_the_policy_that_held(tmp_path: Path) -> None:
    review = await reviewed(tmp_path, "compacted")
    policies = policies_of(review)
    [compacted] = [event.request for event in review.timeline.events]
    quiet = {
        key: policy_with_changes(policy, {"overflow.auto": False})
        for key, policy in policies.items()
    }
    requests = review.timeline.requests
    later = {request.id: quiet[request.id] for request in requests[compacted + 1 :]}
    at_it = {request.id: quiet[request.id] for request in requests[: compacted + 2]}

    for changed, at in ((later, (compacted,)), (at_it, ())):
        rule = own_engine_rule(review.timeline, review.ruler, policies | changed)
        assert rule is not None
        assert rule.found_at == at
        assert (changed is later) == (rule.missed == ())
        assert changed == quiet or rule.assumptions == (
            "The policy changed during the session: 2 were recorded, and each request is compared with its own.",
        )


@pytest.mark.slow
async def test_without_a_recorded_policy_nothing_is_said(tmp_path: Path) -> None:
    review = await reviewed(tmp_path, "compacted")

    assert own_engine_rule(review.timeline, review.ruler, {}) is None
    assert isinstance(review.own_rule(), OwnRule)
