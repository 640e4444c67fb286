"""What a timeline says of each request of a session of ours agrees with what was weighed when it was sent."""

from pathlib import Path

import pytest
from tests.harness.session import requested
from tests.recordings.decision_sessions import SCENES, SOME_SCENES
from tests.sample_size import thinned

from palimpsest.context_policies.calibration.fit import recorded_simulation
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of

FRAME_TOKENS = 10
"""What a message takes besides its text, at most: role, ids, braces."""
TOOL_FRAMES = 200
"""What the tool definitions take besides their text."""


@pytest.mark.parametrize("name", thinned(SOME_SCENES, 8))
async def test_every_request_is_as_large_as_it_was(name: str, tmp_path: Path) -> None:
    harness, session = await SCENES[name](tmp_path)
    sent = [
        record.request
        for record in requested(await harness.records(session))
        if record.request.purpose == "step"
    ]
    timeline = timeline_of(harness.store, session.id, counter)

    assert [recorded_request.id for recorded_request in timeline.requests] == [
        step_request.message_id for step_request in sent
    ]
    for estimator in {step_request.facts.estimator for step_request in sent}:
        sizes = recorded_simulation(timeline, Ruler(estimator=estimator)).sizes
        for request, size, was in zip(timeline.requests, sizes, sent, strict=True):
            if was.facts.estimator == estimator:
                frames = TOOL_FRAMES + FRAME_TOKENS * request.items
                assert was.tokens - frames <= size.total <= was.tokens
