"""The truths of the lessons are computed, and wrong answers of each kind are told apart, with a sentence that helps."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.lessons.answers.every_lesson import ANSWERS
from tests.lessons.lesson_notebook import notebook_cells

from palimpsest import open_recording
from palimpsest.lessons.exercise_checks import is_same
from palimpsest.lessons.lesson_files import OpenedSessions
from palimpsest.lessons.lesson_list import LESSONS, lesson_plan
from palimpsest.lessons.lesson_plan import LessonPlan
from palimpsest.public.lesson import lesson

EACH_LESSON = pytest.mark.parametrize("plan", LESSONS, ids=lambda plan: plan.notebook)
WRONG = [
    pytest.param(number, wrong, id=f"{number}-{wrong.exercise}-{wrong.kind}".replace(" ", "_"))
    for number, answers in ANSWERS.items()
    for wrong in answers.wrong
]


@cache
def sessions(number: int) -> OpenedSessions:
    """Return the sessions of a lesson, opened once for this file."""
    return OpenedSessions(
        lesson_plan(number), lambda path, session: open_recording(path)[session or 0]
    )


@EACH_LESSON
def test_the_truth_is_computed_and_stays(plan: LessonPlan) -> None:
    answers = ANSWERS[plan.number]
    opened = sessions(plan.number)
    truths = {prediction.name: prediction.truth(opened) for prediction in plan.predictions}

    assert is_same(truths, answers.truths)
    for prediction in plan.predictions:
        truth = truths[prediction.name]
        checked = prediction.kind.validated_value(truth)
        assert prediction.kind.distance_text(checked, truth) == "right"
        wrong = prediction.kind.validated_value(answers.predictions[prediction.name])
        assert prediction.kind.distance_text(wrong, truth) != "right"
        assert len(prediction.surprise(opened, truth)) > 40


@pytest.mark.parametrize(("number", "wrong"), WRONG)
def test_a_wrong_answer_fails_with_a_sentence_that_helps(
    number: int, wrong: Any, tmp_path: Path
) -> None:
    opened = lesson(number, "ann", tmp_path)
    opened.sessions = sessions(number)
    for name, value in ANSWERS[number].predictions.items():
        opened.predict(name, value)

    result = opened.check(wrong.answer(opened.sessions), wrong.exercise)

    assert not result
    assert wrong.words in result.text
    assert "Traceback" not in result.text


def test_a_check_whose_sentence_would_tell_an_answer_says_it_after_the_predictions(
    tmp_path: Path,
) -> None:
    opened = lesson(4, "ann", tmp_path)
    at_first = opened.inspect(request=209)

    before = opened.check(at_first, "place")

    assert not before
    assert "Predict first, above: losses, share, cause." in before.text
    for name, value in ANSWERS[4].predictions.items():
        opened.predict(name, value)
    assert "Nothing in the recording explains" in opened.check(at_first, "place").text


@EACH_LESSON
def test_five_kinds_of_wrong_answers_are_tried_for_each_exercise(plan: LessonPlan) -> None:
    for exercise in plan.exercises:
        kinds = {
            wrong.kind for wrong in ANSWERS[plan.number].wrong if wrong.exercise == exercise.name
        }
        assert len(kinds) >= 5


@EACH_LESSON
def test_the_numbers_in_the_words_of_a_notebook_are_computed(plan: LessonPlan) -> None:
    words = "".join("".join(cell["source"]) for cell in notebook_cells(plan))
    words += "".join([*plan.meaning, *(prediction.question for prediction in plan.predictions)])

    for number in ANSWERS[plan.number].numbers:
        assert number.computed(sessions(plan.number)) == number.words
        assert number.words in words


@EACH_LESSON
def test_a_prediction_stays_what_it_was_first(plan: LessonPlan, tmp_path: Path) -> None:
    opened = lesson(plan.number, "ann", tmp_path)
    opened.sessions = sessions(plan.number)
    for name, value in ANSWERS[plan.number].predictions.items():
        opened.predict(name, value)
    text = opened.reveal().text
    for prediction in plan.predictions:
        truth = prediction.truth(opened.sessions)
        changed = opened.predict(prediction.name, truth)
        assert "does not count" in changed.text

    again = lesson(plan.number, "ann", tmp_path)
    again.sessions = sessions(plan.number)
    assert again.reveal().text == text
