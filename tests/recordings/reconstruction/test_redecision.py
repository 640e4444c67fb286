"""Recorded decisions are decided again from the log, bit for bit; changed code is reported."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.recordings.decision_sessions import SCENES, pruned, truncated
from tests.sample_size import thinned

from palimpsest.recordings.reconstruction.redecision import redecide, redecide_all
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.events import DecisionMade, Record

MADE = {
    "truncated": {"truncate": 2},
    "compacted": {"compact": 3},
    "compacted_by_hand": {"compact": 3},
    "failed_summary": {"shorten": 1, "compact": 2},
    "in_parts": {"compact": 5},
    "steered": {"remind": 1},
    "pruned": {"prune": 8},
    "cold": {"prune": 5},
    "cold_openclaw": {"prune": 12},
    "after_turn": {"prune": 5},
    "shortened": {"shorten": 1},
}
"""The decisions that each session must contain."""


@pytest.mark.parametrize("name", thinned(SCENES, 8))
async def test_everything_is_decided_again_bit_for_bit(tmp_path: Path, name: str) -> None:
    harness, session = await SCENES[name](tmp_path)
    await session.journal.flush()

    redecision = redecide(harness.store, session.id)

    assert redecision.text.endswith("all decided again, bit for bit.")
    assert redecision.is_same
    decided = Counter({occasion.decider: 0 for occasion in redecision.occasions})
    for occasion in redecision.occasions:
        decided[occasion.decider] += len(occasion.recorded_decisions)
    assert MADE.get(name, {}).items() <= decided.items()


def with_decision(records: list[Record], **update: object) -> list[Record]:
    """Return the records with a change to the first decision."""
    changed, done = [], False
    for record in records:
        event = record.event
        if isinstance(event, DecisionMade) and not done:
            decision: Decision = event.decision.model_copy(update=update)
            event = event.model_copy(update={"decision": decision})
            record = record.model_copy(update={"event": event})
            done = True
        changed.append(record)
    return changed


async def test_other_numbers_than_the_code_decides_today_are_named(tmp_path: Path) -> None:
    harness, session = await pruned(tmp_path)
    records = with_decision(list(await harness.records(session)), tokens_before=1)

    found = list(redecide_all(harness.store, records))

    [other] = [occasion for occasion in found if not occasion.is_same]
    assert other.decider == "prune"
    assert other.recorded_decisions[0].tokens_before == 1
    assert other.new_decisions[0].tokens_before > 1


async def test_a_decision_that_is_missing_from_the_log_is_found(tmp_path: Path) -> None:
    harness, session = await truncated(tmp_path)
    records = [
        record
        for record in await harness.records(session)
        if not isinstance(record.event, DecisionMade)
    ]

    found = list(redecide_all(harness.store, records))

    assert [
        (len(occasion.recorded_decisions), len(occasion.new_decisions))
        for occasion in found
        if not occasion.is_same
    ] == [(0, 1)] * 2


async def test_decisions_without_facts_are_reported_and_fail_nothing(tmp_path: Path) -> None:
    harness, session = await pruned(tmp_path)
    records = [
        record.model_copy(update={"event": record.event.model_copy(update={"facts": None})})
        if isinstance(record.event, DecisionMade)
        else record
        for record in await harness.records(session)
    ]

    problems = {
        occasion.problem
        for occasion in redecide_all(harness.store, records)
        if not occasion.is_same
    }

    assert problems == {"the facts were not recorded"}


async def test_what_differs_is_said_with_both_versions(tmp_path: Path) -> None:
    harness, session = await truncated(tmp_path)
    await session.journal.flush()
    rough = redecide(harness.store, session.id, counter=lambda _name: len)

    assert not rough.is_same
    assert "2 decisions on 6 occasions: 2 occasions differ." in rough.text
    assert "truncate: 1 of 1 decisions have other numbers now" in rough.text


async def test_another_version_of_the_software_is_named_beside_what_it_decides_otherwise(
    tmp_path: Path,
) -> None:
    harness, session = await truncated(tmp_path)
    await session.journal.flush()
    rough = redecide(harness.store, session.id, counter=lambda _name: len)

    older = replace(rough, recorded_version="0.0.1")

    assert "Recorded by version" not in rough.text
    assert f"Recorded by version 0.0.1, decided again by {rough.version}." in older.text
