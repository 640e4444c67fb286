"""Events for other programs: a session's deletion with its whole record, and when outputs were cleared."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.session_record.events import DecisionMade, Record, SessionDeleted

pytestmark = pytest.mark.slow

ALLOWED = {"permission": {"*": "allow"}}


def test_a_deleted_session_is_told_with_what_it_was() -> None:
    told: list[Record] = []
    with isolated_session(ScriptedModel(says("Good."))) as session:
        session.subscribe(told.extend)
        session.prompt("Look.")
        session.retitle("Birds")
        session.delete()

    deleted = [record.event for record in told if isinstance(record.event, SessionDeleted)]
    assert [(event.session_id, event.session and event.session.title) for event in deleted] == [
        (session.id, "Birds")
    ]
    assert [record.event.type for record in told[-2:]] == ["session.deleted", "session.checkpoint"]


def test_a_deleted_session_that_a_fork_needs_keeps_the_same_record(tmp_path: Path) -> None:
    told: list[Record] = []
    with isolated_session(ScriptedModel(says("Good.")), folder=tmp_path) as session:
        session.prompt("Look.")
        fork = session.fork()
        session.subscribe(told.extend)
        session.delete()
        assert [m.info.role for m in fork.messages] == ["user", "assistant"]

    logs = tmp_path.glob(f".palimpsest/sessions/{session.id}/*.jsonl")
    kept = [json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines()]
    deleted = [record for record in kept if record["type"] == "session.deleted"]
    assert deleted == [record.wire() for record in told if isinstance(record.event, SessionDeleted)]


def test_an_export_says_when_an_output_was_cleared(tmp_path: Path) -> None:
    told: list[Record] = []

    def watch(records: Sequence[Record]) -> None:
        told.extend(records)

    long = calls("bash", command="seq 1 20000", description="Count")
    answers = [answer for _ in range(4) for answer in (long, says("Good."))]
    policy = {"base": "opencode-1.1", "prune": {"minimum_tokens": 100, "protect_tokens": 100}}
    with isolated_session(
        ScriptedModel(*answers), folder=tmp_path, settings={"policy": policy, **ALLOWED}
    ) as session:
        session.subscribe(watch)
        for _ in range(4):
            session.prompt("Count.")
        folder = session.export("opencode")

    cleared = {
        record.event.decision.part_id: record.ts
        for record in told
        if isinstance(record.event, DecisionMade) and record.event.decision.action == "clear"
    }
    files = sorted(folder.glob("**/prt_*.json"))
    parts = [json.loads(file.read_text("utf-8")) for file in files]
    times = {
        part["id"]: part["state"]["time"]["compacted"]
        for part in parts
        if part["type"] == "tool" and "compacted" in part["state"]["time"]
    }
    assert times == cleared
    assert times
    ends = [part["state"]["time"]["end"] for part in parts if part["id"] in times]
    assert all(end < moment for end, moment in zip(ends, times.values(), strict=True))
