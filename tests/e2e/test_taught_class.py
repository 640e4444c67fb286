"""The ninety minutes of docs/teach.md are played by three made learners, on a projector's screen, and take no longer."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import PHOTOGRAPHED, SCREENS, Lab, PageErrors, photograph
from tests.e2e.test_lessons import LessonPage, inspected
from tests.e2e.test_panel import COMMAND
from tests.lessons.answers.every_lesson import ANSWERS
from tests.lessons.lesson_notebook import notebook_cells, tags
from tests.lessons.test_teach_page import TAUGHT, planned_minutes, reading_minutes

from palimpsest.frontends.command_line.main import main
from palimpsest.lessons.lesson_list import lesson_plan
from palimpsest.lessons.lesson_plan import Prediction
from palimpsest.lessons.prediction_kinds import ChoiceKind, OrderKind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PROJECTOR = {"width": 1024, "height": 576}
"""1280 x 720 with the text enlarged by a quarter, which is two steps of Ctrl and +."""
KEYS_A_MINUTE = 120
"""Characters of code that two beginners type in a minute, as an estimate."""
FIRST_EXERCISES = {1: "kinds", 2: "square", 4: "place", 5: "policy"}
"""The exercises of the plan; the second ones of lessons 2 and 4 are for home."""
SET_SOURCE = """([place, source]) => {
  const { model } = window.jupyterapp.shell.currentWidget.content;
  model.cells.get(place).sharedModel.setSource(source);
}"""


@dataclass
class Learner:
    """One made learner, and how long each lesson took."""

    name: str
    wrong: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Wrong answers to the first exercise of a lesson that come before the right one."""
    hints: int = 0
    is_right: bool = False
    """Whether it predicts what is true."""
    seconds: dict[int, float] = field(default_factory=dict)
    """What the machine took, by lesson."""
    typed: dict[int, int] = field(default_factory=dict)
    """Characters that were typed, by lesson."""

    def minutes(self, lesson: int) -> float:
        """Return the minutes that a lesson took without thinking: the machine's, reading, and typing."""
        typing = self.typed[lesson] / KEYS_A_MINUTE
        return self.seconds[lesson] / 60 + reading_minutes(lesson) + typing

    @contextmanager
    def waiting(self, lesson: int) -> Iterator[None]:
        """Add the seconds of the block to what the machine took."""
        begun = perf_counter()
        yield
        self.seconds[lesson] = self.seconds.get(lesson, 0) + perf_counter() - begun


IN_TOKENS = """def kinds_at_the_peak(session):
    tokens = {}
    for block in session.request(453).blocks:
        tokens[block.kind] = tokens.get(block.kind, 0) + block.tokens
    return tokens"""
PRINTED = IN_TOKENS.replace("return tokens", "print(tokens)")
RESULTS_ALONE = """@palimpsest.policy
def my_policy(view):
    for index in view.outputs[:-5]:
        yield palimpsest.policies.drop(index)"""
LEARNERS = (
    Learner("ann+bo", is_right=True),
    Learner(
        "cy+dee",
        {
            1: (IN_TOKENS, PRINTED),
            2: ("view.place = {'request': 6, 'item': 4}",),
            4: (
                "view.move_to(request=int(session.breaks().to_dataframe().nlargest(1, 'cost')['request'].iloc[0]))",
            ),
            5: (
                'my_policy = "openhands.amortized"',
                'my_policy = "strands.sliding_window messages=200"',
                RESULTS_ALONE,
            ),
        },
    ),
    Learner("eve", hints=3),
)


def predicted_values(number: int, *, is_right: bool) -> dict[str, Any]:
    """Return what a learner predicts in a lesson, by the prediction's name, as it is checked."""
    answers = ANSWERS[number]
    given = answers.truths if is_right else answers.predictions
    plan = lesson_plan(number)
    return {
        name: plan.prediction(name).kind.validated_value(value) for name, value in given.items()
    }


def keep(page: LessonPage, prediction: Prediction, value: Any) -> None:
    """Choose or type a prediction in its cell, and press the button."""
    cell = page.cell(f"predict-{prediction.name}")
    match prediction.kind:
        case ChoiceKind():
            cell.get_by_text(value, exact=True).click()
        case OrderKind():
            for place, option in enumerate(value):
                cell.locator("select").nth(place).select_option(option)
        case _:
            cell.get_by_role("textbox", name="Your prediction").fill(f"{value:g}")
    cell.get_by_role("button", name="Keep my prediction").click()
    expect(cell.get_by_role("status")).to_contain_text("It is kept.")


