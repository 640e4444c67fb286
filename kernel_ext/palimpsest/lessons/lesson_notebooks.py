"""Copy the lessons' notebooks for learners, for teachers, and for two graders, as plain JSON.

A lesson's notebook holds, for each exercise, a cell with the tag ``exercise``, one with ``check``, which is one expression,
and a folded raw cell with ``solution``. JupyterLab shows a folded cell's first line, so a solution begins with a comment.
Border: the notebook format (nbformat 4) and the metadata that nbgrader and otter-grader read.
"""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

from palimpsest.lessons.lesson_files import notebook_path
from palimpsest.lessons.lesson_list import chosen_plans
from palimpsest.lessons.lesson_plan import LessonPlan
from palimpsest.store.disk import storage_errors, write_atomically
from palimpsest.transcript.errors import UserError

NotebookFor = Literal["learners", "teachers", "nbgrader", "otter"]
NBGRADER_VERSION = 3
"""Version of nbgrader's cell metadata, which its 0.6 to 0.9 read."""
EXISTS_SENTENCE = (
    "{path!r} exists and was left as it is; give another folder, or take that file away first."
)
SOLUTION_ID_PREFIX = "solution"
"""How the id of a Markdown cell begins that says where a solution stands and how to run it."""
SOLUTION_COMMENT = "# Solution\n"
"""The first line of a solution, which is all that is seen of it while it is folded."""
ANSWER_ABOVE_COMMENT = "# Write your answer above, and take the two lines below away."
CLICK_COMMENT = (
    "# A click is not handed in: write what it chose, such as view.place = "
    '{"request": 1, "item": 1}'
)
OTTER_ASSIGNMENT = """\
# ASSIGNMENT CONFIG
name: lesson-{number}
init_cell: false
export_cell: false
generate: true
requirements:
  - jupyter-palimpsest
  - pandas
"""
"""Learners' notebooks need no otter; the autograder needs this package."""

Cell = dict[str, Any]


def copy_lessons(
    folder: Path, audience: NotebookFor = "learners", numbers: Iterable[int] = ()
) -> list[Path]:
    """Write the notebooks of some lessons, or of all, into a folder and return their paths; raises UserError or NotFound.

    For nbgrader each is an assignment of its own, as ``source/lesson-1/01-….ipynb``. No file is written over.
    """
    targets = [(plan, _target(folder, plan, audience)) for plan in chosen_plans(numbers)]
    for _, target in targets:
        if target.exists():
            raise UserError(EXISTS_SENTENCE.format(path=str(target)))
    for plan, target in targets:
        notebook = json.loads(notebook_path(plan).read_text("utf-8"))
        notebook["cells"] = cells_for(notebook["cells"], plan, audience)
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps(notebook, indent=1, ensure_ascii=False)
            write_atomically(target, f"{content}\n".encode())
    return [target for _, target in targets]


def _target(folder: Path, plan: LessonPlan, audience: NotebookFor) -> Path:
    name = f"{plan.notebook}.ipynb"
    if audience == "nbgrader":
        return folder / "source" / f"lesson-{plan.number}" / name
    return folder / name


def cells_for(cells: Iterable[Cell], plan: LessonPlan, audience: NotebookFor) -> list[Cell]:
    """Return a lesson's cells without solutions for learners, as they are for teachers, or as a grader's source."""
    copies = [deepcopy(cell) for cell in cells]
    if audience == "teachers":
        return copies
    if audience == "learners":
        return [cell for cell in copies if not _tells_solution(cell)]
    solutions = {
        cell["metadata"]["exercise"]: cell for cell in copies if _has_tag(cell, "solution")
    }
    grader_cells: list[Cell] = []
    for cell in copies:
        if _has_tag(cell, "exercise"):
            solution = solutions[cell["metadata"]["exercise"]]
            grader_cells += _solution_cells(cell, solution, audience)
        elif _has_tag(cell, "check"):
            exercise = plan.exercise(cell["metadata"]["exercise"])
            grader_cells += _test_cells(cell, exercise.name, exercise.points, audience)
        elif not _tells_solution(cell):
            grader_cells.append(cell)
    config_cell = _raw_cell(OTTER_ASSIGNMENT.format(number=plan.number), "assignment")
    return [config_cell, *grader_cells] if audience == "otter" else grader_cells


