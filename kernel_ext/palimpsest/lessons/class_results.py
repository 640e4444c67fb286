"""Collect what a class predicted and tried, from the learners' files: a table, a picture of it, and a page of both."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from palimpsest.lessons.learner_file import LearnerFile, learner_files
from palimpsest.lessons.lesson_files import OpenedSessions, Opener
from palimpsest.lessons.lesson_list import LESSONS, chosen_plans
from palimpsest.lessons.lesson_plan import LessonPlan, Prediction
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind
from palimpsest.lessons.predictions_picture import OptionBars, PredictionStrip, predictions_svg
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn
from palimpsest.render.safety.escaping import in_html, one_line
from palimpsest.transcript.errors import NotFound

NO_RESULTS = (
    "There are no results in {folder!r}. Name the folder that holds the learners' files (lesson-results/NAME.jsonl), or "
    "one that holds a folder with lesson-results for each learner."
)
MAX_PREDICTION_CHARS = 80


@dataclass(frozen=True, slots=True)
class PredictedAnswer:
    """What one learner predicted for one question."""

    learner: str
    lesson: int
    prediction: Prediction
    value: Any
    """None where it was not predicted, or cannot be read."""
    truth: Any
    time: str

    @property
    def distance(self) -> float | None:
        """How far it is from the truth; None where it is missing, or only right or wrong."""
        return None if self.value is None else self.prediction.kind.distance(self.value, self.truth)

    @property
    def distance_words(self) -> str:
        """The same for people; empty where it is missing."""
        kind = self.prediction.kind
        return "" if self.value is None else kind.distance_text(self.value, self.truth)


class ClassResults(ShownAsTable):
    """The results of a class: who predicted what, how far off, hints, and checks."""

    def __init__(
        self, files: Sequence[LearnerFile], opener: Opener, plans: Sequence[LessonPlan] = LESSONS
    ) -> None:
        """``plans`` are the lessons that are shown, where anybody began them."""
        self.files = files
        self._opener = opener
        self._plans = plans

    @cached_property
    def answers(self) -> tuple[PredictedAnswer, ...]:
        """One answer for each learner and question of each lesson that anybody began."""
        begun_lessons = {line.lesson for file in self.files for line in file.lines}
        answers: list[PredictedAnswer] = []
        for plan in self._plans:
            if plan.number not in begun_lessons:
                continue
            sessions = OpenedSessions(plan, self._opener)
            for prediction in plan.predictions:
                truth = prediction.truth(sessions)
                answers += [
                    _predicted_answer(file, plan, prediction, truth)
                    for file in self.files
                    if any(line.lesson == plan.number for line in file.lines)
                ]
        return tuple(answers)

    @property
    def table(self) -> ReportTable:
        """One row for each learner and question, and one for each exercise that was tried."""
        rows = [
            (
                *(answer.learner, answer.lesson, answer.prediction.name),
                *(_predicted_text(answer), answer.distance_words or None, answer.distance),
                *(answer.time or None, None, None, None, None),
            )
            for answer in self.answers
        ]
        rows += [row for file in self.files for row in _exercise_rows(file, self._plans)]
        rows.sort(key=lambda row: (str(row[0]), int(row[1])))
        notes = [
            f"The file of {file.learner} was changed afterwards, or is damaged, at line {file.altered_at}."
            for file in self.files
            if file.altered_at
        ]
        title = f"Results of {counted_noun(len(self.files), 'learner')}"
        return ReportTable(title, COLUMNS, tuple(rows), (*notes, *self._truth_sentences()))

    def _truth_sentences(self) -> list[str]:
        """Return a sentence for each question with its right answer."""
        answer_of_question = {(a.lesson, a.prediction.name): a for a in self.answers}
        return [
            f"Lesson {answer.lesson}, {answer.prediction.name}: {answer.prediction.kind.value_text(answer.truth)}."
            for answer in answer_of_question.values()
        ]

    @property
    def picture(self) -> str:
        """An SVG with a part for each question that asks for a number or a choice: each prediction, and the truth."""
        picture_by_question: dict[tuple[int, str], PredictionStrip | OptionBars] = {}
        for answer in self.answers:
            if answer.value is None:
                continue
            key = (answer.lesson, answer.prediction.name)
            question_picture = picture_by_question.get(key) or _question_picture(answer)
            if question_picture is not None:
                picture_by_question[key] = question_picture
                question_picture.values[answer.learner] = answer.value
        return predictions_svg([*picture_by_question.values()])

    @property
    def page(self) -> str:
        """The picture and the table as one HTML page, which loads nothing."""
        return PAGE_TEMPLATE.format(
            mark=CLASS_PAGE_MARK,
            title=in_html(self.table.title),
            body=self.picture + self.table.html,
        )


CLASS_PAGE_MARK = '<meta name="generator" content="Palimpsest class results">'
"""Marks the head of a page, so that it replaces only an older one, and no other file."""
PAGE_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
COLUMNS = (
    TableColumn("learner", "learner"),
    TableColumn("lesson", "lesson", "count"),
    TableColumn(
        "name", "question or exercise", about="The name of a prediction or of an exercise."
    ),
    TableColumn("predicted", "predicted"),
    TableColumn("off", "off"),
    TableColumn(
        "distance",
        "distance",
        "decimal",
        about="How far it is from the truth: in its unit, requests, or pairs.",
    ),
    TableColumn("time", "kept at (UTC)"),
    TableColumn("hints", "hints", "count", about="Hints that were shown, of three."),
    TableColumn("checks", "checks", "count", about="How often the exercise was checked."),
    TableColumn("passed", "passed"),
    TableColumn("first_passed", "passed at check", "count"),
)


def class_results(folder: Path, opener: Opener, numbers: Iterable[int] = ()) -> ClassResults:
    """Return the results in a folder, of all lessons or of some; raises NotFound where there are none."""
    plans = chosen_plans(numbers)
    files = [file for file in learner_files(folder) if file.lines] if folder.is_dir() else []
    if not files:
        raise NotFound(NO_RESULTS.format(folder=str(folder)))
    return ClassResults(files, opener, plans)


def _predicted_answer(
    file: LearnerFile, plan: LessonPlan, prediction: Prediction, truth: Any
) -> PredictedAnswer:
    line = file.prediction(plan.number, prediction.name, prediction.kind)
    value, kept_at = (None, "") if line is None else (line.value, line.time)
    return PredictedAnswer(file.learner, plan.number, prediction, value, truth, kept_at)


def _question_picture(answer: PredictedAnswer) -> PredictionStrip | OptionBars | None:
    """Return the part of the picture for an answer's question, still empty; None for an order."""
    kind, title = answer.prediction.kind, f"Lesson {answer.lesson}: {answer.prediction.question}"
    match kind:
        case NumberKind():
            return PredictionStrip(title, kind.low, kind.high, answer.truth, kind.value_text)
        case ChoiceKind():
            return OptionBars(title, kind.options, answer.truth)
        case _:
            return None


def _predicted_text(answer: PredictedAnswer) -> str | None:
    if answer.value is None:
        return None
    return one_line(answer.prediction.kind.value_text(answer.value), MAX_PREDICTION_CHARS)


def _exercise_rows(file: LearnerFile, plans: Sequence[LessonPlan]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for plan in plans:
        for exercise in plan.exercises:
            checks = file.events(plan.number, "check", exercise.name)
            hint_count = len(file.events(plan.number, "hint", exercise.name))
            if not checks and not hint_count:
                continue
            passed_numbers = (number for number, line in enumerate(checks, 1) if line.passed)
            first_passed = next(passed_numbers, None)
            first_cells = (file.learner, plan.number, exercise.name, None, None, None, None)
            rows.append(
                (
                    *first_cells,
                    hint_count,
                    len(checks),
                    "yes" if first_passed else "no",
                    first_passed,
                )
            )
    return rows
