"""A ruler is fitted to the reported usage, and its three rows add up to it at every request."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.context_policies.pi_session import pi_timeline
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.context_policies.calibration.fit import (
    fit_ruler,
    recorded_simulation,
    replayed_requests,
    token_parts,
)
from palimpsest.context_policies.calibration.request_rulers import Fit, request_rulers
from palimpsest.context_policies.prompt_cache.cache_walk import UnmeasuredRequest
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage


@pytest.mark.soak  # with each commit a few wrong reports move neither factor nor band, below; this adds the figures of a real session
def test_the_ruler_of_pi_is_the_measured_one() -> None:
    by_chars = fit_ruler(pi_timeline())
    by_tokens = fit_ruler(pi_timeline(), "tiktoken/o200k_base")

    assert by_chars.is_fitted
    assert (
        round(by_chars.unseen_tokens) == 1_605
    )  # the first request's items are scaled like all others
    assert round(by_chars.factor, 3) == 1.409
    assert round(by_tokens.factor, 3) == 1.271


def test_unseen_items_and_remainder_are_the_reported_tokens_exactly() -> None:
    timeline = pi_timeline()
    ruler = fit_ruler(timeline)

    rows = token_parts(timeline, ruler)

    assert len(rows) == 439
    for row in rows:
        assert round(row.unseen + row.items + row.remainder, 6) == row.reported
    within = [
        row.items * ruler.lowest_factor - 1 <= row.reported - row.unseen
        for row in rows
        if row.items > 2_000
    ]
    assert all(within)


def test_a_session_without_usage_is_only_estimated(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id)

    ruler = fit_ruler(timeline)

    assert not ruler.is_fitted
    assert (ruler.unseen_tokens, ruler.factor) == (0, 1.0)
    assert token_parts(timeline, ruler) == ()
    assert "assumed" in ruler.sentence


def test_a_session_whose_reported_prompts_never_grew_is_counted_by_the_estimate() -> None:
    pi = pi_timeline()
    same = Usage(input=900, output=5)
    requests = tuple(replace(request, usage=same) for request in pi.requests)

    ruler = fit_ruler(replace(pi, requests=requests))

    assert ruler.factor == 1.0
    assert ruler.lowest_factor > 0


def appended_session(usages: list[int], tmp_path: Path, *, restarts: int = 0) -> Timeline:
    """Return a session of pi whose requests report these prompts; before one of them it was compacted."""
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "p", "timestamp": timestamp(0), "cwd": "/w"}
    ]
    last = None
    for index, prompt in enumerate(usages):
        if index and index == restarts:
            lines.append(
                {
                    "type": "compaction", "id": "c", "parentId": last, "timestamp": timestamp(index), "summary": "so far",
                    "firstKeptEntryId": f"u{index - 1}", "tokensBefore": 1,
                }
            )  # fmt: skip
            last = "c"
        lines += [
            message(f"u{index}", last, index, role="user", content=text_content("abcd" * 3_000)),
            message(
                f"a{index}", f"u{index}", index, role="assistant", content=text_content("wxyz" * 100), provider="anthropic",
                model="claude-opus-4-5", api="x", stopReason="stop", usage={"input": 10, "output": 9, "cacheRead": prompt - 10},
            ),
        ]  # fmt: skip
        last = f"a{index}"
    path = tmp_path / "made.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store, report = import_file(path)
    return timeline_of(store, report.sessions[0].id)


def timestamp(minute: int) -> str:
    return f"2026-08-01T10:{minute // 60:02d}:{minute % 60:02d}.000Z"


def text_content(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def message(id_: str, parent: str | None, minute: int, **value: object) -> dict[str, Any]:
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": timestamp(minute), "message": {"timestamp": 0, **value}}  # fmt: skip


def test_a_report_that_falls_late_after_a_compaction_is_left_out_and_named(tmp_path: Path) -> None:
    whole = [6_000 + 4_500 * number for number in range(31)]
    timeline = appended_session([*whole, *whole[1:10]], tmp_path, restarts=30)

    ruler = fit_ruler(timeline)

    assert ruler.contradicting_requests == (30,)
    assert ruler.factor == pytest.approx(4_500 / 3_100)  # for what each turn adds
    assert "What request 31 reported contradicts the requests around it" in ruler.sentence


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    wrong_requests=st.sets(st.integers(1, 29), min_size=1, max_size=3),
    factor=st.sampled_from([0.0, 0.1, 3.0, 50.0]),
)
def test_a_few_wrong_reports_move_neither_factor_nor_band(
    wrong_requests: set[int], factor: float, tmp_path: Path
) -> None:
    right = [6_000 + 4_500 * number for number in range(30)]
    wrong = [
        max(20, int(tokens * factor)) if index in wrong_requests else tokens
        for index, tokens in enumerate(right)
    ]

    clean = fit_ruler(appended_session(right, tmp_path))
    fitted = fit_ruler(appended_session(wrong, tmp_path))

    assert set(fitted.contradicting_requests) == wrong_requests
    assert fitted.factor == pytest.approx(clean.factor, rel=0.01)
    assert fitted.lowest_factor <= 1 <= fitted.highest_factor
    assert fitted.highest_factor / fitted.lowest_factor < 3


class CountedRequests(tuple[UnmeasuredRequest, ...]):
    """Requests that count how often one of them is looked at by its number."""

    look_count = 0

    def __getitem__(self, index: Any) -> Any:
        self.look_count += 1
        return super().__getitem__(index)


def test_what_a_request_costs_does_not_grow_with_the_session() -> None:
    timeline = pi_timeline()
    requests = CountedRequests(replayed_requests(recorded_simulation(timeline, Ruler())))

    request_rulers(timeline, requests, [Fit()] * 5)

    assert len(requests) < requests.look_count < 30 * len(requests)
