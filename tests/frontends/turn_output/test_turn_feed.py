"""The last update of a turn waits until the journal has published its records, however slow the disk is."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.harness.session import SessionHarness, ask
from tests.waiting import LAST_RESORT_SECONDS, settled

from palimpsest.frontends.turn_output import turn_feed as module
from palimpsest.frontends.turn_output.turn_feed import TurnFeed
from palimpsest.model.script import says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.messages import Origin


async def test_the_end_of_a_turn_waits_until_its_last_record_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Well.")))
    session = await harness.session()
    feed = TurnFeed("pmt_other", Origin(kind="api"))
    feed.subscribe_to(session)
    await ask(session, "Hello")
    await harness.records(session)
    clock = iter(range(10_000))
    # A second passes at each reading of the clock.
    hurried = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(module, "time", hurried, raising=False)

    waiting = asyncio.ensure_future(feed.wait_for_records(session.snapshot().seq + 1))
    await settled()
    waited = not waiting.done()
    session.edit_context("pin", session.snapshot().messages[0].parts[0].id)
    await asyncio.wait_for(waiting, LAST_RESORT_SECONDS)

    assert waited
    feed.unsubscribe()
