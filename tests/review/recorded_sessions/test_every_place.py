"""Every place that tells a session's tokens and money tells the same: tables, JSON, command line, inspector, report, corpus."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.sample_files import SAMPLES, sample
from tests.recordings.money_recordings import FACTS, RIGHT, write_recordings
from tests.sample_size import sampled_cases

import palimpsest
from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit
from palimpsest.frontends.command_line.main import main
from palimpsest.render.content.phrases import usd_text
from palimpsest.review.recorded_sessions.imported_report import imported_report
from palimpsest.review.recorded_sessions.recording_review import RecordingReview
from palimpsest.review.session_figures import (
    RECORDED_COLUMNS,
    SessionFigures,
    session_figures,
)
from palimpsest.review.timeline_view.report_data import report_data
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_summary import view_summary
from palimpsest.review.timeline_view.view_values import TimelineView

PRINTED = "printed"
"""A folder of recordings that are looked at one by one: several are of one session."""
SAMPLE_NAMES = sorted(
    file.relative_to(SAMPLES).as_posix().removesuffix(".xz")
    for file in [*SAMPLES.iterdir(), *(SAMPLES / PRINTED).iterdir()]
    if file.name != PRINTED
)
SAMPLED = ("claude_code", "openhands_v0.jsonl", "otel_genai.jsonl", "pi_version_3.jsonl")
"""Short ones of four kinds of agents; what was made below has usage of each request, of the session and of none."""
RECORDED = [key for key, _, _ in RECORDED_COLUMNS]
PRICES = (
    (),
    ("--price", "units"),
    ("--price", "gpt-5"),
    ("--price", "custom-1=1/2/0.1/1.25", "--lifetime", "1h"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_recordings(tmp_path_factory.mktemp("money"))


@pytest.mark.parametrize("name", [*RIGHT])
def test_what_a_made_recording_cost_is_known_by_hand(name: str, made: dict[str, Path]) -> None:
    figures = session_figures(palimpsest.open_recording(made[name])[0])

    assert figures.unit == "USD"
    assert figures.cost == pytest.approx(RIGHT[name], rel=1e-6)
    assert figures.cost_basis == ("fact" if name in FACTS else "estimate")


MADE = (*RIGHT, "sweagent.traj")


@pytest.mark.parametrize(
    ("name", "prices"),
    sampled_cases(
        {
            f"{name} {' '.join(numbers) or 'as recorded'}": (name, numbers)
            for name in MADE
            for numbers in PRICES
        },
        *(f"{name} as recorded" for name in MADE[::2]),
        *(f"{MADE[number]} {' '.join(PRICES[number])}" for number in range(1, len(PRICES))),
    ),
)
def test_a_made_recording_tells_one_number_everywhere(
    name: str,
    prices: tuple[str, ...],
    made: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    walk(made[name], prices, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled_cases(SAMPLE_NAMES, *SAMPLED))
def test_a_sample_tells_one_number_everywhere(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(sample(name, tmp_path), (), capsys)


def walk(
    path: Path,
    prices: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    *,
    whole: bool = True,
) -> None:
    """Go through all places and compare; without ``whole``, those that take no replay of other policies."""
    given = {
        prices[number].removeprefix("--"): prices[number + 1] for number in range(0, len(prices), 2)
    }
    inspected = command_json(capsys, "inspect", str(path), "--json", *prices)["sessions"]
    shown = printed(capsys, "inspect", str(path), *prices)
    assert "~~" not in shown
    folder = path if path.is_dir() else path.parent
    with ThreadPoolExecutor(1) as threads:
        corpus = palimpsest.corpus(folder, threads, cache=False, **given)
        by_id = {session_figures.session: session_figures for session_figures in corpus.figures}
        in_table = {record["session"]: record for record in corpus.table.records()}
        assert by_id
    with palimpsest.open_recording(path, **given) as recording:
        assert len(recording) == len(inspected)
        for review, said in zip(recording, inspected, strict=True):
            figures = session_figures(review)
            assert said["cost"] == figures.cost
            assert (said["input"], said["peak"], said["unit"]) == (
                figures.input,
                figures.peak,
                figures.unit,
            )
            for rows in ("cache_breaks", "wastes"):
                assert all(
                    said_row["cost_basis"] in ("fact", "estimate") for said_row in said[rows]
                )
            # A subagent whose model has no price is priced beside its parent, and in units alone.
            if figures.session in by_id and by_id[figures.session].unit == figures.unit:
                assert by_id[figures.session].cost == pytest.approx(figures.cost)
            for key in RECORDED:
                assert said[key] == getattr(figures, key)
                if figures.session in by_id:
                    assert getattr(by_id[figures.session], key) == getattr(figures, key)
                    assert in_table[figures.session][key] == getattr(figures, key)
            if review.timeline.requests:
                same_in_tables(review, figures)
                same_in_view(review, figures, timeline_view(review))
                same_in_context(review)
                if whole:
                    same_in_report(review, figures)
                    same_in_comparison(review, figures)
            for run in review.subagents:
                its = session_figures(recording[run.timeline.session])
                assert (run.totals.input, run.totals.peak) == (its.input, its.peak)
                if its.unit == figures.unit:
                    assert run.totals.cost == pytest.approx(its.cost)


def same_in_tables(review: RecordingReview, figures: SessionFigures) -> None:
    rows = review.requests.records()
    assert amount(row["cost"] for row in rows) == pytest.approx(figures.cost)
    assert {column.title for column in review.requests.columns if column.key == "cost"} == {
        figures.unit
    }
    estimated = any(key == "cost" for _, key in review.requests.estimates)
    assert estimated == (figures.cost_basis == "estimate")
    key = "input" if figures.basis == "fact" else "estimated"
    assert round(amount(row[key] for row in rows)) == pytest.approx(figures.input, abs=len(rows))
    own = review.subagents.own_totals
    assert (own.cost, own.input, own.peak) == (figures.cost, figures.input, figures.peak)
    both = review.requests_with_subagents.records()
    assert amount(row["cost"] for row in both) == pytest.approx(review.subagents.all_totals.cost)
    for table in (review.requests, review.breaks().table, review.wastes().table):
        assert "~~" not in table.text


def same_in_view(review: RecordingReview, figures: SessionFigures, view: TimelineView) -> None:
    assert view.price.unit == figures.unit
    assert amount(view.requests.cost) == pytest.approx(figures.cost)
    assert any(view.requests.listed) == (figures.cost_basis == "estimate")
    facts = view.recorded.facts
    assert (facts is not None) == (figures.basis == "fact")
    if facts is not None:
        assert facts.cost == pytest.approx(figures.cost)
        assert facts.cost_is_fact == (figures.cost_basis == "fact")
        assert (facts.input, facts.peak) == (figures.input, figures.peak)
    words = " ".join(view.totals)
    assert f"{figures.input:,} tokens" in words
    assert "~~" not in words
    # Where nothing was reported, nothing is said of what the cache gave.
    assert ("came from the cache" in words) == (figures.basis == "fact")
    assert figures.recorded_words in words
    assert amount_with_unit(figures.cost or 0, figures.unit, figures.cost_basis) in words
    assert view.totals == view_summary(view).sentences[: len(view.totals)]
    runs = {subagent.timeline.session: subagent for subagent in review.subagents}
    for subagent in view.subagents:
        assert subagent.cost == runs[subagent.session].totals.cost


def same_in_context(review: RecordingReview) -> None:
    last = review.timeline.requests[-1]
    window = imported_report(review)
    assert window.reported_tokens == last.reported
    shown = review.request(last.index + 1)
    assert window.used_tokens == round(shown.tokens)
    assert window.model == (last.model or "an unnamed model")
    assert "as the next request would begin" not in window.text


def same_in_report(review: RecordingReview, figures: SessionFigures) -> None:
    view, data = report_data(ViewAnswers(review), ["raw"], "none", None, lambda name: name)
    assert amount(view.requests.cost) == pytest.approx(figures.cost)
    assert "~~" not in data
    assert figures.recorded_words in data


def same_in_comparison(review: RecordingReview, figures: SessionFigures) -> None:
    compared = review.compare(["recorded"])
    assert "~~" not in compared.text
    rows = compared.table.records()
    assert compared.price.unit == figures.unit
    if figures.basis == "fact":
        assert (rows[0]["input"], rows[0]["peak"]) == (figures.input, figures.peak)
        assert rows[0]["cost"] == figures.cost
    assert figures.recorded_words in " ".join(compared.table.notes)


def amount(values: Iterator[Any] | tuple[Any, ...]) -> float:
    return sum(value for value in values if value is not None)


def command_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed(capsys, *arguments))
    return found


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_what_a_recording_tells_of_the_whole_is_told_everywhere(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = made["sweagent.traj"]
    words = "The recording tells of the whole session: 1.25 USD spent, 5,000 tokens sent, 100 tokens received, 1 request."

    (said,) = command_json(capsys, "inspect", str(path), "--json")["sessions"]
    shown = printed(capsys, "inspect", str(path))
    review = palimpsest.open_recording(path)[0]

    assert (said["recorded_cost"], said["recorded_input"]) == (1.25, 5_000)
    assert (said["recorded_output"], said["recorded_requests"]) == (100, 1)
    assert said["recorded_words"] == words
    assert usd_text(1.25) in shown
    assert words in timeline_view(review).totals
    assert words in review.compare(["recorded"]).text
    assert words in palimpsest.compare_sessions(path, path).text
    with ThreadPoolExecutor(1) as threads:
        every = palimpsest.corpus(path.parent.parent, threads, cache=False)
        told_costs = {row["recorded_cost"] for row in every.table.records()}
    assert told_costs == {row["recorded_cost"] for row in every.json()["sessions"]}
    assert told_costs >= {1.25, 0.75, None}
    # It is a fact, and never marked as an estimate.
    assert not any(key in RECORDED for _, key in every.table.estimates)
    # No cost of a request was recorded, so none is at recorded prices.
    assert "the recorded costs are at these" not in shown
    (atif,) = command_json(capsys, "inspect", str(made["costs_alone.json"]), "--json")["sessions"]
    assert (atif["recorded_cost"], atif["recorded_input"]) == (0.75, 4_321)
