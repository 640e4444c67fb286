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
    added_up,
    fit_ruler,
    recorded_simulation,
    replayed_requests,
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

    rows = added_up(timeline, ruler)

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
    assert added_up(timeline, ruler) == ()
    assert "assumed" in ruler.sentence


def test_a_session_whose_reported_prompts_never_grew_is_counted_by_the_estimate() -> None:
    pi = pi_timeline()
    same = Usage(input=900, output=5)
    told = tuple(replace(request, usage=same) for request in pi.requests)

    ruler = fit_ruler(replace(pi, requests=told))

    assert ruler.factor == 1.0
    assert ruler.lowest_factor > 0


def appending(usages: list[int], tmp_path: Path, *, restarts: int = 0) -> Timeline:
    """Return a session of pi whose requests report these prompts; before one of them it was compacted."""
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "p", "timestamp": at(0), "cwd": "/w"}
    ]
    last = None
    for place, prompt in enumerate(usages):
        if place and place == restarts:
            lines.append(
                {
                    "type": "compaction", "id": "c", "parentId": last, "timestamp": at(place), "summary": "so far",
                    "firstKeptEntryId": f"u{place - 1}", "tokensBefore": 1,
                }
            )  # fmt: skip
            last = "c"
        lines += [
            message(f"u{place}", last, place, role="user", content=text("abcd" * 3_000)),
            message(
                f"a{place}", f"u{place}", place, role="assistant", content=text("wxyz" * 100), provider="anthropic",
                model="claude-opus-4-5", api="x", stopReason="stop", usage={"input": 10, "output": 9, "cacheRead": prompt - 10},
            ),
        ]  # fmt: skip
        last = f"a{place}"
    path = tmp_path / "made.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store, report = import_file(path)
    return timeline_of(store, report.sessions[0].id)


def at(place: int) -> str:
    return f"2026-08-01T10:{place // 60:02d}:{place % 60:02d}.000Z"


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def message(id_: str, parent: str | None, place: int, **value: object) -> dict[str, Any]:
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": at(place), "message": {"timestamp": 0, **value}}  # fmt: skip


def test_a_report_that_falls_late_after_a_compaction_is_left_out_and_named(tmp_path: Path) -> None:
    whole = [6_000 + 4_500 * place for place in range(31)]
    timeline = appending([*whole, *whole[1:10]], tmp_path, restarts=30)

    ruler = fit_ruler(timeline)

    assert ruler.contradicting_requests == (30,)
    assert ruler.factor == pytest.approx(4_500 / 3_100)  # for what each turn adds
    assert "What request 31 reported contradicts the requests around it" in ruler.sentence


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    where=st.sets(st.integers(1, 29), min_size=1, max_size=3),
    times=st.sampled_from([0.0, 0.1, 3.0, 50.0]),
)
def test_a_few_wrong_reports_move_neither_factor_nor_band(
    where: set[int], times: float, tmp_path: Path
) -> None:
    right = [6_000 + 4_500 * place for place in range(30)]
    wrong = [
        max(20, int(tokens * times)) if at in where else tokens for at, tokens in enumerate(right)
    ]

    clean = fit_ruler(appending(right, tmp_path))
    fitted = fit_ruler(appending(wrong, tmp_path))

    assert set(fitted.contradicting_requests) == where
    assert fitted.factor == pytest.approx(clean.factor, rel=0.01)
    assert fitted.lowest_factor <= 1 <= fitted.highest_factor
    assert fitted.highest_factor / fitted.lowest_factor < 3


class Looked(tuple[UnmeasuredRequest, ...]):
    """Requests that count how often one of them is looked at by its number."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


def test_what_a_request_costs_does_not_grow_with_the_session() -> None:
    timeline = pi_timeline()
    requests = Looked(replayed_requests(recorded_simulation(timeline, Ruler())))

    request_rulers(timeline, requests, [Fit()] * 5)

    assert len(requests) < requests.looks < 30 * len(requests)
