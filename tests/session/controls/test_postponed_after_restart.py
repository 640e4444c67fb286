"""What a policy prunes after a turn in step mode is pruned after a restart of the kernel, too, as without step mode."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import assert_rebuilt
from tests.harness.session import SessionHarness, ask, requested
from tests.loop.context_management.test_fit_driver import make_fit_harness
from tests.sample_size import sampled_cases
from tests.session.controls.test_step_mode import held, let_all_go, plain

from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.transcript.session_record.events import DecisionMade

READS = [calls("read", path=f"big{number}.txt") for number in range(8)]
ANSWERS = (*READS, says("Read."), says("Two."), says("Three."), says("Four."))


async def reopened(harness: SessionHarness, session: LiveSession) -> LiveSession:
    """Return the session as another kernel opens it, which has nothing of this one's memory."""
    await session.close()
    services = harness.services
    later = SessionHarness(
        services.root,
        services.models.model(harness.info("scripted/model")),
        store=harness.store,
        info=harness.info("scripted/model"),
        rules=services.rules.base_rules,
        effective_rules=services.rules.effective_rules,
        kernel_id="kernel-later",
    )
    object.__setattr__(later.services.rules, "policy", services.rules.policy)
    later.clock.now = harness.clock.now
    opened = await later.workspace.open(session.id)
    assert isinstance(opened, LiveSession)
    return opened


async def asked(session: LiveSession, text: str) -> None:
    """Ask, and let go each request that is held."""
    answering = asyncio.ensure_future(ask(session, text))
    await let_all_go(session, answering)
    assert (await answering).error is None


async def told(
    tmp_path: Path, *, steps: bool, restarts: bool, ends_early: bool = False
) -> tuple[list[Any], list[str]]:
    """Return the pruning decisions, and the messages of all requests, of a session with three big turns."""
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    harness, model = make_fit_harness(tmp_path, *ANSWERS, window=400_000, policy="opencode-1.1")
    session = await harness.session(f"{steps}-{restarts}-{ends_early}.ipynb")
    session.step_mode.switch(is_on=steps)
    for text in ("Read the eight files.", "Again?", "And again?"):
        await asked(session, text)
    before = [decision for decision in session.decisions() if decision.rule == "prune/opencode"]
    assert bool(before) is not steps
    if restarts:
        session = await reopened(harness, session)
        assert session.stepping is steps
    if ends_early:
        session.step_mode.switch(is_on=False)
    await asked(session, "And now?")
    await session.journal.flush()
    records = tuple(harness.store.read(session.id))
    await assert_rebuilt(harness, session, model)
    made = [record for record in records if isinstance(record.event, DecisionMade)]
    decisions = [
        record_data.get("decision", record_data) for record_data in map(_data, plain(made))
    ]
    assert len(requested(records)) == len(ANSWERS)
    return decisions, [json.dumps([*request.messages]) for request in model.requests]


def _data(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record.get("data", record)
    return found


@pytest.mark.parametrize("ends_early", sampled_cases({"at its end": False, "early": True}, "early"))
async def test_a_restart_changes_nothing_of_what_is_pruned(
    tmp_path: Path, *, ends_early: bool
) -> None:
    without = await told(tmp_path, steps=False, restarts=False)
    stayed = await told(tmp_path, steps=True, restarts=False)
    restarted = await told(tmp_path, steps=True, restarts=True, ends_early=ends_early)

    assert len(without[0]) == 5
    assert stayed[0] == without[0]
    assert restarted[0] == without[0]
    assert restarted[1] == stayed[1] == without[1]


@pytest.mark.soak  # with each commit a restart changes nothing of what is pruned, above; this adds the card
async def test_the_card_after_a_restart_lists_it_and_the_log_does_not(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    harness, _ = make_fit_harness(tmp_path, *ANSWERS, window=400_000, policy="opencode-1.1")
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    for text in ("Read the eight files.", "Again?", "And again?"):
        await asked(session, text)
    session = await reopened(harness, session)
    answering = asyncio.ensure_future(ask(session, "And now?"))

    proposal = await held(session)

    assert [decision.rule for decision in proposal.decisions] == ["prune/opencode"] * 5
    assert [decision.rule for decision in session.decisions()] == []
    session.step_mode.release(proposal.id)
    await answering
    assert [decision.rule for decision in session.decisions()] == ["prune/opencode"] * 5
    again = await reopened(harness, session)
    assert [decision.rule for decision in again.decisions()] == ["prune/opencode"] * 5
