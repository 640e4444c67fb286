"""Numbers of usage that are none, and a clock that goes back, are told by request and field, and kept with the session."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import import_file, info_of

import palimpsest
from palimpsest.review.recorded_sessions.stored_review import stored_review
from palimpsest.review.session_figures import session_figures
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder

MINUTE = 60_000
START = 1_767_225_600_000


def line(number: int, message: dict[str, Any], time_ms: int) -> str:
    parent = f"m{number - 1}" if number else None
    dated = {**message, "timestamp": START + time_ms}
    return json.dumps({"type": "message", "id": f"m{number}", "parentId": parent, "message": dated})


def recording(path: Path, usages: list[dict[str, Any]], times: list[int] | None = None) -> Path:
    """Write a session of pi: a prompt and an answer for each usage."""
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z"}
    lines = [json.dumps({**header, "cwd": "/p"})]
    for number, usage in enumerate(usages):
        time_ms = times[number] if times is not None else number * MINUTE
        said = [{"type": "text", "text": f"Say {number}."}]
        answer = {
            "role": "assistant",
            "content": said,
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "usage": usage,
            "stopReason": "stop",
        }
        lines += [line(2 * number, {"role": "user", "content": said}, time_ms)]
        lines += [line(2 * number + 1, answer, time_ms + 1_000)]
    path.write_text("\n".join(lines) + "\n")
    return path


RIGHT = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("input", -5, "-5"),
        ("output", 1e18, "1e+18"),
        ("cacheRead", float("nan"), "nan"),
        ("cacheWrite", "12", "'12'"),
        ("output", True, "True"),
        ("input", [1], "a list"),
    ],
)
def test_a_number_of_tokens_that_is_none_is_named(
    field: str, value: Any, shown: str, tmp_path: Path
) -> None:
    path = recording(tmp_path / "a.jsonl", [RIGHT, RIGHT | {field: value}])

    opened = palimpsest.open_recording(path)

    (problem,) = opened.problems
    assert problem.sentence == (
        f"a.jsonl, request 2: {field} is {shown}, which is no number of tokens: it was left out."
    )
    assert problem.sentence in timeline_view(opened[0]).gaps


def test_a_cost_that_is_no_money_is_named(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", [RIGHT | {"cost": {"total": -1}}])

    assert [problem.sentence for problem in palimpsest.open_recording(path).problems] == [
        "a.jsonl, request 1: cost.total is -1, which is no amount of money: it was left out."
    ]


@pytest.mark.parametrize("back", [-899_000, 899_000])
def test_no_time_is_told_where_the_clock_went_back(back: int, tmp_path: Path) -> None:
    times = [0, back, MINUTE] if back < 0 else [back, 0, MINUTE]
    review = palimpsest.open_recording(recording(tmp_path / "a.jsonl", [RIGHT] * 3, times))[0]
    figures = session_figures(review)

    assert figures.seconds is None
    assert figures.clock == (
        "The clock of the recording went back by 899 s before request 2, "
        "so how long the session took is not known."
    )
    assert figures.clock in timeline_view(review).totals
    assert figures.clock in palimpsest.compare_sessions(review, review).text


def test_what_could_not_be_read_stays_with_an_imported_session(tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", [RIGHT])
    path.write_text(path.read_text() + '{"type": "mess')
    project = tmp_path / "project"
    project.mkdir()
    store = JsonlStore(open_project_folder(project))
    _, report = import_file(path, store)
    name = report.sessions[0].id
    broken = "a.jsonl, line 4: It is no JSON and was left out."

    reopened = JsonlStore(store.layout)
    review = stored_review(reopened, name, lambda _model: None)
    assert [problem.sentence for problem in review.problems] == [broken]
    assert broken in timeline_view(review).gaps
    assert broken in review.requests.table.notes

    # The line was being written; where the file grew it is whole, and another is broken.
    recording(path, [RIGHT, RIGHT])
    path.write_text(path.read_text() + "{\n")
    _, again = import_file(path, JsonlStore(store.layout))
    assert [session.outcome for session in again.sessions] == ["updated"]
    review = stored_review(JsonlStore(store.layout), name, lambda _model: None)
    assert [problem.sentence for problem in review.problems] == [
        "a.jsonl, line 6: It is no JSON and was left out."
    ]

    _, same = import_file(path, JsonlStore(store.layout))
    assert [session.outcome for session in same.sessions] == ["same"]
    assert (info_of(store, name).metadata or {})["imported"]["unread"]
