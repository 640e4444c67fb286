"""Subagents of OpenHands come in as children: folders below a conversation, and delegates in one stream."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import dialogue, facts_of, import_file, info_of, sums_of
from tests.recordings.formats.sample_files import sample

from palimpsest.review.recorded_sessions.recording import open_recording


def test_those_below_a_conversation_stand_at_the_calls_that_gave_them_work(tmp_path: Path) -> None:
    with open_recording(sample("openhands_subagents", tmp_path)) as recording:
        rows = recording[0].subagents.table.records()
        asked = recording[0].requests_with_subagents.records()

    assert recording.problems == ()
    assert [
        (row["subagent"], row["depth"], row["request"], row["calls"], row["requests"], row["input"])
        for row in rows
    ] == [
        ("Count the tests", 1, 1, 2, 2, 2_000),
        ("Name the modules", 1, 2, 1, 2, 3_000),
        ("Sort the modules", 2, 2, 1, 1, 1_000),
    ]
    # What came back to the call that resumed it, not to the one that began it.
    assert rows[0]["returned"] == "All of them pass."
    at = [int(str(row["started"])) for row in asked]
    assert at == sorted(at)


def test_a_second_with_the_same_prompt_is_the_second_call_s(tmp_path: Path) -> None:
    folder = sample("openhands_subagents", tmp_path)
    for path in folder.rglob("*.json"):
        path.write_text(path.read_text().replace("Name the modules", "Count the tests"))

    with open_recording(folder) as recording:
        rows = recording[0].subagents.table.records()
    assert [(row["request"], row["calls"]) for row in rows] == [(1, 2), (2, 1), (2, 1)]


def test_the_older_tool_gives_several_work_in_one_call(tmp_path: Path) -> None:
    folder = sample("openhands_subagents", tmp_path)
    for path in (folder / "events").glob("*.json"):
        event = json.loads(path.read_text())
        if event.get("tool_call_id") == "call_1" and "action" in event:
            tasks = {"counter": "Count the tests", "namer": "Name the modules"}
            event["action"] = {"kind": "DelegateAction", "command": "delegate", "tasks": tasks}
            path.write_text(json.dumps(event))

    with open_recording(folder) as recording:
        rows = recording[0].subagents.table.records()
    assert [(row["subagent"], row["request"], row["depth"]) for row in rows] == [
        ("Count the tests", 1, 1),
        ("Name the modules", 1, 1),
        ("Sort the modules", 1, 2),
    ]


def test_a_folder_of_conversations_brings_each_of_them_once(tmp_path: Path) -> None:
    sample("openhands_subagents", tmp_path)
    sample("openhands_v1", tmp_path)

    store, report = import_file(tmp_path)

    assert [session.outcome for session in report.sessions] == ["new"] * 5
    _, again = import_file(tmp_path, store)
    assert {session.outcome for session in again.sessions} == {"same"}


def test_a_link_and_a_broken_one_cost_only_themselves(tmp_path: Path) -> None:
    folder = sample("openhands_subagents", tmp_path)
    outside = tmp_path / "outside"
    shutil.copytree(sample("openhands_v1", tmp_path), outside)
    (folder / "subagents" / "link").symlink_to(outside)
    empty = folder / "subagents" / "empty"
    (empty / "events").mkdir(parents=True)
    broken = folder / "subagents" / "broken" / "events"
    broken.mkdir(parents=True)
    (broken / "event-00000-x.json").write_text("{")

    _, report = import_file(folder)

    assert len(report.sessions) == 4
    results = {
        problem.where.removeprefix("openhands_subagents, "): problem.what
        for problem in report.problems
    }
    assert results["subagents/link"] == "It is no conversation and was left out."
    assert results["subagents/broken/event-00000-x.json"].startswith("It cannot be read as JSON")
    assert "holds no events" in results["subagents/empty"]


@pytest.mark.slow
def test_of_a_thousand_the_first_are_read(tmp_path: Path) -> None:
    folder = sample("openhands_v1", tmp_path)
    event = {"kind": "MessageEvent", "source": "user", "id": "e"}
    for number in range(1_000):
        events = folder / "subagents" / f"{number:04}" / "events"
        events.mkdir(parents=True)
        (events / "event-00000-e.json").write_text(json.dumps(event))

    _, report = import_file(folder)

    assert len(report.sessions) == 201
    assert [problem.what for problem in report.problems] == [
        "Only the first 200 of its subagents were read."
    ]


def test_they_end_at_the_eighth_level(tmp_path: Path) -> None:
    folder = at = sample("openhands_v1", tmp_path)
    event = {"kind": "MessageEvent", "source": "user", "id": "e"}
    for _ in range(12):
        at = at / "subagents" / "deeper"
        (at / "events").mkdir(parents=True)
        (at / "events" / "event-00000-e.json").write_text(json.dumps(event))

    _, report = import_file(folder)

    assert len(report.sessions) == 9
    assert "deeper than 8 levels" in report.problems[-1].what


# V0: one stream


def test_a_delegate_s_events_are_its_own_session(tmp_path: Path) -> None:
    store, report = import_file(sample("openhands_v0_delegate.jsonl", tmp_path))

    main, delegate = report.sessions
    assert report.problems == ()
    assert [text.partition(" ")[2] for text in dialogue(store, delegate.id)] == [
        "TASK: Read the page of releases.",
        "I do browse-1.",
        "Version 2 is the newest.",
    ]
    assert all("browse-1" not in text for text in dialogue(store, main.id))
    assert (sums_of(store, main.id).input, sums_of(store, delegate.id).input) == (
        1_000 + 2_000 + 5_000 + 6_000,
        3_000 + 4_000,
    )
    child = info_of(store, delegate.id)
    assert (child.parent_id, child.title) == (main.id, "BrowsingAgent")
    system = store.get_blob(facts_of(store, delegate.id)["system"]["sha256"])
    assert system == b"You browse."


def test_a_delegate_stands_at_its_call(tmp_path: Path) -> None:
    with open_recording(sample("openhands_v0_delegate.jsonl", tmp_path)) as recording:
        (row,) = recording[0].subagents.table.records()

    assert (row["request"], row["requests"], row["calls"]) == (2, 2, 1)
    assert str(row["call"]).startswith("delegate_to_browsing_agent")
    assert str(row["returned"]).startswith("Delegated agent finished with result")


def changed(path: Path, change: Any) -> Path:
    line = json.loads(path.read_text())
    line["history"] = change(line["history"])
    path.write_text(json.dumps(line) + "\n")
    return path


@pytest.mark.parametrize("kind", ["end without begin", "begin without end"])
def test_a_delegate_that_is_not_whole_costs_nothing_else(kind: str, tmp_path: Path) -> None:
    def change(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        key = "action" if kind == "end without begin" else "observation"
        return [event for event in history if event.get(key) != "delegate"]

    store, report = import_file(changed(sample("openhands_v0_delegate.jsonl", tmp_path), change))

    assert len(report.sessions) == (1 if kind == "end without begin" else 2)
    words = [text for session in report.sessions for text in dialogue(store, session.id)]
    assert "< Version 2 is the newest." in words
    assert "< Version 2." in words


def test_delegates_without_end_are_left_out_at_the_eighth_level(tmp_path: Path) -> None:
    def change(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        (begun,) = (event for event in history if event.get("action") == "delegate")
        place = history.index(begun)
        return [*history[:place], *([begun] * 1_000), *history[place + 1 :]]

    _, report = import_file(changed(sample("openhands_v0_delegate.jsonl", tmp_path), change))

    assert len(report.sessions) == 9
    assert "too many, or too deep" in report.problems[-1].what
