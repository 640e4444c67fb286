"""What ``claude -p`` prints: runs of the real program against a scripted provider, with a subagent and a compaction."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import facts_of, import_file
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.claude_code import ClaudeCodeImporter
from palimpsest.recordings.printed_streams import claude_code_stream_index
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    TotalsRead,
    UsageRead,
)
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import RecordedTotals
from palimpsest.transcript.values import Usage

PRINTED = SAMPLES / "printed"
STREAM = PRINTED / "claude.jsonl"
COMPACTION = PRINTED / "claude_compaction.jsonl"
LINES = [json.loads(line) for line in STREAM.read_text().splitlines()]


def read(path: Path) -> list[Recorded]:
    values, reports = read_all(ClaudeCodeImporter(), path)
    assert reports == []
    return values


def write_file(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def outputs(found: list[Recorded]) -> list[int]:
    return [answer.usage.output for answer in answers_of(found) if answer.usage is not None]


def test_records_with_one_message_id_are_one_request() -> None:
    values = read(STREAM)

    assert [line_of(answer) for answer in answers_of(values)] == [
        "I read both. Read() Read()",
        "Agent()",
        "It says alpha; b.txt has 3 words.",
        "Read()",
        "There are 3 words.",
    ]
    assert input_tokens(values) == [1_101, 6_202, 21_505, 11_303, 16_404]
    assert answers_of(values)[1].usage == Usage(
        input=200, output=1, cache_read=5_000, cache_write=1_002
    )


def test_the_first_record_tells_tools_model_folder_version_and_permissions() -> None:
    begin = only(SessionBegin, read(STREAM))[0]
    store, report = import_file(STREAM)

    assert begin.tools is not None
    assert {"Task", "Bash", "Read"} <= {tool.name for tool in begin.tools}
    assert begin.model == "anthropic/claude-sonnet-4-5"
    assert (begin.directory, begin.format_version) == ("/home/user/project", "2.1.197")
    assert begin.permissions == "default"
    notes = [facts_of(store, session.id) for session in report.sessions]
    assert [note.get("permissions") for note in notes] == ["default", None]


def test_the_result_s_totals_are_those_of_all_requests_with_the_subagents() -> None:
    values = read(STREAM)
    prompts = [tokens for tokens in input_tokens(values) if tokens is not None]

    assert only(TotalsRead, values) == [
        TotalsRead(RecordedTotals(cost=0.04003125, input=56_515, cached=50_000, output=115))
    ]
    assert sum(prompts) == 56_515
    sentence = "The recorded totals count the requests of its subagents, too."
    assert [gap.sentence for gap in only(GapRead, values)].count(sentence) == 1
    with open_recording(STREAM) as recording:
        assert recording[0].timeline.recorded_totals.input == 56_515
        (row,) = recording[0].subagents.table.records()
    assert (row["call"], row["requests"], row["input"]) == ("Agent Count the words", 2, 27_707)


def test_a_subagent_is_a_session_of_the_call_that_started_it() -> None:
    values = read(STREAM)
    main, child = only(SessionBegin, values)

    assert (child.parent, child.parent_call) == (main.id, "toolu_2_0")
    started = next(line for line in LINES if line.get("subtype") == "task_started")
    assert child.id == f"{main.id}/{started['task_id']}"
    results = {result.call: result for result in only(ResultRead, values)}
    assert results["toolu_2_0"].session == child.id
    assert results["toolu_1_3"].is_error
    assert results["toolu_3_1"].output == "1\tone two three\n2\t"
    prompts = [message for message in only(MessageRead, values) if message.role == "user"]
    assert [line_of(prompt) for prompt in prompts] == ["Count the words of b.txt"]


def test_a_subagent_s_last_answer_is_taken_from_the_result_of_its_call() -> None:
    answer = answers_of(read(STREAM))[-1]

    assert line_of(answer) == "There are 3 words."
    assert answer.usage == Usage(
        input=400, output=24, cache_read=15_000, cache_write=1_004, cache_write_hour=0
    )


def test_a_last_answer_that_was_printed_itself_is_not_counted_twice(tmp_path: Path) -> None:
    at = next(n for n, line in enumerate(LINES) if "task_updated" in json.dumps(line))
    answer = json.loads(json.dumps(next(line for line in LINES if line["type"] == "assistant")))
    answer["parent_tool_use_id"] = "toolu_2_0"
    answer["message"] |= {"id": "msg_4", "content": [{"type": "text", "text": "There are 3."}]}
    path = write_file(tmp_path / "one.jsonl", [*LINES[:at], answer, *LINES[at:]])

    assert [line_of(found) for found in answers_of(read(path))][-2:] == ["Read()", "There are 3."]


def test_events_of_an_answer_are_no_second_count_and_tell_its_length() -> None:
    values = read(PRINTED / "claude_partial.jsonl")

    assert input_tokens(values) == input_tokens(read(STREAM))
    # The scripted lengths are 20 and the number of the request; a subagent's events are not printed.
    assert outputs(values) == [21, 22, 25, 1, 24]
    assert [answer.finish for answer in answers_of(values)][:3] == [
        "tool-calls",
        "tool-calls",
        "stop",
    ]


def test_without_events_a_gap_says_that_lengths_are_those_of_the_beginning() -> None:
    counted = "are those counted when it began"
    gaps = {
        name: [
            gap.message for gap in only(GapRead, read(PRINTED / name)) if counted in gap.sentence
        ]
        for name in ("claude.jsonl", "claude_partial.jsonl")
    }

    assert outputs(read(STREAM)) == [1, 1, 1, 1, 24]
    assert gaps == {"claude.jsonl": ["msg_1", "msg_3"], "claude_partial.jsonl": ["msg_3"]}


def test_a_turn_of_one_request_has_the_tokens_of_its_result() -> None:
    values = read(COMPACTION)

    assert only(UsageRead, values) == [
        UsageRead(
            "msg_7",
            Usage(input=700, output=27, cache_read=30_000, cache_write=1_007, cache_write_hour=0),
        )
    ]


def test_a_result_with_another_prompt_says_nothing_of_the_request(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in COMPACTION.read_text().splitlines()]
    assert lines[-1]["type"] == "result"
    lines[-1]["usage"]["input_tokens"] += 1
    path = write_file(tmp_path / "one.jsonl", lines)

    assert only(UsageRead, read(path)) == []


def test_a_boundary_is_a_compaction_with_its_summary_and_what_it_kept() -> None:
    values = read(COMPACTION)
    (compaction,) = only(CompactionRead, values)

    assert compaction.summary is not None
    assert "Two files were read." in compaction.summary
    assert (compaction.is_automatic, compaction.tokens_before) == (False, 21_530)
    assert compaction.keeps_from == "msg_5"
    prompts = [message for message in only(MessageRead, values) if message.role == "user"]
    assert [line_of(prompt) for prompt in prompts if not prompt.by_program] == [
        "What is in a.txt, and how long is b.txt?",
        "Thank you",
        "Count the words of b.txt",
    ]


def test_totals_of_later_turns_count_everything_so_far() -> None:
    values = read(COMPACTION)

    assert [value.totals.input for value in only(TotalsRead, values)] == [56_515, 83_121, 114_828]
    assert only(TotalsRead, values)[-1].totals.cost == 0.068775


@pytest.mark.parametrize("cost", [0.01, 0.07], ids=["cheaper", "dearer"])
def test_a_second_program_that_printed_to_the_same_file_adds_its_totals(
    tmp_path: Path, cost: float
) -> None:
    again = json.loads(json.dumps(LINES[-1]))
    again["total_cost_usd"] = cost
    again["usage"] = {"input_tokens": 5, "output_tokens": 130, "cache_read_input_tokens": 60_000}
    again["modelUsage"] = {
        "m": {"inputTokens": 5, "outputTokens": 130, "cacheReadInputTokens": 60_000}
    }
    path = write_file(tmp_path / "two.jsonl", [*LINES, again])

    totals = only(TotalsRead, read(path))[-1].totals
    assert totals == RecordedTotals(
        cost=0.04003125 + cost, input=116_520, cached=110_000, output=245
    )


def test_turns_of_older_versions_are_added_up(tmp_path: Path) -> None:
    def older(line: Any, cost: float) -> Any:
        return {k: v for k, v in line.items() if k != "modelUsage"} | {"total_cost_usd": cost}

    path = write_file(
        tmp_path / "old.jsonl", [*LINES[:-1], older(LINES[-1], 1), older(LINES[-1], 2)]
    )

    assert [value.totals for value in only(TotalsRead, read(path))] == [
        RecordedTotals(cost=1, input=28_808, cached=25_000, output=68),
        RecordedTotals(cost=2, input=57_616, cached=50_000, output=136),
    ]


def test_one_list_of_all_messages_reads_like_lines() -> None:
    values = read(PRINTED / "claude_list.json")

    assert input_tokens(values) == input_tokens(read(STREAM))
    assert len(only(SessionBegin, values)) == 2
    assert only(TotalsRead, values)[0].totals.output == 115


def test_a_result_alone_is_the_last_answer() -> None:
    values = read(PRINTED / "claude_result.json")

    assert [line_of(answer) for answer in answers_of(values)] == [
        "It says alpha; b.txt has 3 words."
    ]
    assert input_tokens(values) == [None]
    assert only(TotalsRead, values)[0].totals.input == 56_515
    assert "Only the last answer of the session is in the recording." in [
        gap.sentence for gap in only(GapRead, values)
    ]


def test_a_failed_request_has_its_error_and_no_tokens() -> None:
    values = read(PRINTED / "claude_failed.jsonl")
    (answer,) = answers_of(values)

    assert (answer.finish, answer.error) == ("error", "API Error: 400 It fails.")
    assert answer.usage is None
    assert only(TotalsRead, values) == []


def test_a_stream_whose_first_line_is_lost_is_recognised_and_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "cut.jsonl", LINES[1:])
    path.write_text('"Read"],"model":"x"}\n' + path.read_text())

    values, reports = read_all(ClaudeCodeImporter(), path)

    assert input_tokens(values) == input_tokens(read(STREAM))
    assert [report.partition(":")[0] for report in reports] == ["line 1"]


def test_the_like_of_another_program_is_not_taken(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "other.jsonl",
        [
            {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "s", "model": "m"},
            {"type": "assistant", "message": {"role": "assistant"}, "session_id": "s"},
            {"type": "tool_call", "subtype": "started", "call_id": "c", "session_id": "s"},
            {"type": "result", "subtype": "success", "result": "Yes.", "session_id": "s"},
        ],
    )

    with pytest.raises(UserError, match="holds no session that can be imported"):
        import_file(path)


def test_many_tools_in_the_first_record_hide_no_session(tmp_path: Path) -> None:
    tools = [f"mcp__server__tool_{n}" for n in range(5_000)]
    path = write_file(tmp_path / "many.jsonl", [{**LINES[0], "tools": tools}, *LINES[1:]])

    begin = only(SessionBegin, read(path))[0]

    assert path.stat().st_size > 100_000
    assert begin.tools is not None
    assert len(begin.tools) == 5_000


def test_a_stream_that_was_cut_after_its_first_line_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "cut.jsonl", LINES[:1])

    with pytest.raises(UserError, match=r"'cut\.jsonl' holds no message of Claude Code"):
        import_file(path)


def test_a_prompt_that_was_not_printed_is_a_gap() -> None:
    sentence = "The prompt is not in the recording."
    counts = [
        [gap.sentence for gap in only(GapRead, read(PRINTED / name))].count(sentence)
        for name in ("claude.jsonl", "claude_compaction.jsonl")
    ]

    assert counts == [1, 0]


def test_a_stream_that_grew_adds_what_is_new(tmp_path: Path) -> None:
    text = COMPACTION.read_text().splitlines(keepends=True)
    path = tmp_path / "one.jsonl"
    end = next(n for n, line in enumerate(text) if line.startswith('{"type":"result"'))
    path.write_text("".join(text[: end + 1]))
    store, before = import_file(path)

    path.write_text("".join(text))
    _, after = import_file(path, store)

    assert [session.outcome for session in before.sessions] == ["new", "new"]
    assert [session.outcome for session in after.sessions] == ["updated", "same"]
    assert [session.id for session in after.sessions] == [session.id for session in before.sessions]


def test_only_so_many_subagents_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code_stream_index, "MAX_THREADS", 1)

    values, reports = read_all(ClaudeCodeImporter(), STREAM)

    assert len(only(SessionBegin, values)) == 1
    assert reports == [": Only the first 1 of its sessions and subagents were read."]
