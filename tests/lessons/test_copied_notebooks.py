"""Notebooks are copied without solutions for learners, with them for teachers and graders, and nothing is written over."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tests.lessons.lesson_notebook import tags

from palimpsest.frontends.command_line.main import main
from palimpsest.lessons.lesson_list import LESSONS
from palimpsest.lessons.lesson_notebooks import nbgrader_source
from palimpsest.lessons.lesson_plan import LessonPlan

EACH_LESSON = pytest.mark.parametrize("plan", LESSONS, ids=lambda plan: plan.notebook)
NBGRADER_KEYS = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}
"""The keys of version 3 of nbgrader's cell metadata that each cell has; a graded one has points, too."""
GRADE_ID_MAX_CHARS = 128


def copied(folder: Path, audience: str) -> dict[str, list[dict[str, Any]]]:
    """Copy all lessons and return their cells by the notebook's name, after nbformat found them valid."""
    assert main(["lessons", "copy", str(folder), "--for", audience]) == 0
    paths = sorted(folder.rglob("*.ipynb"))
    for path in paths:
        nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))
    return {path.stem: json.loads(path.read_text())["cells"] for path in paths}


@pytest.fixture(scope="module")
def for_nbgrader(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The cells of all lessons, copied for nbgrader."""
    return copied(tmp_path_factory.mktemp("nbgrader"), "nbgrader")


@pytest.fixture(scope="module")
def for_otter(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The cells of all lessons, copied for otter-grader."""
    return copied(tmp_path_factory.mktemp("otter"), "otter")


def test_learners_get_no_solutions_and_teachers_do(tmp_path: Path) -> None:
    learners, teachers = (copied(tmp_path / name, name) for name in ("learners", "teachers"))

    assert sorted(learners) == sorted(teachers) == [plan.notebook for plan in LESSONS]
    assert not any("solution" in tags(cell) for cells in learners.values() for cell in cells)
    assert "folded cell" in json.dumps(teachers)
    assert "folded cell" not in json.dumps(learners)
    for plan in LESSONS:
        solutions = [cell for cell in teachers[plan.notebook] if "solution" in tags(cell)]
        assert len(solutions) == len(plan.exercises)


def graded(cells: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the metadata and the source of each cell that nbgrader knows."""
    for cell in cells:
        if "nbgrader" in cell["metadata"]:
            yield cell["metadata"]["nbgrader"], cell["source"]


@EACH_LESSON
def test_nbgrader_knows_each_exercise_and_each_test_with_its_points(
    plan: LessonPlan, for_nbgrader: dict[str, list[dict[str, Any]]]
) -> None:
    cells = for_nbgrader[plan.notebook]
    known = list(graded(cells))

    ids = [metadata["grade_id"] for metadata, _ in known]
    assert len(ids) == len({*ids}) == 2 * len(plan.exercises)
    assert all(grade_id and len(grade_id) <= GRADE_ID_MAX_CHARS for grade_id in ids)
    for metadata, source in known:
        assert {*metadata} == NBGRADER_KEYS | ({"points"} if metadata["grade"] else set())
        assert metadata["schema_version"] == 3
        assert metadata["locked"] is metadata["grade"] is not metadata["solution"]
        assert source.count("### BEGIN SOLUTION") == source.count("### END SOLUTION")
        assert source.count("### BEGIN SOLUTION") == metadata["solution"]
        ast.parse(source)
    points = [metadata["points"] for metadata, _ in known if metadata["grade"]]
    assert points == [exercise.points for exercise in plan.exercises]
    assert "folded cell" not in json.dumps(cells)


@EACH_LESSON
def test_otter_knows_each_question_with_its_solution_and_its_test(
    plan: LessonPlan, for_otter: dict[str, list[dict[str, Any]]]
) -> None:
    cells = for_otter[plan.notebook]
    raw = [cell["source"] for cell in cells if cell["cell_type"] == "raw"]
    depth: list[str] = []
    for line in (source.splitlines()[0] for source in raw[1:]):
        _, word, block = line.split(" ", 2)
        if word == "BEGIN":
            depth.append(block)
        else:
            assert depth.pop() == block

    assert raw[0].startswith("# ASSIGNMENT CONFIG")
    assert depth == []
    named = [source for source in raw if source.startswith("# BEGIN QUESTION")]
    assert [source.split("name: ")[1].split()[0] for source in named] == [
        exercise.name for exercise in plan.exercises
    ]
    for cell in cells:
        if "# BEGIN PROMPT" in cell["source"] or "# BEGIN TEST" in cell["source"]:
            ast.parse(cell["source"])
    assert "folded cell" not in json.dumps(cells)
    assert len({cell["id"] for cell in cells}) == len(cells)


@EACH_LESSON
def test_a_check_is_one_expression_that_hands_over_a_value(
    plan: LessonPlan, tmp_path: Path
) -> None:
    checks = [cell for cell in copied(tmp_path, "teachers")[plan.notebook] if "check" in tags(cell)]

    for cell in checks:
        call = ast.parse("".join(cell["source"]), mode="eval").body
        assert isinstance(call, ast.Call)
        assert ast.unparse(call.func) == "lesson.check"


def test_learners_of_nbgrader_begin_with_a_head_or_with_the_whole_stub() -> None:
    stub = "def f(session):\n    ..."
    head = nbgrader_source(stub, "def f(session):\n    return {1: 2}")
    other = nbgrader_source("my_policy = 'a'", "my_policy = 'b'")

    assert head == (
        "def f(session):\n    ### BEGIN SOLUTION\n    return {1: 2}\n    ### END SOLUTION\n"
    )
    assert other.startswith("my_policy = 'a'\n\n# Write your answer above")
    assert other.endswith("### BEGIN SOLUTION\nmy_policy = 'b'\n### END SOLUTION\n")


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


def test_a_lesson_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lessons", "copy", str(tmp_path / "course"), "--lesson", "99"]) == 2

    assert "There is no lesson 99. There are: 1 " in capsys.readouterr().err
    assert not (tmp_path / "course").exists()
