"""Gemini CLI: a chat made by its own recorder, with a rewind, a masked result and a compression."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES, sample

from palimpsest.recordings.formats.gemini_cli import GeminiCliImporter
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    TitleRead,
)
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.transcript.values import Usage

CHAT = SAMPLES / "gemini_cli.jsonl"


def test_records_with_one_id_are_one_request() -> None:
    values, reports = read_all(GeminiCliImporter(), CHAT)

    assert reports == []
    assert [begin.id for begin in only(SessionBegin, values)] == [
        "5f0e7d1c-0000-4000-8000-000000000001"
    ]
    assert [line_of(message) for message in only(MessageRead, values)] == [
        "What is in a.txt?",
        "I read it. read_file()",
        "It says alpha.",
        "And what is in b.txt?",
        "I will not tell.",
        "Please say what is in b.txt.",
        "read_file()",
        "It says beta.",
        "Thanks. Which is shorter?",
        "b.txt.",
    ]
    assert input_tokens(values) == [5_000, 8_000, 8_100, 8_200, 5_300, 2_100]
    assert [title.title for title in only(TitleRead, values)] == ["Two files were compared."]


def test_cached_tokens_are_part_of_the_input_and_thoughts_beside_the_output() -> None:
    values, _ = read_all(GeminiCliImporter(), CHAT)

    assert answers_of(values)[3].usage == Usage(
        input=200, output=30, reasoning=20, cache_read=8_000
    )


def test_a_rewind_takes_back_what_followed() -> None:
    values, _ = read_all(GeminiCliImporter(), CHAT)

    assert [removed.messages for removed in only(RemovedRead, values)] == [("u2", "g3")]


def test_a_result_that_was_masked_later_keeps_its_whole_output() -> None:
    values, _ = read_all(GeminiCliImporter(), CHAT)
    (masked,) = only(ReducedRead, values)

    assert only(ResultRead, values)[0].output == "alpha " * 2_000
    assert (masked.call, masked.rule) == ("read-1", "gemini.mask")
    assert masked.shown_text.startswith("<tool_output_masked>")
    assert values.index(masked) > values.index(answers_of(values)[3])


def test_a_compression_names_what_it_replaced_and_its_made_up_answer_is_a_gap() -> None:
    values, _ = read_all(GeminiCliImporter(), CHAT)
    (compressed,) = only(CompactionRead, values)

    assert compressed.summary == "<state_snapshot>Both files were read.</state_snapshot>"
    assert compressed.replaced_messages == ("u1", "g1", "g2")
    assert [gap.chars for gap in only(GapRead, values)] == [56]


def test_a_whole_document_reads_like_lines(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in CHAT.read_text().splitlines()]
    last = {record["id"]: record for record in lines if "id" in record}
    document = {**lines[0], "messages": list(last.values()), "summary": "A title."}
    (tmp_path / "session-1.json").write_text(json.dumps(document, indent=2))

    values, reports = read_all(GeminiCliImporter(), tmp_path / "session-1.json")

    assert reports == []
    assert input_tokens(values) == [5_000, 8_000, 8_100, 8_200, 5_300, 2_100]
    assert [begin.id for begin in only(SessionBegin, values)] == [lines[0]["sessionId"]]
    assert [title.title for title in only(TitleRead, values)] == ["A title."]


@pytest.mark.parametrize("summed_up", [True, False])
def test_a_thought_among_the_parts_of_an_answer_is_no_text_and_is_told_once(
    tmp_path: Path, *, summed_up: bool
) -> None:
    header = CHAT.read_text().splitlines()[0]
    answer = {
        "id": "g", "type": "gemini", "tokens": {"input": 10, "output": 2, "cached": 0},
        "content": [{"text": "To be read.", "thought": True}, {"text": "I read it."}],
        "thoughts": [{"subject": "Reading", "description": ""}] if summed_up else [],
    }  # fmt: skip
    (tmp_path / "one.jsonl").write_text(f"{header}\n{json.dumps(answer)}\n")

    (request,) = answers_of(read_all(GeminiCliImporter(), tmp_path / "one.jsonl")[0])

    thought = "Reading" if summed_up else "To be read."
    assert request.parts == (Thinking(thought), Text("I read it."))


def test_a_number_that_is_none_in_a_later_record_of_an_answer_is_told(tmp_path: Path) -> None:
    header = CHAT.read_text().splitlines()[0]

    def turn(name: str, tokens: dict[str, Any]) -> list[dict[str, Any]]:
        answer = {"id": name, "type": "gemini", "content": "Yes.", "tokens": tokens}
        return [{"id": f"u{name}", "type": "user", "content": "Well?"}, answer]

    known = {"input": 10, "output": 2, "cached": 0}
    records = [*turn("a", known), *turn("b", known)]
    records += [{"id": "u", "type": "user", "content": "And?"}, turn("a", {"input": "many"})[1]]
    lines = [header, *map(json.dumps, records)]
    (tmp_path / "one.jsonl").write_text("\n".join(lines) + "\n")

    _, report = import_file(tmp_path / "one.jsonl")

    assert any("input is 'many'" in problem.what for problem in report.problems)


def test_a_chat_with_no_compression_has_no_reduction(tmp_path: Path) -> None:
    kept = [line for line in CHAT.read_text().splitlines() if "$" not in line]
    (tmp_path / "one.jsonl").write_text("\n".join(kept) + "\n")

    values, _ = read_all(GeminiCliImporter(), tmp_path / "one.jsonl")

    assert (
        only(CompactionRead, values) + only(ReducedRead, values) + only(RemovedRead, values) == []
    )
    assert len(answers_of(values)) == 6


def test_a_subagent_s_chat_stands_at_the_call_that_names_it(tmp_path: Path) -> None:
    folder = sample("gemini_cli_subagent", tmp_path)
    (path,) = folder.glob("session-*.jsonl")

    for source in (path, folder):
        with open_recording(source) as recording:
            assert (len(recording), recording.problems) == (2, ())
            (row,) = recording[0].subagents.table.records()
        assert (row["call"], row["requests"], row["input"], row["returned"]) == (
            "codebase_investigator Count the tests",
            2,
            4_300,
            "There are 12 tests.",
        )


def test_of_a_subagent_s_folder_only_chats_are_read(tmp_path: Path) -> None:
    folder = sample("gemini_cli_subagent", tmp_path)
    (path,) = folder.glob("session-*.jsonl")
    (child,) = folder.glob("*/*.jsonl")
    child.with_name("link.jsonl").symlink_to(path)
    child.with_name("broken.jsonl").write_text("{")

    _, report = import_file(path)

    assert len(report.sessions) == 2
    assert [problem.what for problem in report.problems] == ["It is no chat and was left out."] * 2


@pytest.mark.parametrize("name", ["..", "../other", "/", "", "a/../b", "."])
def test_an_id_that_is_no_plain_name_leads_to_no_folder(name: str, tmp_path: Path) -> None:
    folder = sample("gemini_cli_subagent", tmp_path)
    (path,) = folder.glob("session-*.jsonl")
    session = "5f0e7d1c-0000-4000-8000-000000000002"
    path.write_text(path.read_text().replace(session, name))

    _, report = import_file(path)

    assert len(report.sessions) == 1
