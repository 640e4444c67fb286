"""What ``codex exec --json`` prints, in five versions of the real program, against a scripted provider."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.codex import CodexImporter
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    TotalsRead,
)
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.transcript.timeline import RecordedTotals
from palimpsest.transcript.values import Usage

PRINTED = SAMPLES / "printed"
EVENTS = PRINTED / "codex.jsonl"
THREAD = {"type": "thread.started", "thread_id": "t"}
OLD = {"workdir": "/w", "model": "gpt-5", "provider": "openai"}


def read(path: Path) -> list[Recorded]:
    values, reports = read_all(CodexImporter(), path)
    assert reports == []
    return values


def write_file(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def item(event: str = "item.completed", /, **fields: Any) -> Any:
    return {"type": event, "item": {"id": "item_0", **fields}}


def calls(found: list[Recorded]) -> list[Call]:
    return [part for answer in answers_of(found) for part in answer.parts if isinstance(part, Call)]


def test_items_up_to_a_result_are_one_answer() -> None:
    values = read(EVENTS)

    assert [line_of(answer) for answer in answers_of(values)] == [
        "I read both. shell()",
        "shell()",
        "apply_patch()",
        "It says alpha; b.txt was written.",
    ]
    results = {result.output: result for result in only(ResultRead, values)}
    assert results["alpha\n"].metadata == {"exit_code": 0}
    assert results["cat: missing.txt: No such file or directory\n"].is_error


def test_no_request_gets_tokens_and_the_turn_s_are_a_total() -> None:
    values = read(EVENTS)

    assert input_tokens(values) == [None] * 4
    assert only(TotalsRead, values) == [
        TotalsRead(RecordedTotals(input=10_000, cached=1_000, output=80))
    ]
    gaps = " ".join(gap.sentence for gap in only(GapRead, values))
    for sentence in (
        "The requests are not recorded",
        "The prompts, the model",
        "of the whole thread",
    ):
        assert sentence in gaps


def test_the_tokens_of_a_resumed_thread_are_not_added_to_those_before(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text(EVENTS.read_text() + (PRINTED / "codex_resumed.jsonl").read_text())

    values = read(path)

    # Four requests with 10,000 tokens, then one with 5,000, which the program prints as 15,000.
    assert len(only(SessionBegin, values)) == 1
    assert line_of(answers_of(values)[-1]) == "You are welcome."
    assert len({message.id for message in only(MessageRead, values)}) == 5
    with open_recording(path) as recording:
        totals = recording[0].timeline.recorded_totals
    assert totals == RecordedTotals(input=15_000, cached=1_500, output=100)


def test_two_threads_in_one_file_are_two_sessions(tmp_path: Path) -> None:
    other = THREAD | {"thread_id": "u"}
    text = item(type="agent_message", text="Yes.")

    values = read(write_file(tmp_path / "a.jsonl", THREAD, text, other, text))

    assert [begin.id for begin in only(SessionBegin, values)] == ["t", "u"]
    assert [message.id for message in answers_of(values)] == ["m1", "m1"]


@pytest.mark.parametrize(
    ("fields", "tool", "output"),
    [
        (
            {
                "type": "mcp_tool_call", "server": "s", "tool": "find", "arguments": {"q": 1},
                "result": {"content": [{"type": "text", "text": "found"}]}, "status": "completed",
            },
            "s__find",
            "found",
        ),
        (
            {
                "type": "mcp_tool_call", "server": "s", "tool": "find", "arguments": {},
                "result": None, "error": {"message": "no server"}, "status": "failed",
            },
            "s__find",
            "no server",
        ),
        ({"type": "web_search", "query": "x"}, "web_search", ""),
        (
            {
                "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Count",
                "receiver_thread_ids": ["u"], "agents_states": {"u": {"status": "running"}},
            },
            "spawn_agent",
            '{"u": {"status": "running"}}',
        ),
    ],
)  # fmt: skip
def test_calls_of_other_kinds_have_their_tool_and_their_output(
    fields: Any, tool: str, output: str, tmp_path: Path
) -> None:
    values = read(write_file(tmp_path / "a.jsonl", THREAD, item(**fields)))

    assert [call.tool for call in calls(values)] == [tool]
    assert [result.output for result in only(ResultRead, values)] == [output]
    assert [gap for gap in only(GapRead, values) if gap.call] == []


def test_an_output_that_is_not_printed_is_a_gap() -> None:
    values = read(EVENTS)
    (patch,) = [call for call in calls(values) if call.tool == "apply_patch"]

    assert [gap.call for gap in only(GapRead, values) if gap.call] == [patch.id]


def test_each_change_of_a_plan_is_a_call_and_its_end_is_none(tmp_path: Path) -> None:
    plan = {"type": "todo_list", "items": [{"text": "Read", "completed": False}]}
    path = write_file(
        tmp_path / "a.jsonl",
        THREAD,
        item("item.started", **plan),
        item("item.updated", **plan),
        item("item.completed", **plan),
    )

    assert [call.tool for call in calls(read(path))] == ["update_plan", "update_plan"]


@pytest.mark.parametrize(("name", "total"), [("codex_44.jsonl", 10_000), ("codex_42.jsonl", None)])
def test_the_first_versions_with_items_are_read(name: str, total: int | None) -> None:
    values = read(PRINTED / name)

    assert [line_of(answer) for answer in answers_of(values)] == [
        "I read both. shell()",
        "shell()",
        "update_plan()",
        "apply_patch()",
        "It says alpha; b.txt was written.",
    ]
    assert input_tokens(values) == [None] * 5
    assert [value.totals.input for value in only(TotalsRead, values)] == ([total] if total else [])


def test_a_failed_turn_has_its_error() -> None:
    (answer,) = answers_of(read(PRINTED / "codex_failed.jsonl"))

    assert answer.finish == "error"
    assert answer.error is not None
    assert "It fails." in answer.error


def test_an_item_of_an_unknown_kind_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", THREAD, item(type="new_kind"))

    _, reports = read_all(CodexImporter(), path)

    assert reports == [
        "line 2: It is of the kind 'new_kind', which is not known, and was left out."
    ]


@pytest.mark.parametrize("name", ["codex_39.jsonl", "codex_20.jsonl"])
def test_older_versions_print_the_tokens_of_each_request(name: str) -> None:
    values = read(PRINTED / name)
    begin = only(SessionBegin, values)[0]

    assert [line_of(message) for message in only(MessageRead, values)] == [
        "What is in a.txt, and how long is b.txt?",
        "I read both. shell() shell()",
        "update_plan()",
        "apply_patch()",
        "It says alpha; b.txt was written.",
    ]
    assert input_tokens(values) == [1_000, 2_000, 3_000, 4_000]
    assert answers_of(values)[1].usage == Usage(input=1_800, output=15, reasoning=5, cache_read=200)
    assert [result.output for result in only(ResultRead, values)][:2] == [
        "alpha\n",
        "cat: missing.txt: No such file or directory\n",
    ]
    assert (begin.model, begin.directory) == ("scripted/gpt-5-codex", "/home/user/project")
    assert begin.permissions == "never"
    assert begin.window == (272_000 if name == "codex_39.jsonl" else None)


def test_a_report_that_is_printed_twice_is_counted_once(tmp_path: Path) -> None:
    lines = (PRINTED / "codex_39.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "one.jsonl"
    path.write_text("".join(line * (2 if '"token_count"' in line else 1) for line in lines))

    assert input_tokens(read(path)) == [1_000, 2_000, 3_000, 4_000]


def test_a_second_run_of_an_older_version_is_another_session(tmp_path: Path) -> None:
    text = (PRINTED / "codex_39.jsonl").read_text()
    (tmp_path / "two.jsonl").write_text(text * 2)

    values = read(tmp_path / "two.jsonl")

    assert [begin.id for begin in only(SessionBegin, values)] == ["two", "two-2"]
    assert input_tokens(values) == [1_000, 2_000, 3_000, 4_000] * 2


@pytest.mark.parametrize(
    ("result", "output", "is_error"),
    [
        ({"Ok": {"content": [{"type": "text", "text": "found"}]}}, "found", False),
        ({"Ok": {"content": [{"type": "text", "text": "no"}], "isError": True}}, "no", True),
        ({"Err": "no server"}, "no server", True),
    ],
)
def test_calls_of_servers_in_older_versions(
    result: Any, output: str, *, is_error: bool, tmp_path: Path
) -> None:
    called = {"call_id": "c", "invocation": {"server": "s", "tool": "find", "arguments": {}}}
    path = write_file(
        tmp_path / "a.jsonl",
        OLD,
        {"id": "0", "msg": {"type": "mcp_tool_call_begin", **called}},
        {"id": "0", "msg": {"type": "mcp_tool_call_end", **called, "result": result}},
    )

    values = read(path)

    (answer,) = only(ResultRead, values)
    assert [call.tool for call in calls(values)] == ["s__find"]
    assert (answer.output, answer.is_error) == (output, is_error)


def test_what_an_older_version_printed_of_an_error_ends_the_answer(tmp_path: Path) -> None:
    failure = {"id": "0", "msg": {"type": "error", "message": "It fails."}}

    (answer,) = answers_of(read(write_file(tmp_path / "a.jsonl", OLD, failure)))

    assert (answer.finish, answer.error) == ("error", "It fails.")


@pytest.mark.parametrize("name", ["codex.jsonl", "codex_39.jsonl"])
def test_a_cut_stream_grows(name: str, tmp_path: Path) -> None:
    lines = (PRINTED / name).read_text().splitlines(keepends=True)
    ends = ('"turn.completed"', '"token_count"')
    end = next(n for n, line in enumerate(lines) if any(mark in line for mark in ends))
    more = (PRINTED / "codex_resumed.jsonl").read_text() if name == "codex.jsonl" else ""
    path = tmp_path / "one.jsonl"
    path.write_text("".join(lines[: end + 1]))
    store, before = import_file(path)

    path.write_text("".join(lines) + more)
    _, after = import_file(path, store)

    assert [session.outcome for session in before.sessions] == ["new"]
    assert [session.outcome for session in after.sessions] == ["updated"]
