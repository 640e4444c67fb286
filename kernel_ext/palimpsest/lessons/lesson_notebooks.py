"""Copy the lessons' notebooks for learners, for teachers, and for two graders, as plain JSON.

A lesson's notebook holds, for each exercise, a cell with the tag ``exercise``, one with ``check``, and a folded raw cell with
``solution``. Border: the notebook format (nbformat 4) and the metadata that nbgrader and otter-grader read.
"""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

from palimpsest.lessons.lesson_files import notebook_path
from palimpsest.lessons.lesson_list import LESSONS
from palimpsest.lessons.lesson_plan import LessonPlan
from palimpsest.store.disk import storage_errors, write_atomically
from palimpsest.transcript.errors import UserError

NotebookFor = Literal["learners", "teachers", "nbgrader", "otter"]
NBGRADER_VERSION = 3
"""Version of nbgrader's cell metadata, which its 0.6 to 0.9 read."""
EXISTS = "{path!r} exists and was left as it is; give another folder, or take that file away first."

Cell = dict[str, Any]


def copy_lessons(
    folder: Path, audience: NotebookFor = "learners", numbers: Iterable[int] = ()
) -> list[Path]:
    """Write the notebooks of some lessons, or of all, into a folder and return their paths; raises UserError.

    For nbgrader each is an assignment of its own, as ``source/lesson-1/01-….ipynb``. No file is written over.
    """
    chosen = {*numbers} or {plan.number for plan in LESSONS}
    targets = [(plan, _target(folder, plan, audience)) for plan in LESSONS if plan.number in chosen]
    for _, target in targets:
        if target.exists():
            raise UserError(EXISTS.format(path=str(target)))
    for plan, target in targets:
        notebook = json.loads(notebook_path(plan).read_text("utf-8"))
        notebook["cells"] = cells_for(notebook["cells"], plan, audience)
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(
                target, f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n".encode()
            )
    return [target for _, target in targets]


def _target(folder: Path, plan: LessonPlan, audience: NotebookFor) -> Path:
    name = f"{plan.notebook}.ipynb"
    if audience == "nbgrader":
        return folder / "source" / f"lesson-{plan.number}" / name
    return folder / name


def cells_for(cells: Iterable[Cell], plan: LessonPlan, audience: NotebookFor) -> list[Cell]:
    """Return a lesson's cells without solutions for learners, as they are for teachers, or as a grader's source."""
    copied = [deepcopy(cell) for cell in cells]
    if audience == "teachers":
        return copied
    if audience == "learners":
        return [cell for cell in copied if not _has_tag(cell, "solution")]
    solutions = {
        cell["metadata"]["exercise"]: cell for cell in copied if _has_tag(cell, "solution")
    }
    graded: list[Cell] = []
    for cell in copied:
        if _has_tag(cell, "exercise"):
            solution = solutions[cell["metadata"]["exercise"]]
            graded += _solution_cells(cell, solution, audience)
        elif _has_tag(cell, "check"):
            exercise = plan.exercise(cell["metadata"]["exercise"])
            graded += _test_cells(cell, exercise.name, exercise.points, audience)
        elif not _has_tag(cell, "solution"):
            graded.append(cell)
    head = _raw_cell("# ASSIGNMENT CONFIG\ninit_cell: false\nexport_cell: false\n", "assignment")
    return [head, *graded] if audience == "otter" else graded


def _solution_cells(cell: Cell, solution: Cell, audience: NotebookFor) -> list[Cell]:
    """Return an exercise with its solution, which the grader takes out of the learners' version."""
    stub, whole = _source(cell), _source(solution)
    name = cell["metadata"]["exercise"]
    if audience == "nbgrader":
        cell["source"] = f"### BEGIN SOLUTION\n{whole.rstrip()}\n### END SOLUTION\n"
        cell["metadata"]["nbgrader"] = _nbgrader(name, solution=True)
        return [cell]
    cell["source"] = (
        f'""" # BEGIN PROMPT\n{stub.rstrip()}\n"""; # END PROMPT\n# BEGIN SOLUTION\n{whole.rstrip()}\n# END SOLUTION'
    )
    return [
        _raw_cell(f"# BEGIN QUESTION\nname: {name}\n", f"question-{name}"),
        _raw_cell("# BEGIN SOLUTION\n", f"begin-{name}"),
        cell,
        _raw_cell("# END SOLUTION\n", f"end-{name}"),
    ]


def _test_cells(cell: Cell, name: str, points: int, audience: NotebookFor) -> list[Cell]:
    """Return the cell that checks an exercise as a test with points."""
    answer = _source(cell).strip()
    if audience == "nbgrader":
        cell["source"] = f"result = {answer}\nassert result, result.sentence\n"
        cell["metadata"]["nbgrader"] = _nbgrader(f"test-{name}", points=points)
        return [cell]
    cell["source"] = (
        f'""" # BEGIN TEST CONFIG\npoints: {points}\n""" # END TEST CONFIG\nassert {answer}\n'
    )
    return [
        _raw_cell("# BEGIN TESTS\n", f"tests-{name}"),
        cell,
        _raw_cell("# END TESTS\n", f"end-tests-{name}"),
        _raw_cell("# END QUESTION\n", f"end-question-{name}"),
    ]


def _nbgrader(grade_id: str, *, solution: bool = False, points: int = 0) -> Mapping[str, Any]:
    metadata = {
        "grade": bool(points),
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": NBGRADER_VERSION,
        "solution": solution,
        "task": False,
    }
    return {**metadata, "points": points} if points else metadata


def _raw_cell(source: str, identifier: str) -> Cell:
    return {"cell_type": "raw", "id": identifier, "metadata": {}, "source": source}


def _has_tag(cell: Cell, tag: str) -> bool:
    return tag in cell.get("metadata", {}).get("tags", ())


def _source(cell: Cell) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)
