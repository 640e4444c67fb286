"""A session is replayed under another policy; under its own the recorded requests come out."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.review.scenes import SCENES, compacted, pruned, truncated

from palimpsest.context.changes import changed
from palimpsest.context.presets import OPENCODE_1_18, PRESETS
from palimpsest.review.requests import rebuild_all
from palimpsest.review.steps import Step
from palimpsest.review.whatif import WhatIf, replay, whatif
from palimpsest.transcript.policies import Policy

STAND_IN = "[A stand-in for a summary of"


def comparable(step: Step) -> Step:
    """Return a step without what is not recorded: how precheck weighed it, and the words of a request.

    Ids of decisions are new ones, too.
    """
    decisions = tuple(one.model_copy(update={"id": ""}) for one in step.decisions)
    return replace(step, decisions=decisions, request=None, estimate=0, budget=0)


@pytest.mark.parametrize("name", SCENES)
async def test_the_own_policy_gives_every_recorded_step(tmp_path: Path, name: str) -> None:
    studio, session = await SCENES[name](tmp_path)
    records = list(await studio.records(session))

    found = whatif(studio.store, session.id)

    assert found.same
    assert found.first_difference is None
    was, other = found.recorded, found.other
    assert list(map(comparable, other.steps)) == list(map(comparable, was.steps))
    sent = [one.request for one in rebuild_all(studio.store, session.id, records)]
    steps = [one for one in sent if one.purpose == "step"]
    assert [step.request for step in other.steps if step.request] == steps
