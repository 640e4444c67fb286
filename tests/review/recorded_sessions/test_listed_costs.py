"""What reported tokens cost at the prices of a list is marked as an estimate; a recorded cost is a fact."""

from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample
from tests.sample_size import thinned

import palimpsest
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.session_figures import figures_table, session_figures
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.view_summary import view_summary


def opened(name: str, folder: Path) -> RecordingReview:
    return palimpsest.open_recording(sample(name, folder))[0]


@pytest.mark.parametrize(
    "name", thinned(["codex_rollout.jsonl", "gemini_cli.jsonl", "claude_code"], 3)
)
def test_a_cost_that_was_not_recorded_is_an_estimate_wherever_it_is_shown(
    name: str, tmp_path: Path
) -> None:
    review = opened(name, tmp_path)
    requests = review.timeline.requests
    view = timeline_view(review)
    facts = view.recorded.facts
    figures = session_figures(review)

    assert all(request.listed for request in requests if request.cost)
    assert view.requests.listed == tuple(request.listed for request in requests)
    assert (view.price.matches_recorded, view.price.unit) == (False, "USD")
    assert facts is not None
    assert not facts.cost_is_fact
    assert not any(subject.cost_is_fact for subject in (*view.wastes, *view.subagents))
    # One sentence says which list, since when, and what the sign means.
    (told,) = (total for total in view.totals if "Prices of" in total)
    assert "litellm" in told
    assert "on this disk since 20" in told
    assert told.endswith("What they give is an estimate, marked ~.")
    assert "It would cost ~" in " ".join(view.totals)
    breaks = review.breaks()
    assert breaks.table.title.partition(": ")[2].startswith("~")
    assert "~USD" in breaks.text.split()
    assert told in breaks.table.notes
    assert r"| \~0.0" in review.wastes().markdown
    assert "~0." in review.requests.text
    assert (figures.cost_basis, figures.price_basis) == ("estimate", "estimate")
    assert "~0." in figures_table("All", [figures]).text
    assert "the cost is an estimate" in review.compare(["recorded"]).text
    assert told in review.compare(["recorded"]).table.notes
    other = palimpsest.compare_sessions(review, review)
    assert other.text.count("~0.") >= 4
    for table in view_summary(view).tables:
        assert "~cost" in table.text or "cost" not in table.text


def test_a_recorded_cost_is_a_fact(tmp_path: Path) -> None:
    review = opened("pi_version_3.jsonl", tmp_path)
    view = timeline_view(review)

    assert not any(view.requests.listed)
    assert view.recorded.facts is not None
    assert view.recorded.facts.cost_is_fact
    assert "~" not in " ".join(view.totals)
    assert session_figures(review).cost_basis == "fact"
    # The made costs of this file are not at the prices of the list, so amounts at those are estimates.
    assert not view.price.matches_recorded


@pytest.mark.soak  # with each commit tests/review/recorded_sessions/test_every_place.py has recorded costs at other prices; this adds those of the list
@pytest.mark.slow
def test_recorded_costs_at_the_prices_of_the_list_make_these_a_fact(tmp_path: Path) -> None:
    review = opened("pi_large_session.jsonl", tmp_path)

    assert review.price().matches_recorded
    assert review.breaks().table.title.endswith(": 14.21 USD")
    reported = review.compare(["recorded"]).table.records()[0]
    # All that was written to the cache by the peak: 4,296,232 / 177,604; what was in no cache is not in it.
    assert reported["rewrite"] == pytest.approx(24.18995, abs=1e-5)
    assert reported["verdict"] == "Facts of 439 requests with reported usage."
    assert not review.price("openai/gpt-4o").matches_recorded
    assert "~" in review.breaks("openai/gpt-4o").table.title