def _solution_cells(cell: Cell, solution: Cell, audience: NotebookFor) -> list[Cell]:
    """Return an exercise with its solution, which the grader takes out of the learners' version."""
    stub = _source(cell).rstrip()
    solution_code = _source(solution).removeprefix(SOLUTION_COMMENT).rstrip()
    name = cell["metadata"]["exercise"]
    if solution_code.startswith("view."):
        stub = f"{stub}\n{CLICK_COMMENT}"
    if audience == "nbgrader":
        cell["source"] = nbgrader_source(stub, solution_code)
        cell["metadata"]["nbgrader"] = _nbgrader_metadata(name, is_solution=True)
        return [cell]
    quotes = "'''" if '"""' in stub else '"""'
    cell["source"] = (
        f"r{quotes} # BEGIN PROMPT\n{stub}\n{quotes}; # END PROMPT\n"
        f"# BEGIN SOLUTION NO PROMPT\n{solution_code}\n# END SOLUTION"
    )
    return [
        _raw_cell(f"# BEGIN QUESTION\nname: {name}\ncheck_cell: false\n", f"question-{name}"),
        _raw_cell("# BEGIN SOLUTION\n", f"begin-{name}"),
        cell,
        _raw_cell("# END SOLUTION\n", f"end-{name}"),
    ]


def nbgrader_source(stub: str, solution: str) -> str:
    """Return a cell in which nbgrader finds a solution and leaves what learners begin with.

    nbgrader puts two lines in the place of a solution, which raise an error. Below the head of a function that both have
    they are its body; else they follow the whole stub, with a word on them.
    """
    function_head, _, body = solution.partition(":\n")
    beginning, indent = f"{stub}\n\n{ANSWER_ABOVE_COMMENT}", ""
    if stub == f"{function_head}:\n    ...":
        beginning, solution, indent = f"{function_head}:", body, "    "
    lines = [f"{indent}### BEGIN SOLUTION", *solution.splitlines(), f"{indent}### END SOLUTION"]
    return "\n".join((beginning, *lines, ""))


def _test_cells(cell: Cell, name: str, points: int, audience: NotebookFor) -> list[Cell]:
    """Return the cell that checks an exercise, as a test with points.

    With nbgrader it is the test itself. With otter-grader it stays as it is, so that learners need no otter, and a test
    that calls the same check stands in their notebook's metadata.
    """
    test = f"result = {_source(cell).strip()}\nassert result, result.sentence\n"
    if audience == "nbgrader":
        cell["source"] = test
        cell["metadata"]["nbgrader"] = _nbgrader_metadata(f"test-{name}", points=points)
        return [cell]
    test_cell = deepcopy(cell) | {"id": f"test-{name}"}
    test_cell["source"] = (
        f'""" # BEGIN TEST CONFIG\npoints: {points}\n""" # END TEST CONFIG\n{test}'
    )
    return [
        _raw_cell("# BEGIN TESTS\n", f"tests-{name}"),
        test_cell,
        _raw_cell("# END TESTS\n", f"end-tests-{name}"),
        _raw_cell("# END QUESTION\n", f"end-question-{name}"),
        cell,
    ]


def _nbgrader_metadata(
    grade_id: str, *, is_solution: bool = False, points: int = 0
) -> Mapping[str, Any]:
    metadata = {
        "grade": bool(points),
        "grade_id": grade_id,
        "locked": not is_solution,
        "schema_version": NBGRADER_VERSION,
        "solution": is_solution,
        "task": False,
    }
    return {**metadata, "points": points} if points else metadata


def _raw_cell(source: str, identifier: str) -> Cell:
    return {"cell_type": "raw", "id": identifier, "metadata": {}, "source": source}


def _tells_solution(cell: Cell) -> bool:
    is_note = cell["cell_type"] == "markdown" and cell["id"].startswith(SOLUTION_ID_PREFIX)
    return is_note or _has_tag(cell, "solution")


def _has_tag(cell: Cell, tag: str) -> bool:
    return tag in cell.get("metadata", {}).get("tags", ())


def _source(cell: Cell) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)
