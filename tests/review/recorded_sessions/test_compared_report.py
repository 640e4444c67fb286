"""A report of two sessions holds both, and what compares them, as far as texts were chosen."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.review.comparison.one_task import MENDED, write_both, write_session

import palimpsest
from palimpsest.frontends.command_line.main import main
from palimpsest.review.recorded_sessions.comparison_view import comparison_view
from palimpsest.review.timeline_view.comparison_values import SessionComparison


def packed_data(page: Path) -> dict[str, Any]:
    """Return the data of a report."""
    [packed] = re.findall(r'id="data">([^<]*)<', page.read_text("utf-8"))
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return data


def opened(folder: Path, price: str = "units") -> SessionComparison:
    first, second = (palimpsest.open_recording(path)[0] for path in write_both(folder))
    return comparison_view(first, second, price)[1]


def test_a_comparison_has_both_tracks_by_request_and_time(tmp_path: Path) -> None:
    view = opened(tmp_path)

    assert view.first.tokens[:4] == (1_200, 1_802, 1_802, 3_177)
    assert len(view.first.tokens) == len(view.first.costs) == len(view.first.seconds) == 6
    assert view.first.seconds[0] == 0
    assert view.second.seconds == (0, 14, 28, 42, 56, 70)
    assert (view.unit, view.shared) == ("units", 2)
    assert view.first.parting is not None
    assert (view.first.parting.request, view.first.parting.words) == (3, "calls edit: src/dates.py")
    assert {figure.key for figure in view.figures} >= {"cost", "peak", "steps", "end", "tools"}
    assert "next_action" not in {figure.key for figure in view.figures}
    assert [(file.path, file.first, file.second) for file in view.files] == [
        ("src/dates.py", "changed", "changed"),
        ("NOTES.md", "", "changed"),
    ]


def test_a_report_of_two_holds_both_sessions_and_their_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = write_both(tmp_path)
    page = tmp_path / "two.html"

    code = main(["report", str(first), str(second), "-o", str(page), "--policy", "raw", "--json"])

    values = json.loads(capsys.readouterr().out)
    data = packed_data(page)
    assert code == 0
    assert data["comparison"]["first"]["session"] == values["session"]
    assert data["second"]["data"]["view"]["session"] == values["beside"]
    assert data["comparison"]["sentence"].startswith("They do the same in 2 steps.")
    # Where no script runs the sentence and the figures are in the page, escaped.
    without_script = page.read_text("utf-8")
    assert "They do the same in 2 steps." in without_script
    assert "files changed by name" in without_script
    assert "tables below that of both are of the first session." in without_script


def test_a_report_of_two_without_texts_quotes_neither(tmp_path: Path) -> None:
    first, second = write_both(tmp_path)
    review = palimpsest.open_recording(first)[0]

    page = review.report(tmp_path / "bare.html", policies="raw", texts="none", beside=second)

    text = json.dumps(packed_data(page)["comparison"])
    shown = page.read_text("utf-8")
    assert "calls edit (request 4)" in text
    for quoted in ("dates.py", "NOTES", "grep", "twelve", "Mend"):
        assert quoted not in text
        assert quoted not in shown.replace(page.name, "")


def test_a_hostile_recording_is_data_in_a_report_of_two(tmp_path: Path) -> None:
    first, _ = write_both(tmp_path)
    step = ("Look.", "bash", {"command": "</script><img src=x onerror=alert(1)>\x1b[31m"}, "ok")
    hostile = write_session(tmp_path / "hostile.jsonl", (step, *MENDED[1:]))

    page = palimpsest.open_recording(first)[0].report(
        tmp_path / "page.html", policies="raw", beside=hostile
    )

    text = page.read_text("utf-8")
    assert "<img src=x" not in text
    assert "\x1b" not in text
    assert "&lt;img src=x" in text


def test_a_capture_and_a_missing_second_recording_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = map(str, write_both(tmp_path))
    page = str(tmp_path / "page.html")

    captured = main(["report", first, second, "-o", page, "--captured", first])
    error_text = capsys.readouterr().err
    missing = main(["report", first, str(tmp_path / "none.jsonl"), "-o", page])

    assert (captured, missing) == (2, 2)
    assert error_text == "palimpsest: --captured belongs to one recording; give one to report.\n"
    assert "There is no" in capsys.readouterr().err
    assert not Path(page).exists()
