"""A ruler is fitted to the reported usage, and its three rows add up to it at every request."""

from dataclasses import replace
from pathlib import Path

from tests.review.importers.imported import bring
from tests.review.importers.sample_files import sample
from tests.review.policies.pi_session import pi_timeline

from palimpsest.review.replay.fit import added_up, fit_ruler
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.transcript.values import Usage


def test_the_ruler_of_pi_is_the_measured_one() -> None:
    by_chars = fit_ruler(pi_timeline())
    by_tokens = fit_ruler(pi_timeline(), "tiktoken/o200k_base")

    assert by_chars.measured
    assert by_chars.unseen == 1_629
    assert round(by_chars.factor, 3) == 1.409
    assert round(by_tokens.factor, 3) == 1.271


def test_unseen_items_and_remainder_are_the_reported_tokens_exactly() -> None:
    timeline = pi_timeline()
    ruler = fit_ruler(timeline)

    rows = added_up(timeline, ruler)

    assert len(rows) == 439
    for row in rows:
        assert round(row.unseen + row.items + row.remainder, 6) == row.reported
    within = [
        row.items * ruler.low - 1 <= row.reported - row.unseen for row in rows if row.items > 2_000
    ]
    assert all(within)


def test_a_session_without_usage_is_only_estimated(tmp_path: Path) -> None:
    store, report = bring(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id)

    ruler = fit_ruler(timeline)

    assert not ruler.measured
    assert (ruler.unseen, ruler.factor) == (0, 1.0)
    assert added_up(timeline, ruler) == ()
    assert "assumed" in ruler.words


def test_a_session_whose_reported_prompts_never_grew_is_counted_by_the_estimate() -> None:
    pi = pi_timeline()
    same = Usage(input=900, output=5)
    told = tuple(replace(one, usage=same) for one in pi.requests)

    ruler = fit_ruler(replace(pi, requests=told))

    assert ruler.factor == 1.0
    assert ruler.low > 0
