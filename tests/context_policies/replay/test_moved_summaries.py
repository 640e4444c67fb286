"""Summaries of policies have the same texts for all policies of a table."""

from pathlib import Path

import pytest
from tests.recordings.decision_sessions import SCENES
from tests.review.request_contents.reviewed import pi_review, review_of

from palimpsest.transcript.timeline import CHARS4

POLICIES = ["pi.compact window=64000", "opencode.prune | pi.compact window=64000"]


@pytest.mark.soak  # with each commit a recorded summary fills the place, below; this adds a placeholder of a size that was asked for
def test_all_policies_of_a_table_have_placeholders_of_one_size() -> None:
    compared = pi_review().compare(POLICIES, summary="stub(2000)")

    sizes = {
        transition.tokens
        for simulation in compared.simulations
        for transition in simulation.timeline.transitions
        if transition.state == "summarised" and transition.tokens
    }
    assert sizes == {2_000}
    assert [figures.name for figures in compared.figures] == POLICIES
    assert any("placeholder of 2,000 tokens" in note for note in compared.table.notes)


def test_an_extract_is_the_same_again_and_never_larger_than_asked() -> None:
    first, again = (
        pi_review().compare(POLICIES, summary="extract(1000)").simulations for _ in range(2)
    )

    for before, other in zip(first, again, strict=True):
        assert before.timeline.transitions == other.timeline.transitions
        shown = [
            two.shown
            for two in before.timeline.transitions
            if two.shown and two.state == "summarised"
        ]
        assert shown
        assert all(len(text) <= 4_000 for text in shown)


def test_names_in_an_extract_count_as_kept_by_kind() -> None:
    stub = pi_review().compare(POLICIES[:1], summary="stub(2000)")
    extract = pi_review().compare(POLICIES[:1], summary="extract(2000)")

    lost, kept = stub.figures[0], extract.figures[0]
    assert lost.retention is not None
    assert kept.retention is not None
    assert lost.retention < kept.retention
    assert set(kept.retention_by_kind) == {"paths", "URLs", "identifiers", "numbers"}
    for kind, share in kept.retention_by_kind.items():
        assert lost.retention_by_kind[kind] <= share
    assert extract.json()["retention_by_kind"] == {POLICIES[0]: dict(kept.retention_by_kind)}


async def test_a_recorded_summary_stands_where_a_policy_would_have_had_one(tmp_path: Path) -> None:
    harness, session = await SCENES["compacted"](tmp_path)
    review = review_of(harness.store, session.id)
    [recorded] = [item for item in review.timeline.items if item.kind == "summary"]

    [compaction] = review.compactions(
        "pi.compact window=12000 reserve=0 keep_tokens=2000", summary="recorded"
    )

    assert compaction.summary == review.timeline.read(recorded.index)
    weight = review.timeline.weights(CHARS4)[recorded.index]
    assert compaction.tokens_after == pytest.approx(weight * review.ruler.factor)


@pytest.mark.soak  # with each commit a recorded summary fills the place, above; this adds a session without one
def test_where_no_summary_was_recorded_the_placeholder_stays() -> None:
    compactions = pi_review().compactions(POLICIES[0], summary="recorded")

    assert [simulated.summary for simulated in compactions] == [""] * 6
