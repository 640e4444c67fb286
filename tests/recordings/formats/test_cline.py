"""Cline: a session made by its SDK, with the state that its own compaction left beside it."""

import json
import shutil
from pathlib import Path

from tests.recordings.formats.imported import import_file, info_of
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES, sample

from palimpsest.recordings.formats.cline import ClineImporter
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    ReducedRead,
    ResultRead,
    SessionBegin,
)
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.transcript.values import Usage

FOLDER = SAMPLES / "cline"
NAME = "1793523600000_abcde_cli"
MESSAGES = FOLDER / f"{NAME}.messages.json"


def test_the_input_counts_cached_tokens() -> None:
    values, reports = read_all(ClineImporter(), MESSAGES)

    assert reports == []
    assert [(begin.id, begin.system) for begin in only(SessionBegin, values)] == [
        (NAME, "You are Cline.")
    ]
    assert input_tokens(values) == [2_000, 4_000, 6_000, 900]
    assert answers_of(values)[1].usage == Usage(
        input=2_100, output=60, cache_read=1_500, cache_write=400
    )
    assert [request.cost for request in answers_of(values)] == [0.004, 0.008, 0.01, 0.0034]
    assert {request.model for request in answers_of(values)} == {"anthropic/claude-sonnet-4-5"}


def test_messages_and_results_come_in_order() -> None:
    values, _ = read_all(ClineImporter(), MESSAGES)

    assert [line_of(message) for message in only(MessageRead, values)] == [
        "Which of the two files is longer?",
        "I read file 1. read_files()",
        "I read file 2. read_files()",
        "The second.",
        "By how much?",
        "400 lines.",
    ]
    assert [(result.call, len(result.output)) for result in only(ResultRead, values)] == [
        ("toolu_1", 4_000),
        ("toolu_2", 8_000),
    ]
    assert only(CompactionRead, values) == []


def test_the_state_of_a_compaction_tells_what_it_replaced() -> None:
    values, reports = read_all(ClineImporter(), FOLDER)
    (compacted,) = only(CompactionRead, values)

    assert reports == []
    assert compacted.replaced_messages == ("msg_1", "msg_2", "msg_4")
    assert compacted.summary
    assert compacted.summary.startswith("Which of the two files is longer?")
    assert "Earlier context was compacted" in compacted.summary
    assert not compacted.is_automatic
    assert values.index(compacted) == values.index(answers_of(values)[3]) - 1


def test_a_result_that_the_state_shows_shorter_is_a_reduction(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "one")
    path = folder / f"{NAME}.compaction.json"
    whole = json.loads(MESSAGES.read_text())["messages"]
    shorter = json.loads(json.dumps(whole[:7]))
    shorter[2]["content"][0]["content"] = "line of 1 ..."
    path.write_text(
        json.dumps({"version": 1, "source_message_count": 7, "messages": shorter, "updated_at": ""})
    )

    values, _ = read_all(ClineImporter(), folder)

    assert [(reduced.call, reduced.shown_text) for reduced in only(ReducedRead, values)] == [
        ("toolu_1", "line of 1 ...")
    ]
    assert only(CompactionRead, values) == []


def test_a_summary_among_the_messages_stands_for_what_was_not_recorded(tmp_path: Path) -> None:
    state = json.loads((FOLDER / f"{NAME}.compaction.json").read_text())
    whole = json.loads(MESSAGES.read_text())
    path = tmp_path / f"{NAME}.messages.json"
    path.write_text(json.dumps({**whole, "messages": state["messages"]}, indent=2))

    values, _ = read_all(ClineImporter(), path)

    assert [compaction.replaced_messages for compaction in only(CompactionRead, values)] == [()]
    assert [gap.sentence for gap in only(GapRead, values)] == [
        "Earlier messages were replaced by a summary before this was recorded."
    ]


def test_a_state_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "one")
    (folder / f"{NAME}.compaction.json").write_text("[" * 200)

    values, reports = read_all(ClineImporter(), folder)

    assert len(answers_of(values)) == 4
    assert reports == [
        f"{NAME}.compaction.json: The state of the compaction cannot be read and was left out."
    ]


def test_a_subagent_names_the_session_that_began_it(tmp_path: Path) -> None:
    folder = sample("cline_subagent", tmp_path)

    store, report = import_file(folder)

    first, child = report.sessions
    assert report.problems == ()
    assert (first.title, child.title) == (
        "1793523600000_fghij_cli",
        "1793523600000_fghij_cli__agent_counter",
    )
    assert info_of(store, child.id).parent_id == first.id
    with open_recording(folder) as recording:
        rows = recording[0].requests_with_subagents.records()
    assert [(row["request"], row["own_request"], row["input"]) for row in rows] == [
        (1, 1, 2_000),
        (1, 1, 700),
        (2, 2, 2_300),
    ]


def test_a_lead_that_names_a_parent_has_none(tmp_path: Path) -> None:
    folder = sample("cline_subagent", tmp_path)
    path = folder / "agent_counter.messages.json"
    path.write_text(path.read_text().replace('"agent": "subagent"', '"agent": "lead"'))

    store, report = import_file(folder)

    assert [info_of(store, session.id).parent_id for session in report.sessions] == [None, None]
