"""Kimi CLI's events give each step as a request, with its subagents, compactions and cleared contexts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import dialogue, facts_of, import_file, sums_of
from tests.recordings.formats.reading import answers_of, input_tokens, only, read_all
from tests.recordings.formats.recording import requests_of
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.format_parts.kimi_contexts import COMPACTED_TEXT
from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.formats.kimi_cli import KimiCliImporter
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
)
from palimpsest.recordings.reading.sources import head_of
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

NAME = "84d6340d-a2ab-4b23-80e9-9055e61f92da"
REAL = SAMPLES / "kimi_cli" / NAME
"""Written by Kimi CLI 1.49.0 with its scripted provider, in four runs: a prompt, one that is compacted, /clear, another."""
AGENT = "ae269a91e"


def sessions_in(path: Path) -> dict[str, list[Recorded]]:
    """Return the values of each session."""
    values, reports = read_all(KimiCliImporter(), path)
    assert reports == []
    by_session: dict[str, list[Recorded]] = {}
    name = ""
    for value in values:
        if isinstance(value, SessionBegin):
            name = value.id
        by_session.setdefault(name, []).append(value)
    return by_session


def wire(path: Path, *events: tuple[str, Any]) -> Path:
    """Write events as a file without a header, as the first versions did."""
    lines = [
        {"timestamp": 1_795_000_000 + n, "message": {"type": kind, "payload": payload}}
        for n, (kind, payload) in enumerate(events)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def text(words: str) -> tuple[str, Any]:
    return "ContentPart", {"type": "text", "text": words}


def call(name: str, tool: str = "Shell", arguments: str | None = "{}") -> tuple[str, Any]:
    return "ToolCall", {
        "type": "function",
        "id": name,
        "function": {"name": tool, "arguments": arguments},
    }


def result(name: str, output: Any, message: str = "") -> tuple[str, Any]:
    value = {"is_error": False, "output": output, "message": message}
    return "ToolResult", {"tool_call_id": name, "return_value": value}


def used(tokens: int, output: int = 1) -> tuple[str, Any]:
    return "StatusUpdate", {"token_usage": {"input_other": tokens, "output": output}}


def begin(words: str) -> tuple[str, Any]:
    return "TurnBegin", {"user_input": words}


STEP: tuple[str, Any] = ("StepBegin", {"n": 1})
END: tuple[str, Any] = ("TurnEnd", {})


def test_each_step_is_a_request_with_its_usage() -> None:
    main = sessions_in(REAL)[NAME]

    head = main[0]
    assert isinstance(head, SessionBegin)
    assert (head.window, head.system) == (
        100_000,
        "You are Kimi Code CLI, an interactive general AI agent running on a user's computer.",
    )
    assert [request.usage for request in answers_of(main)] == [
        Usage(input=3000, output=40),
        Usage(input=200, output=60, cache_read=3000),
        Usage(input=88000, output=10, cache_read=3200),
        Usage(input=2500, output=15),
        Usage(input=2100, output=5),
    ]
    assert [request.finish for request in answers_of(main)][:3] == [
        "tool-calls",
        "tool-calls",
        "stop",
    ]


def test_results_are_as_the_model_was_shown_them() -> None:
    results = only(ResultRead, sessions_in(REAL)[NAME])

    assert [(found.call, found.is_error) for found in results] == [
        ("call_2", True),
        ("call_1", False),
        ("call_3", False),
    ]
    assert results[0].output == "<system>ERROR: Command failed with exit code: 3.</system>"
    assert results[1].output.endswith("reached.</system>     1\tone\n     2\ttwo\n")


def test_a_subagent_is_a_child_of_its_call() -> None:
    sessions = sessions_in(REAL)

    assert list(sessions) == [NAME, f"{NAME}.{AGENT}"]
    child = sessions[f"{NAME}.{AGENT}"]
    head = child[0]
    assert isinstance(head, SessionBegin)
    assert (head.parent, head.parent_call) == (NAME, "call_3")
    assert input_tokens(child) == [900, 1000]
    assert only(ResultRead, sessions[NAME])[2].session == f"{NAME}.{AGENT}"


def test_a_compaction_has_the_summary_and_what_it_kept_from_the_context_files() -> None:
    main = sessions_in(REAL)[NAME]

    assert only(CompactionRead, main) == [
        CompactionRead(
            "c1",
            "The user asked about notes.txt, which has two lines.",
            keeps_from="m4",
            created=1795991866463,
            tokens_before=91_200,
            tokens_after=39,
        )
    ]
    assert [[shown.text for shown in request] for request in requests_of(main)][3:] == [
        [
            "The user asked about notes.txt, which has two lines.",
            "It has two lines.",
            "Which line is longer?",
        ],
        ["Say hello."],
        ["Say hello.", "Hello."],
    ]


def test_a_command_is_no_message_and_clear_takes_back_all_messages() -> None:
    main = sessions_in(REAL)[NAME]

    assert only(RemovedRead, main) == [
        RemovedRead(("m1", "m2", "m3", "m4", "m5", "c1", "m6"), 1795991873525)
    ]
    prompts = [
        message.parts[0].text
        for message in only(MessageRead, main)
        if message.role == "user" and isinstance(message.parts[0], Text)
    ]
    assert prompts == ["How many lines has notes.txt?", "Which line is longer?", "Say hello."]


def test_a_request_after_a_cleared_context_has_no_earlier_item() -> None:
    with open_recording(REAL) as recording:
        timeline = recording[0].timeline

    gone = {change.item for change in timeline.transitions if change.state == "reverted"}
    left = [item.kind for item in timeline.items if item.index not in gone]
    assert [(event.request, event.kind) for event in timeline.events] == [
        (3, "compact"),
        (4, "undo"),
    ]
    assert left == ["user", "assistant"]


def test_totals_of_the_imported_sessions() -> None:
    with open_recording(REAL) as recording:
        assert recording.problems == ()
        timelines = [review.timeline for review in recording]

    usages = [[request.usage for request in timeline.requests] for timeline in timelines]
    totals = [
        (
            len(found),
            sum(usage.prompt for usage in found if usage),
            sum(usage.cache_read for usage in found if usage),
            sum(usage.output for usage in found if usage),
        )
        for found in usages
    ]
    assert totals == [(5, 102_000, 6_200, 130), (2, 1_900, 900, 250)]


def test_the_imported_session_names_its_agent_and_shows_what_is_left() -> None:
    store, report = import_file(REAL)

    main, child = (session.id for session in report.sessions)
    assert dialogue(store, main) == ["> Say hello.", "< Hello."]
    assert (facts_of(store, child)["from"], facts_of(store, child)["parent_call"]) == (
        "kimi-cli",
        "call_3",
    )


def test_a_folder_of_sessions_brings_each_once(tmp_path: Path) -> None:
    shutil.copytree(REAL, tmp_path / "sessions" / "0123" / NAME)

    contents = REGISTRY.contents(tmp_path)
    store, report = import_file(tmp_path)

    assert [path.name for path, _ in contents.recordings] == [NAME]
    assert contents.unrecognised_files == ()
    assert len(report.sessions) == 2
    assert {sums_of(store, session.id).requests for session in report.sessions} == {1, 2}


def test_without_the_files_beside_it_the_events_alone_are_read(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    shutil.copy(REAL / "wire.jsonl", path)

    sessions = sessions_in(path)

    assert list(sessions) == ["one", f"one.{AGENT}"]
    assert input_tokens(sessions[f"one.{AGENT}"]) == [900, 1000]
    compaction = only(CompactionRead, sessions["one"])[0]
    assert (compaction.summary, compaction.keeps_from) == (None, "m4")
    assert "The messages that a compaction kept are not known." in [
        gap.sentence for gap in only(GapRead, sessions["one"])
    ]


def test_a_compaction_is_told_from_another_one_by_what_it_kept(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    end: tuple[str, Any] = ("CompactionEnd", {})
    wire(
        folder / "wire.jsonl",
        begin("One."),
        STEP,
        text("1"),
        used(9),
        begin("Two."),
        STEP,
        end,
        text("2"),
        used(9),
        begin("Three."),
        STEP,
        end,
        text("3"),
        used(9),
    )
    lines = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": COMPACTED_TEXT},
                {"type": "text", "text": "So far."},
            ],
        },
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "Three."},
        {"role": "_usage", "token_count": 20},
    ]
    (folder / "context.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    first, second = only(CompactionRead, sessions_in(folder)["two"])

    assert (first.summary, first.keeps_from) == (None, "m2")
    assert (second.summary, second.keeps_from, second.tokens_after) == ("So far.", "m4", 20)


def test_links_beside_the_events_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "linked"
    folder.mkdir()
    shutil.copy(REAL / "wire.jsonl", folder)
    (folder / "context_2.jsonl").symlink_to(REAL / "context_2.jsonl")
    (folder / "subagents").symlink_to(REAL / "subagents")

    sessions = sessions_in(folder / "wire.jsonl")

    assert only(CompactionRead, sessions["linked"])[0].summary is None
    head = sessions[f"linked.{AGENT}"][0]
    assert isinstance(head, SessionBegin)
    assert head.system is None


def test_an_agent_in_the_background_is_known_by_its_id_in_the_result(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    wire(
        folder / "wire.jsonl",
        begin("Go."),
        STEP,
        call("c1", "Agent"),
        used(10),
        result("c1", "task_id: t\nagent_id: a77\nstatus: running"),
    )
    wire(folder / "subagents" / "a77" / "wire.jsonl", begin("Look."), STEP, text("Seen."), used(7))

    sessions = sessions_in(folder)

    head = sessions["main.a77"][0]
    assert isinstance(head, SessionBegin)
    assert (head.parent, head.parent_call) == ("main", "c1")
    assert only(ResultRead, sessions["main"])[0].session == "main.a77"
    assert input_tokens(sessions["main.a77"]) == [7]


def test_older_events_name_a_subagent_by_its_call(tmp_path: Path) -> None:
    def inner(kind: str, payload: Any) -> tuple[str, Any]:
        return "SubagentEvent", {
            "task_tool_call_id": "c1",
            "event": {"type": kind, "payload": payload},
        }

    path = wire(
        tmp_path / "old" / "wire.jsonl",
        begin("Go."),
        STEP,
        call("c1", "Task"),
        used(10),
        inner(*begin("Look.")),
        inner(*STEP),
        inner(*text("Seen.")),
        inner(*used(7)),
        result("c1", "Seen."),
    )

    sessions = sessions_in(path)

    assert only(ResultRead, sessions["old"])[0].session == "old.c1"
    assert input_tokens(sessions["old.c1"]) == [7]


def test_a_result_before_the_usage_comes_after_its_answer(tmp_path: Path) -> None:
    path = wire(
        tmp_path / "w.jsonl",
        begin("Go."),
        STEP,
        call("c1", arguments='{"com'),
        ("ToolCallPart", {"arguments_part": 'mand": "ls"}'}),
        result("c1", [{"type": "text", "text": "a.txt"}], "Done."),
        used(10),
        STEP,
        text("One file."),
        used(20),
    )

    values = sessions_in(path)["w"]

    answer, listing, last = [
        value
        for value in values
        if isinstance(value, ResultRead)
        or (isinstance(value, MessageRead) and value.role == "assistant")
    ]
    assert isinstance(answer, MessageRead)
    assert answer.parts == (Call("c1", "Shell", {"command": "ls"}),)
    assert isinstance(listing, ResultRead)
    assert listing.output == "<system>Done.</system>a.txt"
    assert isinstance(last, MessageRead)
    assert input_tokens(values) == [10, 20]


def test_what_was_sent_between_and_what_failed_is_told(tmp_path: Path) -> None:
    path = wire(
        tmp_path / "w.jsonl",
        begin("Go."),
        STEP,
        text("Half of"),
        ("StepRetry", {"n": 1, "next_attempt": 2}),
        text("A whole answer."),
        used(10),
        ("SteerInput", {"user_input": "And quickly."}),
        STEP,
        text("Qui"),
        ("StepInterrupted", {}),
        END,
        begin("Blocked by a hook."),
        text("No."),
        END,
        ("BtwEnd", {"id": "1", "response": "x"}),
        ("Unknown", {"x": 1}),
    )

    values = sessions_in(path)["w"]

    assert [[shown.text for shown in request] for request in requests_of(values)] == [
        ["Go."],
        ["Go.", "A whole answer.", "And quickly."],
        ["Go.", "A whole answer.", "And quickly.", "Qui"],
    ]
    assert [(request.finish, request.usage) for request in answers_of(values)] == [
        ("stop", Usage(input=10, output=1)),
        ("aborted", None),
    ]
    assert [gap.sentence for gap in only(GapRead, values)][3:] == [
        "An attempt that failed and was sent again is not in the recording.",
        "Requests of side questions (/btw) are not in the recording.",
    ]


def test_a_compaction_by_command_is_not_automatic(tmp_path: Path) -> None:
    path = wire(
        tmp_path / "w.jsonl",
        begin("Go."),
        STEP,
        text("Gone."),
        used(10),
        END,
        begin("/compact"),
        ("CompactionBegin", {}),
        ("CompactionEnd", {}),
        text("The context has been compacted."),
        END,
    )

    (compaction,) = only(CompactionRead, sessions_in(path)["w"])

    assert (compaction.is_automatic, compaction.keeps_from) == (False, "m1")


def test_broken_lines_and_wrong_numbers_cost_only_themselves(tmp_path: Path) -> None:
    lines = (REAL / "wire.jsonl").read_text().splitlines()
    lines[8:8] = ["{broken", "7"]
    path = tmp_path / "wire.jsonl"
    path.write_text("\n".join(lines).replace('"input_other": 88000', '"input_other": -1'))

    _, report = import_file(path)

    assert [problem.where for problem in report.problems] == [
        "wire.jsonl, line 9",
        "wire.jsonl, line 10",
        "wire.jsonl, request 3",
    ]
    assert [session.messages for session in report.sessions] == [2, 3]


def test_other_files_are_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_text('{"type": "session", "message": {"type": "TurnBegin"}}\n')

    assert not KimiCliImporter().recognises(head_of(tmp_path / "wire.jsonl"))
    assert not KimiCliImporter().recognises(head_of(tmp_path))


def test_a_file_without_events_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_text('{"type": "metadata", "protocol_version": "1.10"}\n')

    with pytest.raises(UserError, match=r"holds no event of Kimi CLI\.$"):
        list(KimiCliImporter().read(path, lambda _place, _what: None))
