"""nbgrader and otter-grader, the real packages, accept the copied lessons and give points by values."""

import csv
import json
import subprocess
import venv
from pathlib import Path

import nbformat
import pytest
from tests.packaging.built_wheel import built_wheel
from tests.packaging.test_wheel import alone

from palimpsest.frontends.command_line.main import main
from palimpsest.lessons.lesson_list import LESSONS
from palimpsest.lessons.lesson_plan import LessonPlan

pytestmark = pytest.mark.timeout(1_800)
PACKAGES = {"nbgrader": "nbgrader==0.9.6", "otter": "otter-grader==7.0.0"}
POINTS = {plan.number: sum(exercise.points for exercise in plan.exercises) for plan in LESSONS}
EACH_LESSON = pytest.mark.parametrize("plan", LESSONS, ids=lambda plan: plan.notebook)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in a folder of its own, since another test may build in ``dist`` meanwhile."""
    return built_wheel(tmp_path_factory.mktemp("wheel"))


def installed(built: Path, folder: Path, package: str) -> Path:
    """Return the programs of a new environment with the wheel and a grader in it."""
    venv.create(folder, with_pip=True)
    binaries = folder / "bin"
    command = [binaries / "python", "-m", "pip", "install", "--quiet", package, built, "pandas"]
    subprocess.run(command, env=alone(binaries), cwd=folder, check=True)
    return binaries


@pytest.fixture(scope="module")
def nbgrader(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with nbgrader."""
    return installed(built, tmp_path_factory.mktemp("nbgrader"), PACKAGES["nbgrader"])


@pytest.fixture(scope="module")
def otter(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with otter-grader."""
    return installed(built, tmp_path_factory.mktemp("otter"), PACKAGES["otter"])


def run_grader(binaries: Path, folder: Path, *arguments: str) -> None:
    """Run a grader's command in a folder."""
    environment = alone(binaries) | {"PATH": f"{binaries}:/usr/bin:/bin"}
    done = subprocess.run(
        [binaries / arguments[0], *arguments[1:]],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4_000:]


def hand_in(source: Path, folder: Path) -> Path:
    """Copy a notebook into a folder of a submission, beside a file that is in the way of results."""
    folder.mkdir(parents=True)
    target = folder / source.name
    target.write_bytes(source.read_bytes())
    (folder / "lesson-results").write_text("a file in the way")
    return target


@pytest.mark.soak  # with each commit tests/lessons/test_copied_notebooks.py reads the metadata; this adds nbgrader itself
def test_nbgrader_gives_full_points_to_a_solution_and_none_to_a_stub(
    nbgrader: Path, tmp_path: Path
) -> None:
    assert main(["lessons", "copy", str(tmp_path), "--for", "nbgrader"]) == 0
    (tmp_path / "nbgrader_config.py").write_text('c.CourseDirectory.course_id = "context"\n')

    for plan in LESSONS:
        assignment, name = f"lesson-{plan.number}", f"{plan.notebook}.ipynb"
        run_grader(nbgrader, tmp_path, "nbgrader", "generate_assignment", assignment)
        released = tmp_path / "release" / assignment / name
        assert "SOLUTION" not in released.read_text()
        source = tmp_path / "source" / assignment / name
        hand_in(source, tmp_path / "submitted" / "ann" / assignment)
        hand_in(released, tmp_path / "submitted" / "bo" / assignment)
        run_grader(nbgrader, tmp_path, "nbgrader", "autograde", assignment)
    run_grader(nbgrader, tmp_path, "nbgrader", "export")

    with (tmp_path / "grades.csv").open() as file:
        rows = {(row["student_id"], row["assignment"]): row for row in csv.DictReader(file)}
    for number, points in POINTS.items():
        assert float(rows["ann", f"lesson-{number}"]["max_score"]) == points
        assert float(rows["ann", f"lesson-{number}"]["score"]) == points
        assert float(rows["bo", f"lesson-{number}"]["score"]) == 0


@pytest.mark.soak  # with each commit tests/lessons/test_copied_notebooks.py reads the blocks; this adds otter-grader itself
@EACH_LESSON
def test_otter_gives_full_points_to_a_solution_and_none_to_a_stub(
    plan: LessonPlan, otter: Path, tmp_path: Path
) -> None:
    name = f"{plan.notebook}.ipynb"
    assert main(["lessons", "copy", str(tmp_path), "--for", "otter"]) == 0

    run_grader(otter, tmp_path, "otter", "assign", "--no-pdfs", name, "out")

    student = tmp_path / "out" / "student" / name
    words = json.dumps([cell.source for cell in nbformat.read(student, as_version=4).cells])
    assert "SOLUTION" not in words
    assert "import otter" not in words
    assert "grader.check" not in words
    [autograder] = (tmp_path / "out" / "autograder").glob("*.zip")
    scores = {}
    for learner, handed in (("ann", tmp_path / "out" / "autograder" / name), ("bo", student)):
        notebook = hand_in(handed, tmp_path / learner)
        run_grader(otter, notebook.parent, "otter", "run", "-a", str(autograder), "-o", ".", name)
        results = json.loads((notebook.parent / "results.json").read_text())
        scores[learner] = sum(test.get("score", 0) for test in results["tests"])
    assert scores == {"ann": POINTS[plan.number], "bo": 0}
