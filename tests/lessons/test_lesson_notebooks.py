"""Each lesson's notebook runs from top to bottom, without answers and with them, and each check tells them apart."""

from pathlib import Path

import pytest
from tests.lessons.answers.every_lesson import ANSWERS
from tests.lessons.lesson_notebook import notebook_cells, run_notebook, tags
from tests.lessons.told_answers import (
    asked_words,
    known_words,
    shown_texts,
    source_texts,
    telling_numbers,
    told_numbers,
)

from palimpsest.lessons.learner_file import learner_files
from palimpsest.lessons.lesson_list import LESSONS
from palimpsest.lessons.lesson_notebooks import SOLUTION_COMMENT
from palimpsest.lessons.lesson_plan import LessonPlan
from palimpsest.public.lesson import lesson

EACH_LESSON = pytest.mark.parametrize("plan", LESSONS, ids=lambda plan: plan.notebook)


@EACH_LESSON
def test_without_answers_nothing_is_told_and_each_check_fails_with_its_hint(
    plan: LessonPlan, tmp_path: Path
) -> None:
    run = run_notebook(plan, tmp_path, None)

    assert run.errors == []
    checks = run.texts("check")
    assert len(checks) == len(plan.exercises)
    assert all(text.startswith("✗ Not yet") and "lesson.hint(" in text for text in checks)
    assert "Predict first" in run.text("reveal")
    assert "You predicted" not in run.text("reveal")
    sessions = lesson(plan.number, "ann", tmp_path).sessions
    words = known_words(plan, sessions)
    telling = {
        number
        for prediction in plan.predictions
        for number in telling_numbers(prediction, sessions, words)
    }
    texts = shown_texts(run)
    asked = {prediction.name: prediction.question for prediction in plan.predictions}
    assert [name for name in asked if asked[name] not in texts[f"predict-{name}"]] == []
    told = {
        cell: numbers for cell, text in texts.items() if (numbers := told_numbers(text, telling))
    }
    assert told == {}
    words = "\n".join(texts.values())
    assert [word for word in ANSWERS[plan.number].telling if word in words] == []


@EACH_LESSON
def test_no_cell_has_an_answer_in_its_source_where_one_can_scroll_to_it(
    plan: LessonPlan, tmp_path: Path
) -> None:
    sessions = lesson(plan.number, "ann", tmp_path).sessions
    words = asked_words(plan, sessions)
    telling = {
        number
        for prediction in plan.predictions
        for number in telling_numbers(prediction, sessions, words)
    }
    sources = source_texts(plan)

    told = {cell: found for cell, text in sources.items() if (found := told_numbers(text, telling))}
    assert told == {}
    text = "\n".join(sources.values())
    assert [word for word in ANSWERS[plan.number].telling if word in text] == []
    assert plan.meaning


@EACH_LESSON
def test_with_answers_each_check_passes_and_the_truth_is_shown(
    plan: LessonPlan, tmp_path: Path
) -> None:
    run = run_notebook(plan, tmp_path, ANSWERS[plan.number].predictions)

    assert run.errors == []
    assert [text.splitlines()[0] for text in run.texts("check")] == ["✓ Right"] * len(
        plan.exercises
    )
    shown = run.text("reveal")
    assert all(prediction.question in shown for prediction in plan.predictions)
    sessions = lesson(plan.number, "ann", tmp_path).sessions
    for prediction in plan.predictions:
        if telling := telling_numbers(prediction, sessions, ""):
            assert told_numbers(shown, telling)
    words = "\n".join(shown_texts(run).values())
    assert all(word in words for word in ANSWERS[plan.number].telling)
    [file] = learner_files(tmp_path)
    kept = {line.name for line in file.events(plan.number, "prediction")}
    assert kept == {prediction.name for prediction in plan.predictions}


@EACH_LESSON
def test_a_notebook_has_a_stub_a_check_and_a_folded_solution_for_each_exercise(
    plan: LessonPlan,
) -> None:
    cells = notebook_cells(plan)
    for tag in ("exercise", "check", "solution"):
        tagged = [cell for cell in cells if tag in tags(cell)]
        assert [cell["metadata"]["exercise"] for cell in tagged] == [
            exercise.name for exercise in plan.exercises
        ]
    folded = [cell for cell in cells if "solution" in tags(cell)]
    assert all(cell["cell_type"] == "raw" for cell in folded)
    assert all(cell["metadata"]["jupyter"] == {"source_hidden": True} for cell in folded)
    assert all("".join(cell["source"]).startswith(SOLUTION_COMMENT) for cell in folded)
    # nbconvert would write a raw cell without a format into its page, as it stands.
    assert all(cell["metadata"]["raw_mimetype"] == "text/x-python" for cell in folded)
    assert all(not cell.get("outputs") for cell in cells)


@EACH_LESSON
def test_a_notebook_names_its_question_its_limits_and_the_learners_own_session(
    plan: LessonPlan,
) -> None:
    words = "".join("".join(cell["source"]) for cell in notebook_cells(plan))

    assert f"# {plan.number}. {plan.title}" in words
    for heading in ("## Predict", "## Exercise", "## Now on your own session", "## Limits"):
        assert heading in words
    for prediction in plan.predictions:
        assert f'lesson.predict("{prediction.name}"' in words
