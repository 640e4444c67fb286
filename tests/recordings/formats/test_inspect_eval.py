"""Inspect: evaluation logs made by its own writer, with a summary and with cleared tool results."""

import importlib.util
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.reading import answers_of, input_tokens, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.formats.inspect_eval import InspectEvalImporter
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    ReducedRead,
    ResultRead,
    SessionBegin,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

PLAIN, SUMMARY, EDIT = (SAMPLES / f"inspect_{name}.eval" for name in ("plain", "summary", "edit"))
SAMPLE = "samples/first_epoch_1.json"
Json = dict[str, Any]


def changed(source: Path, target: Path, change: Callable[[Json], None]) -> Path:
    """Write a log whose sample was changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == SAMPLE:
                sample = json.loads(content)
                change(sample)
                content = json.dumps(sample).encode()
            new.writestr(name, content)
    return target


def test_a_sample_is_a_session_whose_inputs_are_told_once() -> None:
    values, reports = read_all(InspectEvalImporter(), PLAIN)
    (begins,) = only(SessionBegin, values)

    assert reports == []
    assert (begins.title, begins.model, begins.format_version) == (
        "plain: sample first, epoch 1",
        "mockllm/model",
        "0.3.285",
    )
    assert begins.system
    assert begins.system.startswith("You read files.")
    assert [tool.name for tool in begins.tools or ()] == ["read", "submit"]
    assert [line_of(message) for message in only(MessageRead, values)] == [
        "Is it in the files?",
        "I read a. read()",
        "I read b. read()",
        "tool call for tool submit submit()",
    ]
    assert input_tokens(values) == [300, 1_301, 9_309]
    assert answers_of(values)[1].usage == Usage(
        input=101, output=25, reasoning=5, cache_read=1_000, cache_write=200
    )


def test_long_results_are_looked_up_and_the_last_one_comes_from_its_run() -> None:
    values, _ = read_all(InspectEvalImporter(), PLAIN)
    results = only(ResultRead, values)

    assert [result.output for result in results] == [
        "a: " + "some words of it " * 120,
        "b: " + "some words of it " * 120,
        "yes",
    ]
    assert all(
        result.started and result.ended and result.started <= result.ended for result in results
    )


def test_a_compaction_by_summary_replaces_all_but_the_question() -> None:
    values, _ = read_all(InspectEvalImporter(), SUMMARY)
    answers = answers_of(values)
    (compacted,) = only(CompactionRead, values)

    assert input_tokens(values) == [300, 1_301, 2_302, 9_309]
    assert compacted.replaced_messages == tuple(answer.id for answer in answers[:3])
    assert compacted.summary
    assert "Files a to c were read." in compacted.summary
    assert (compacted.tokens_before, compacted.tokens_after) == (2_871, 275)
    assert compacted.usage == Usage(
        input=107, output=25, reasoning=5, cache_read=7_000, cache_write=200
    )
    assert values.index(only(ResultRead, values)[2]) < values.index(compacted)


def test_cleared_tool_results_are_reductions_of_the_next_request() -> None:
    values, _ = read_all(InspectEvalImporter(), EDIT)
    calls = [result.call for result in only(ResultRead, values)]
    reductions = only(ReducedRead, values)

    assert [(reduction.call, reduction.shown_text, reduction.rule) for reduction in reductions] == [
        (call, "(Tool result removed)", "inspect.edit") for call in calls[:5]
    ]
    assert [sum(values.index(reduction) < values.index(answer) for reduction in reductions)
            for answer in answers_of(values)] == [0, 0, 0, 2, 3, 4, 5]  # fmt: skip
    assert input_tokens(values) == [300, 1_301, 2_302, 3_303, 4_304, 5_305, 9_309]


def test_each_epoch_is_a_session(tmp_path: Path) -> None:
    path = tmp_path / "two.eval"
    shutil.copy(PLAIN, path)
    with zipfile.ZipFile(path, "a") as log:
        sample = json.loads(log.read(SAMPLE))
        log.writestr(
            "samples/first_epoch_2.json", json.dumps({**sample, "epoch": 2, "uuid": "second"})
        )

    values, _ = read_all(InspectEvalImporter(), path)

    assert [begin.title for begin in only(SessionBegin, values)] == [
        "plain: sample first, epoch 1",
        "plain: sample first, epoch 2",
    ]
    assert only(SessionBegin, values)[1].id == "second"
    assert len(answers_of(values)) == 6


def test_requests_of_scorers_are_not_the_agents(tmp_path: Path) -> None:
    def scored(sample: Json) -> None:
        scorer = next(event for event in sample["events"] if event.get("type") == "scorer")
        asked = next(event for event in sample["events"] if event["event"] == "model")
        sample["events"].append({**asked, "span_id": scorer["id"]})

    values, reports = read_all(InspectEvalImporter(), changed(PLAIN, tmp_path / "one.eval", scored))

    assert len(answers_of(values)) == 3
    assert reports == [f"{SAMPLE}: 1 requests of scorers are not the agent's: left out."]


def test_an_agent_inside_a_tool_is_a_subagent(tmp_path: Path) -> None:
    def nested(sample: Json) -> None:
        tool = next(event for event in sample["events"] if event.get("type") == "tool")
        asked = next(event for event in sample["events"] if event["event"] == "model")
        span = {"event": "span_begin", "id": "inner", "type": "agent", "parent_id": tool["id"]}
        place = sample["events"].index(tool) + 1
        sample["events"][place:place] = [span, {**asked, "span_id": "inner"}]

    values, _ = read_all(InspectEvalImporter(), changed(PLAIN, tmp_path / "one.eval", nested))
    main, inner = only(SessionBegin, values)

    assert inner.parent == main.id
    assert inner.parent_call == only(ResultRead, values)[0].call
    assert len(answers_of(values[values.index(inner) :])) == 1


def test_a_changed_system_prompt_is_named(tmp_path: Path) -> None:
    def other(sample: Json) -> None:
        asked = [event for event in sample["events"] if event["event"] == "model"]
        asked[-1]["input"] = [{"role": "system", "content": "Other."}]
        asked[-1]["input_refs"] = [[1, 6]]

    values, _ = read_all(InspectEvalImporter(), changed(PLAIN, tmp_path / "one.eval", other))

    assert [event.sentence for event in only(GapRead, values)] == [
        "Another system prompt was sent from here on."
    ]
    assert only(CompactionRead, values) == []


@pytest.mark.soak  # with each commit tests/recordings/formats/test_small_files.py bounds what small files cost; this adds ranges into a pool
def test_ranges_into_the_pool_are_bounded(tmp_path: Path) -> None:
    def endless(sample: Json) -> None:
        for event in sample["events"]:
            if event["event"] == "model":
                event["input_refs"] = [[0, 10**9]] * 20_000

    values, reports = read_all(
        InspectEvalImporter(), changed(PLAIN, tmp_path / "one.eval", endless)
    )

    assert len([request for request in answers_of(values) if request.usage]) == 3
    assert len(values) < 3 * 20_000
    assert any("more messages than are believed" in report for report in reports)


def test_a_log_as_it_was_written_needs_the_package_for_zstandard() -> None:
    path = SAMPLES / "inspect_zstandard.eval"
    if importlib.util.find_spec("zstandard"):
        assert input_tokens(read_all(InspectEvalImporter(), path)[0]) == [300, 1_301, 9_309]
    else:
        with pytest.raises(UserError, match="pip install zstandard"):
            read_all(InspectEvalImporter(), path)


def test_a_sample_that_lies_about_its_size_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    shutil.copy(PLAIN, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as log:
        log.writestr("samples/bomb_epoch_1.json", b'{"events": "' + b"a" * 30_000_000 + b'"}')
        log.writestr("../../samples/outside.json", b"{}")

    values, reports = read_all(InspectEvalImporter(), path)

    assert len(answers_of(values)) == 3
    assert reports == [
        "samples/bomb_epoch_1.json: It would unpack to more than is believed, and was left out."
    ]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bomb.eval"]


def test_what_is_no_log_is_refused_in_one_sentence(tmp_path: Path) -> None:
    other, empty = tmp_path / "a.eval", tmp_path / "b.eval"
    other.write_bytes(b"PK\x03\x04" + b"header.json" * 20)
    with zipfile.ZipFile(empty, "w") as made:
        made.writestr("header.json", "{}")

    for path in (other, empty):
        with pytest.raises(UserError, match=r"\.$"):
            read_all(InspectEvalImporter(), path)
