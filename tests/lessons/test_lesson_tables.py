"""A lesson's table is opened by its name, and says in a sentence what it lacks."""

import sys
from pathlib import Path

import pytest

from palimpsest.lessons.plans.paper_table import (
    AGENT,
    ALL,
    CODER,
    MASKED,
    SUMMARY,
    joined_rows,
    solved_and_cost,
)
from palimpsest.public.lesson import lesson
from palimpsest.render.reports.table import NoPandas
from palimpsest.transcript.errors import NotFound


def test_a_table_is_opened_by_its_name_with_numbers_as_numbers(tmp_path: Path) -> None:
    table = lesson(9, "ann", tmp_path).table("runs")

    assert len(table.rows) == 10_137
    first = table.records()[0]
    assert (first["instance_id"], first["cost"], first["outcome"]) == (
        *("django__django-14053", 2.4869),
        0,
    )


def test_an_unknown_table_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no table 'run'; there is runs, experiments"):
        lesson(9, "ann", tmp_path).table("run")
    with pytest.raises(NotFound, match="there is none"):
        lesson(1, "ann", tmp_path).table("runs")


def test_sessions_are_known_by_their_names(tmp_path: Path) -> None:
    sessions = lesson(6, "ann", tmp_path).sessions

    assert [*sessions] == [*sessions.keys()]
    assert len(sessions) == len(sessions.values()) > 1
    assert "late" in sessions
    assert "later" not in sessions


def test_without_pandas_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = lesson(9, "ann", tmp_path)
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(NoPandas, match="pip install pandas"):
        opened.table("runs").to_dataframe()
    assert "needs pandas" in opened.check(lambda runs: runs, "table").text


def test_the_table_is_that_of_the_paper_within_a_hundredth(tmp_path: Path) -> None:
    table = solved_and_cost(joined_rows(lesson(9, "ann", tmp_path).sessions))
    (everything, raw_cost), *cheaper = (
        table[AGENT, CODER, shown] for shown in (ALL, MASKED, SUMMARY)
    )

    # As its authors sum up the model: 53.4 % solved, +1.4 masked, +0.4 with summaries, and costs 50 to 58 % lower.
    assert everything == pytest.approx(53.4, rel=0.01)
    assert [solved for solved, _ in cheaper] == pytest.approx([54.8, 53.8], rel=0.01)
    assert all(0.5 <= 1 - cost / raw_cost <= 0.58 for _, cost in cheaper)
