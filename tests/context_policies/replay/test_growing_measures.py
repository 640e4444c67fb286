"""What a recording measures and costs is as of one that is read whole, and a request more is all that is measured anew."""

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.comparison.test_own_rule import GROWING, shortened, timelines_of

from palimpsest.context_policies.calibration.fit import recorded_simulation as as_recorded
from palimpsest.context_policies.prompt_cache.cache_walk import CacheWalk
from palimpsest.context_policies.prompt_cache.ruler import UNIT_PRICES, Ruler
from palimpsest.context_policies.replay.growing_replay import MAX_REQUESTS_BEHIND
from palimpsest.review.tables.request_totals import session_costs
from palimpsest.transcript.timeline import Timeline

BESIDE = Ruler(unseen_tokens=1_000)
"""Of a recording that reports no usage and came with a system prompt."""


def unreported(timeline: Timeline) -> Timeline:
    requests = tuple(replace(request, usage=None, cost=None) for request in timeline.requests)
    return replace(timeline, requests=requests)


@pytest.mark.soak  # with each commit tests/review/timeline_view/test_view_patch.py follows an own session; this adds recordings of other agents
@given(st.data())
def test_a_recording_that_grows_is_measured_and_costs_like_one_that_is_read_whole(
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from(GROWING))
    timeline = max(timelines_of(name), key=lambda timeline: len(timeline.requests))
    timeline = unreported(timeline) if data.draw(st.booleans()) else timeline
    cuts = st.integers(1, len(timeline.requests))
    earlier: dict[str, Any] = {}

    for requests in data.draw(st.lists(cuts, min_size=2, max_size=4)):
        grown, whole = shortened(timeline, requests, earlier), shortened(timeline, requests, {})

        assert as_recorded(grown, BESIDE).sizes == as_recorded(whole, BESIDE).sizes
        costs = session_costs(whole, BESIDE, UNIT_PRICES)
        assert list(session_costs(grown, BESIDE, UNIT_PRICES)) == list(costs)


def test_of_a_recording_that_grows_what_is_new_is_measured() -> None:
    [timeline] = timelines_of("pi_large_session.jsonl")
    count, earlier = len(timeline.requests), dict[str, Any]()
    as_recorded(shortened(timeline, count - 1, earlier), BESIDE)
    measured = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal measured
        measured += event == "call" and frame.f_code is CacheWalk.measured_size.__code__

    sys.setprofile(note)
    try:
        as_recorded(shortened(timeline, count, earlier), BESIDE)
    finally:
        sys.setprofile(None)

    assert count > 3 * MAX_REQUESTS_BEHIND
    assert 0 < measured <= MAX_REQUESTS_BEHIND + 3
