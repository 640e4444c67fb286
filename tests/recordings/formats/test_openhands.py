"""OpenHands: event logs of its SDK and evaluation outputs from before it, made by both programs."""

import json
import shutil
from pathlib import Path

import pytest
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.openhands import OpenHandsImporter
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    MessageRead,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

V1, V0 = SAMPLES / "openhands_v1", SAMPLES / "openhands_v0.jsonl"


def test_a_conversation_of_the_sdk_gives_its_requests_with_usage_and_cost() -> None:
    values, reports = read_all(OpenHandsImporter(), V1)
    begins = only(SessionBegin, values)

    assert reports == []
    assert [(begin.format_version, begin.window, begin.directory) for begin in begins] == [
        ("v1", 200_000, "/home/user/work")
    ]
    assert begins[0].system
    assert [begin.name for begin in begins[0].tools or ()] == ["finish", "think"]
    assert [line_of(message) for message in only(MessageRead, values)] == [
        "Think it over, please.",
        "Step 1. think() think()",
        "Step 2. think()",
        "Step 3. think()",
        "Step 4. think()",
        "Done.",
        "Was it hard?",
        "It was easy.",
    ]
    assert input_tokens(values) == [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]
    assert answers_of(values)[1].usage == Usage(
        input=1_000, output=40, reasoning=10, cache_read=900, cache_write=100
    )
    assert [request.cost for request in answers_of(values)] == [
        0.001,
        0.002,
        0.003,
        0.004,
        0.005,
        0.006,
    ]
    assert [result.call for result in only(ResultRead, values)] == [
        "call_1a",
        "call_1b",
        "call_2a",
        "call_3a",
        "call_4a",
    ]


def test_a_condensation_names_exactly_the_messages_that_it_replaced() -> None:
    values, _ = read_all(OpenHandsImporter(), V1)
    answers = answers_of(values)
    (condensed,) = only(CompactionRead, values)

    assert condensed.replaced_messages == tuple(answer.id for answer in answers[:3])
    assert condensed.summary == "The user greets. Thoughts 1 and 2 were had."
    assert condensed.is_automatic
    assert condensed.usage == Usage(input=900, output=40, reasoning=10, cache_write=100)
    assert values.index(condensed) == values.index(answers[4]) - 1


def test_a_condensation_that_was_asked_for_says_so(tmp_path: Path) -> None:
    events = [json.loads(file.read_bytes()) for file in sorted((V1 / "events").glob("event-*"))]
    place = next(n for n, event in enumerate(events) if event["kind"] == "Condensation")
    asked = {"id": "asked", "kind": "CondensationRequest", "source": "user"}
    (tmp_path / "list.json").write_text(json.dumps([*events[:place], asked, *events[place:]]))

    values, _ = read_all(OpenHandsImporter(), tmp_path / "list.json")

    assert [compaction.is_automatic for compaction in only(CompactionRead, values)] == [False]
    assert len(answers_of(values)) == 6


def test_going_on_from_an_earlier_event_takes_the_later_messages_back(tmp_path: Path) -> None:
    events = [json.loads(file.read_bytes()) for file in sorted((V1 / "events").glob("event-*"))]
    question = events[-2]
    again = {**question, "id": "again", "parent_id": question["parent_id"]}
    (tmp_path / "list.json").write_text(json.dumps([*events, again]))

    values, _ = read_all(OpenHandsImporter(), tmp_path / "list.json")

    assert [removed.messages for removed in only(RemovedRead, values)] == [
        (question["id"], events[-1]["id"])
    ]


def test_a_broken_event_costs_only_itself(tmp_path: Path) -> None:
    folder = shutil.copytree(V1, tmp_path / "kept")
    broken = sorted((folder / "events").glob("event-*"))[1]
    broken.write_text("{")

    values, reports = read_all(OpenHandsImporter(), folder)

    assert len(answers_of(values)) == 6
    assert reports == [f"{broken.name}: It cannot be read as JSON and was left out."]


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder = shutil.copytree(V1, tmp_path / "kept")
    first = sorted((folder / "events").glob("event-*"))[1]
    elsewhere = first.rename(tmp_path / "elsewhere.json")
    first.symlink_to(elsewhere)

    values, reports = read_all(OpenHandsImporter(), folder)

    assert reports == [f"{first.name}: It is a link and was left out."]
    assert "Think it over, please." not in [
        line_of(message) for message in only(MessageRead, values)
    ]


