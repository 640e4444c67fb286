"""What a timeline says of each request of a session of ours agrees with what was weighed when it was sent."""

from pathlib import Path

import pytest
from tests.harness.session import requested
from tests.review.decision_sessions import SCENES, SOME_SCENES
from tests.sample_size import thinned

from palimpsest.model.tokenizer import counter
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.timeline.journal_timeline import timeline_of

FRAME_TOKENS = 10
"""What a message takes besides its text, at most: role, ids, braces."""
TOOL_FRAMES = 200
"""What the tool definitions take besides their text."""


@pytest.mark.parametrize("name", thinned(SOME_SCENES, 3))
async def test_every_request_is_as_large_as_it_was(name: str, tmp_path: Path) -> None:
    harness, session = await SCENES[name](tmp_path)
    sent = [
        one.request
        for one in requested(await harness.records(session))
        if one.request.purpose == "step"
    ]
    timeline = timeline_of(harness.store, session.id, counter)

    assert [one.id for one in timeline.requests] == [one.message_id for one in sent]
    for estimator in {one.facts.estimator for one in sent}:
        sizes = recorded(timeline, Ruler(estimator=estimator)).sizes
        for request, size, was in zip(timeline.requests, sizes, sent, strict=True):
            if was.facts.estimator == estimator:
                frames = TOOL_FRAMES + FRAME_TOKENS * request.items
                assert was.tokens - frames <= size.total <= was.tokens
