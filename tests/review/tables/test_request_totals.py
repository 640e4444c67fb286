"""Totals of requests are summed from reported usage; a ruler is fitted only where there is none."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.tables.request_totals import request_sizes, request_totals


def no_ruler() -> Ruler:
    raise AssertionError("a ruler is fitted")


def test_reported_usage_needs_no_ruler(tmp_path: Path) -> None:
    with open_recording(sample("claude_code/compaction_session.jsonl", tmp_path)) as recording:
        review = recording[0]
    timeline, profile = review.timeline, review.price()

    totals = request_totals(timeline, no_ruler, profile)
    assert totals.is_fact
    assert totals == request_totals(timeline, review.ruler, profile)
    assert request_sizes(timeline, no_ruler) == request_sizes(timeline, review.ruler)


def test_without_usage_the_ruler_that_a_function_returns_counts(tmp_path: Path) -> None:
    with open_recording(sample("claude_code/compaction_session.jsonl", tmp_path)) as recording:
        review = recording[0]
    requests = [replace(request, usage=None, cost=None) for request in review.timeline.requests]
    timeline = replace(review.timeline, requests=tuple(requests), earlier={})

    sizes = request_sizes(timeline, lambda: review.ruler)
    assert list(sizes) == list(request_sizes(timeline, review.ruler))
    assert sum(sizes) > 0
    with pytest.raises(AssertionError, match="a ruler is fitted"):
        request_sizes(timeline, no_ruler)