def test_an_evaluation_output_joins_the_events_of_one_response() -> None:
    values, reports = read_all(OpenHandsImporter(), V0)
    begins = only(SessionBegin, values)

    assert reports == []
    assert [(begin.id, begin.system, begin.window) for begin in begins] == [
        ("owner__name-1", "You are OpenHands.", 200_000)
    ]
    assert [begin.name for begin in begins[0].tools or ()] == ["execute_bash"]
    assert [line_of(message) for message in only(MessageRead, values)] == [
        "Mend the program.",
        "I do one. execute_bash() execute_bash()",
        "I do two. execute_bash()",
        "I do three. execute_bash()",
        "It is mended.",
    ]
    assert [result.metadata for result in only(ResultRead, values)] == [
        {"exit_code": 0},
        {"exit_code": 1},
        {"exit_code": 0},
        {"exit_code": 0},
    ]


def test_usage_comes_from_the_metrics_also_for_an_answer_without_calls() -> None:
    values, _ = read_all(OpenHandsImporter(), V0)

    assert input_tokens(values) == [1_000, 2_000, 3_000, 4_000]
    assert [request.usage.cache_read for request in answers_of(values) if request.usage] == [
        0,
        800,
        1_600,
        2_400,
    ]
    assert {request.model for request in answers_of(values)} == {
        "anthropic/claude-sonnet-4-20250514"
    }


def test_a_cost_of_nothing_is_unknown(tmp_path: Path) -> None:
    line = json.loads(V0.read_text())
    line["metrics"]["costs"] = [
        {"model": "m", "cost": cost, "timestamp": 1.0} for cost in (0.0, 0.5, 0.0, 0.25)
    ]
    (tmp_path / "output.jsonl").write_text(json.dumps(line))

    values, _ = read_all(OpenHandsImporter(), tmp_path / "output.jsonl")

    assert [request.cost for request in answers_of(values)] == [None, 0.5, None, 0.25]


def test_a_forgotten_result_of_a_call_that_stays_is_a_reduction(tmp_path: Path) -> None:
    line = json.loads(V0.read_text())
    for event in line["history"]:
        if event.get("action") == "condensation":
            event["args"] = {"forgotten_event_ids": [5]}
    (tmp_path / "output.jsonl").write_text(json.dumps(line))

    values, _ = read_all(OpenHandsImporter(), tmp_path / "output.jsonl")

    assert [(reduced.call, reduced.shown_text) for reduced in only(ReducedRead, values)] == [
        ("toolu_one_0", "")
    ]
    assert only(CompactionRead, values) == []


def test_each_line_is_a_session_and_a_broken_line_costs_only_itself(tmp_path: Path) -> None:
    line = V0.read_text().strip()
    (tmp_path / "output.jsonl").write_text(f'{line}\n{{"instance_id"\n{line}\n')

    values, reports = read_all(OpenHandsImporter(), tmp_path / "output.jsonl")

    assert len(only(SessionBegin, values)) == 2
    assert reports == ["line 2: It is no JSON and was left out."]


def test_events_from_before_function_calls_are_a_request_each(tmp_path: Path) -> None:
    run = {"source": "agent", "action": "run", "args": {"command": "ls", "thought": "Look."}}
    seen = {"source": "agent", "observation": "run", "content": "a b", "cause": 1}
    asked = {"id": 0, "source": "user", "action": "message", "args": {"content": "Look round."}}
    history = [[asked, {"observation": "null"}], [{"id": 1, **run}, {"id": 2, **seen}]]
    line = {"instance_id": "old", "test_result": {}, "history": history}
    (tmp_path / "output.jsonl").write_text(json.dumps(line))

    values, _ = read_all(OpenHandsImporter(), tmp_path / "output.jsonl")

    assert [line_of(message) for message in only(MessageRead, values)] == [
        "Look round.",
        "Look. run()",
    ]
    assert [(result.call, result.output) for result in only(ResultRead, values)] == [
        ("call-1", "a b")
    ]


def test_a_folder_without_events_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no events of OpenHands\.$"):
        list(OpenHandsImporter().read(tmp_path, lambda *_: None))


@pytest.mark.parametrize("summary", [7, True, "I think.", {"text": "I think."}])
def test_a_summary_of_reasoning_that_is_no_list_costs_only_itself(
    tmp_path: Path, summary: object
) -> None:
    """A number in its place ended the whole import."""
    asked: dict[str, object] = {"kind": "MessageEvent", "id": "1", "source": "user"}
    asked["llm_message"] = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
    answered: dict[str, object] = {
        "kind": "MessageEvent",
        "id": "2",
        "parent_id": "1",
        "source": "agent",
    }
    answered["llm_message"] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
        "responses_reasoning_item": {"summary": summary},
    }
    path = tmp_path / "events.json"
    path.write_text(json.dumps([asked, answered]))

    values, _ = read_all(OpenHandsImporter(), path)

    assert [line_of(message) for message in only(MessageRead, values)] == ["Go on.", "Done."]
