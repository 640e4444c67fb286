"""Notebooks are copied without solutions for learners, with them for teachers, and nothing is written over."""

import json
from pathlib import Path

import pytest
from tests.lessons.lesson_notebook import tags

from palimpsest.frontends.command_line.main import main
from palimpsest.lessons.lesson_list import LESSONS


def copied(folder: Path, audience: str) -> dict[str, list[dict[str, object]]]:
    assert main(["lessons", "copy", str(folder), "--for", audience]) == 0
    return {
        path.stem: json.loads(path.read_text())["cells"] for path in sorted(folder.rglob("*.ipynb"))
    }


def test_learners_get_no_solutions_and_teachers_do(tmp_path: Path) -> None:
    learners, teachers = (copied(tmp_path / name, name) for name in ("learners", "teachers"))

    assert sorted(learners) == sorted(teachers) == [plan.notebook for plan in LESSONS]
    assert not any("solution" in tags(cell) for cells in learners.values() for cell in cells)
    for plan in LESSONS:
        solutions = [cell for cell in teachers[plan.notebook] if "solution" in tags(cell)]
        assert len(solutions) == len(plan.exercises)


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / f"{LESSONS[0].notebook}.ipynb"
    mine.write_text("my work")

    assert main(["lessons", "copy", str(tmp_path)]) == 2

    assert "exists and was left as it is" in capsys.readouterr().err
    assert mine.read_text() == "my work"
    assert [*tmp_path.iterdir()] == [mine]


def test_one_lesson_can_be_chosen(tmp_path: Path) -> None:
    assert main(["lessons", "copy", str(tmp_path), "--lesson", "1"]) == 0

    assert [path.stem for path in tmp_path.iterdir()] == [LESSONS[0].notebook]