def answer_with(page: LessonPage, lesson: int, exercise: str, source: str) -> Locator:
    """Write an answer into its cell, run it, check it, and return the cell of the check."""
    ids = {
        tag: next(
            cell["id"]
            for cell in notebook_cells(lesson_plan(lesson))
            if tag in tags(cell) and cell["metadata"]["exercise"] == exercise
        )
        for tag in ("exercise", "check")
    }
    page.page.evaluate(SET_SOURCE, [page.places[ids["exercise"]], source])
    page.run(ids["exercise"], ids["check"])
    return page.cell(ids["check"])


def solution(lesson: int, exercise: str) -> str:
    """Return the solution of an exercise, as its folded cell has it."""
    return next(
        "".join(cell["source"])
        for cell in notebook_cells(lesson_plan(lesson))
        if "solution" in tags(cell) and cell["metadata"]["exercise"] == exercise
    )


def walk(page: Page, lab: Lab, learner: Learner, number: int) -> None:
    """Walk a lesson up to the check of its first exercise, as a learner."""
    plan, exercise = lesson_plan(number), FIRST_EXERCISES[number]
    cells = notebook_cells(plan)
    walked = LessonPage(page, lab, f"class/{learner.name}/{plan.notebook}.ipynb")
    opened = "".join(cells[walked.places["open"]]["source"])
    named = opened.replace(f"lesson({number})", f'lesson({number}, "{learner.name}")')
    page.evaluate(SET_SOURCE, [walked.places["open"], named])
    before = [cell["id"] for cell in cells if cell["cell_type"] == "code"]
    with learner.waiting(number):
        walked.run(*before[: before.index("look") + 1])
    expect(walked.cell("reveal")).to_contain_text("Predict first")
    values = predicted_values(number, is_right=learner.is_right)
    for prediction in plan.predictions:
        with learner.waiting(number):
            keep(walked, prediction, values[prediction.name])
    shown = walked.cell("reveal")
    for prediction in plan.predictions:
        expect(shown).to_contain_text(prediction.question)
    expect(shown.get_by_text(re.compile(r": right\."))).to_have_count(
        len(plan.predictions) if learner.is_right else 0
    )
    expect(shown.get_by_text("You predicted")).to_have_count(len(plan.predictions))
    photograph(page, f"class-{number}-{learner.name}-answers")
    walked.cell("look")
    expect(inspected(page).first).to_be_visible()
    photograph(page, f"class-{number}-{learner.name}-look")
    asks = next(cell["id"] for cell in cells if cell["id"].startswith("hint"))
    for hint in range(learner.hints):
        page.evaluate(SET_SOURCE, [walked.places[asks], f'lesson.hint("{exercise}")'])
        with learner.waiting(number):
            walked.run(asks)
        expect(page.get_by_text(f"Hint {hint + 1} of 3")).to_be_visible()
    for source in learner.wrong.get(number, ()):
        with learner.waiting(number):
            refused = answer_with(walked, number, exercise, source)
        expect(refused).to_contain_text("Not yet")
        photograph(page, f"class-{number}-{learner.name}-refused")
    with learner.waiting(number):
        passed = answer_with(walked, number, exercise, solution(number, exercise))
    expect(passed).to_contain_text("Right")
    learner.typed[number] = sum(map(len, learner.wrong.get(number, ()))) + len(
        solution(number, exercise)
    )
    page.evaluate(COMMAND, "docmanager:save")


@pytest.mark.soak  # with each commit tests/e2e/test_lessons.py walks lesson 1; this adds the class of docs/teach.md, and its minutes
@pytest.mark.usefixtures("own_page")
def test_three_learners_need_at_most_half_of_the_planned_minutes(
    page: Page, lab: Lab, seen: PageErrors, tmp_path: Path
) -> None:
    course = lab.folder / "class"
    page.set_viewport_size(PROJECTOR)
    for learner in LEARNERS:
        chosen = [part for number in TAUGHT for part in ("--lesson", str(number))]
        assert main(["lessons", "copy", str(course / learner.name), *chosen]) == 0
        for number in TAUGHT:
            walk(page, lab, learner, number)

    planned = planned_minutes()
    for learner in LEARNERS:
        needed = {number: learner.minutes(number) for number in TAUGHT}
        assert all(needed[number] <= planned[number] / 2 for number in TAUGHT), needed
    results = tmp_path / "class.html"
    assert main(["lessons", "results", str(course), "-o", str(results)]) == 0
    page.goto(results.as_uri())
    for number in TAUGHT:
        expect(page.locator("svg text", has_text=f"Lesson {number}: ").first).to_be_visible()
    expect(page.locator("svg circle")).to_have_count(6 * len(LEARNERS))
    photograph(page, "class-results")
    if PHOTOGRAPHED:
        played = [vars(learner) for learner in LEARNERS]
        (SCREENS / "class-minutes.json").write_text(json.dumps(played, indent=1))
    assert seen.errors == []
