"""What Gemini CLI prints as ``stream-json`` and ``json``, and the chat that it kept of the same run."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file, info_of
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.gemini_cli import GeminiCliImporter
from palimpsest.recordings.printed_streams import printed_answers
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    TotalsRead,
)
from palimpsest.transcript.timeline import RecordedTotals
from palimpsest.transcript.values import Usage

PRINTED = SAMPLES / "printed"
STREAM = PRINTED / "gemini.jsonl"
LINES = [json.loads(line) for line in STREAM.read_text().splitlines()]


def read(path: Path) -> list[Recorded]:
    values, reports = read_all(GeminiCliImporter(), path)
    assert reports == []
    return values


def write_file(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_pieces_and_calls_up_to_the_results_are_one_answer() -> None:
    values = read(STREAM)

    assert [line_of(message) for message in only(MessageRead, values)] == [
        "What is in a.txt, and how long is b.txt?",
        "I read both. read_file() read_file()",
        "It says alpha.",
    ]
    (begin,) = only(SessionBegin, values)
    assert begin.model == "gemini/gemini-2.5-pro"


def test_the_tokens_are_a_total_and_no_request_s() -> None:
    values = read(STREAM)

    assert input_tokens(values) == [None, None]
    assert only(TotalsRead, values) == [
        TotalsRead(RecordedTotals(input=3_000, cached=300, output=43))
    ]


def test_a_result_that_was_displayed_as_nothing_is_a_gap() -> None:
    values = read(STREAM)
    read_one, missing = only(ResultRead, values)

    assert (read_one.output, read_one.is_error) == ("", False)
    assert (missing.output, missing.is_error) == ("File not found.", True)
    assert [gap.call for gap in only(GapRead, values) if gap.call] == [read_one.call]


def test_a_run_that_resumed_the_chat_adds_its_tokens(tmp_path: Path) -> None:
    values = read(write_file(tmp_path / "two.jsonl", [*LINES, *LINES]))

    assert len(only(SessionBegin, values)) == 1
    assert only(TotalsRead, values)[-1].totals == RecordedTotals(input=6_000, cached=600, output=86)


def test_a_failed_run_has_its_error() -> None:
    values = read(PRINTED / "gemini_failed.jsonl")
    (answer,) = answers_of(values)

    assert answer.finish == "error"
    assert answer.error is not None
    assert "It fails." in answer.error
    assert only(TotalsRead, values) == []


def test_a_document_has_the_last_answer_and_the_totals_of_all_requests() -> None:
    values = read(PRINTED / "gemini.json")

    assert [line_of(answer) for answer in answers_of(values)] == ["It says alpha."]
    assert input_tokens(values) == [None]
    assert only(TotalsRead, values) == [
        TotalsRead(RecordedTotals(input=3_000, cached=300, output=43, requests=2))
    ]
    assert only(SessionBegin, values)[0].model == "gemini/gemini-2.5-pro"


def test_a_document_of_one_request_has_its_tokens(tmp_path: Path) -> None:
    document = json.loads((PRINTED / "gemini.json").read_text())
    document["stats"]["models"]["gemini-2.5-pro"]["api"]["totalRequests"] = 1
    (tmp_path / "one.json").write_text(json.dumps(document))

    (answer,) = answers_of(read(tmp_path / "one.json"))

    assert answer.usage == Usage(input=2_700, output=43, reasoning=10, cache_read=300)


def test_a_document_of_an_older_version_has_no_id(tmp_path: Path) -> None:
    document = json.loads((PRINTED / "gemini.json").read_text())
    del document["session_id"]
    (tmp_path / "old.json").write_text(json.dumps(document))

    assert [begin.id for begin in only(SessionBegin, read(tmp_path / "old.json"))] == ["old"]


@pytest.mark.parametrize(
    "text",
    [
        '{"response": "Yes."}',
        '{"session_id": "x", "response": "Yes."}',
        '{"session_id": "x", "status": "ok", "stats": {}}',
        '{"type": "init", "session_id": "x"}',
        '{"type": "message", "timestamp": "2026-11-29T22:42:58Z", "content": "Yes."}',
    ],
)
def test_documents_that_are_alike_are_not_taken(text: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(text)

    _, report = _brought(tmp_path)

    assert report == ["other.json"]


def _brought(folder: Path) -> tuple[int, list[str]]:
    (folder / "chat.jsonl").write_text(STREAM.read_text())
    _, report = import_file(folder)
    return len(report.sessions), [problem.where for problem in report.problems]


def test_a_text_of_endless_pieces_is_not_stored_without_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed_answers, "MAX_TEXT_CHARS", 10)
    piece = {**LINES[2], "content": "12345"}

    values = read(write_file(tmp_path / "long.jsonl", [*LINES[:2], *[piece] * 7]))

    assert [line_of(answer) for answer in answers_of(values)] == ["12345" * 3, "12345" * 3, "12345"]


def test_the_chat_that_was_kept_has_each_request_and_begins_with_the_program_s_words() -> None:
    values = read(PRINTED / "gemini_session.jsonl")
    store, report = import_file(PRINTED / "gemini_session.jsonl")

    assert input_tokens(values) == [1_000, 2_000]
    assert [line_of(answer) for answer in answers_of(values)] == [
        line_of(answer) for answer in answers_of(read(STREAM))
    ], "the same run as it was printed"
    assert [message.by_program for message in only(MessageRead, values)] == [
        True,
        False,
        False,
        False,
    ]
    assert info_of(store, report.sessions[0].id).title == "What is in a.txt, and how long is b.txt?"
    assert [result.output for result in only(ResultRead, values)] == [
        "alpha\n",
        "File not found: /home/user/project/missing.txt",
    ]
