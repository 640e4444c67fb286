"""Totals of a whole recording are facts as far as they are numbers; what is none is left out, whoever wrote it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.money_recordings import write_recordings

import palimpsest
from palimpsest.frontends.command_line.main import main
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals

WRONG = ("12", None, True, -1, 10**13, [1], {"a": 1})
NO_JSON = (float("nan"), float("inf"), 10**30)
"""Numbers that no reader of JSON has to take."""


def totals(path: Path, stats: Any) -> RecordedTotals:
    recorded = json.loads(path.read_text())
    recorded["info"]["model_stats"] = stats
    path.write_text(json.dumps(recorded))
    return palimpsest.open_recording(path)[0].timeline.recorded_totals


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_recordings(tmp_path)["sweagent.traj"]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_no_number_is_left_out(wrong: object, path: Path) -> None:
    stats = {"instance_cost": wrong, "tokens_sent": wrong, "tokens_received": 7, "api_calls": wrong}

    assert totals(path, stats) == RecordedTotals(output=7)


@pytest.mark.parametrize("wrong", NO_JSON, ids=repr)
def test_what_breaks_the_document_is_told(wrong: object, path: Path) -> None:
    assert totals(path, {"instance_cost": wrong, "tokens_received": 7}) == NO_TOTALS
    assert "The document is broken here" in palimpsest.open_recording(path).problems[0].what


@pytest.mark.parametrize("stats", [None, [], "none", {}, {"instance_cost": 0.0, "tokens_sent": 0}])
def test_without_numbers_nothing_is_told(stats: object, path: Path) -> None:
    assert totals(path, stats) == NO_TOTALS


def test_totals_of_a_log_of_another_program_are_checked(path: Path, tmp_path: Path) -> None:
    """The log of an imported session may be written by anybody."""
    project = tmp_path / "project"
    project.mkdir()
    assert main(["import", str(path), "--project", str(project)]) == 0
    for log in (project / ".palimpsest" / "sessions").rglob("*.jsonl"):
        text = log.read_text()
        log.write_text(text.replace('"cost":1.25', '"cost":"1.25"').replace("5000", "-5000"))

    recorded = palimpsest.open_recording(project)[0].timeline.recorded_totals

    assert recorded == RecordedTotals(output=100, requests=1)
