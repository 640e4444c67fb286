"""A lesson in a notebook: ``palimpsest.lesson(1)``.

Border: what a learner holds in a variable. What a lesson asks and how it is checked stands in ``lessons``; what is drawn
in ``frontends/lesson_cells.py``.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from palimpsest.frontends.lesson_cells import LessonAnswer, ShownValues, prediction_widget
from palimpsest.home_paths import home_path
from palimpsest.lessons.learner_file import LearnerFile, LearnerLine, learner_file, learner_name
from palimpsest.lessons.lesson_files import OpenedSessions
from palimpsest.lessons.lesson_list import lesson_plan
from palimpsest.lessons.lesson_plan import CheckResult, Exercise, LessonPlan, Prediction
from palimpsest.lessons.lesson_texts import (
    LessonText,
    answer_text,
    check_text,
    hint_text,
    kept_prediction_text,
    lesson_text,
    meaning_text,
    not_predicted_text,
    predictions_missing_text,
)
from palimpsest.public.recorded_session import RecordedSession, open_recording
from palimpsest.render.reports.table import ReportTable, ShownInCell
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError


def lesson(number: int, learner: str = "", folder: str | Path = ".") -> "Lesson":
    """Open a lesson by its number from 1; raises UserError in one sentence.

    ``learner`` names the file in ``folder``/lesson-results in which predictions, hints and checks are kept; by default
    it is the user's name. A pair gives both names.

    >>> lesson = palimpsest.lesson(1)
    >>> lesson.predict("share", 40)
    """
    plan = lesson_plan(number)
    name = learner_name(os.environ, learner)
    return Lesson(plan, learner_file(home_path(folder), name))


class Lesson(ShownInCell):
    """One lesson, and what its learner has done in it.

    Responsibilities: keep predictions before the answers are shown, show the answers after, count hints, and check
    exercises by values that are computed anew.
    """

    def __init__(self, plan: LessonPlan, results: LearnerFile) -> None:
        self.plan = plan
        self.results = results
        self.sessions = OpenedSessions(plan, _session_of)
        self._reveal_functions: list[Callable[[], None]] = []
        """Functions that show what inspectors hide until all predictions are kept."""
        self._waiting_answers: list[LessonAnswer] = []
        """Shown answers that wait for a prediction."""

    @property
    def session(self) -> RecordedSession:
        """The lesson's main session.

        >>> len(lesson.session.requests.rows)
        453
        """
        session = self.sessions[next(iter(self.plan.recordings))]
        assert isinstance(session, RecordedSession)  # opened by open_recording
        return session

    def table(self, name: str) -> ReportTable:
        """Return a table of the lesson by its name, such as the results of a paper; raises NotFound with all names.

        >>> lesson.table("runs").to_dataframe()
        """
        return self.sessions.table(name)

    @property
    def _shown_as(self) -> LessonText:
        return lesson_text(self.plan, self.results)

    # Predictions

    def predict(self, name: str, value: Any = None) -> Any:
        """Keep a prediction, which is not changed afterwards; without a value, show a widget that asks for it.

        Raises UserError for a value that is none, such as a number beyond its bounds.

        >>> lesson.predict("share", 40)
        """
        prediction = self.plan.prediction(name)
        if value is not None:
            return self._keep_prediction(prediction, value)
        if self._prediction_line(prediction) is not None:
            return self._kept_prediction_text(prediction)
        return prediction_widget(prediction, partial(self._keep_prediction, prediction))

    def _keep_prediction(self, prediction: Prediction, value: Any) -> LessonText:
        """Keep a prediction if none is kept yet; returns a sentence on the prediction that counts."""
        checked_value = prediction.kind.validated_value(value)
        self.results.read()
        if self._prediction_line(prediction) is None:
            self._add_event("prediction", prediction.name, value=checked_value)
            self._show_answers()
            return self._kept_prediction_text(prediction)
        return self._kept_prediction_text(prediction, checked_value)

    def _kept_prediction_text(self, prediction: Prediction, tried_value: Any = None) -> LessonText:
        line = self._prediction_line(prediction)
        assert line is not None
        return kept_prediction_text(prediction, line, tried_value, self.results.problem)

    def _prediction_line(self, prediction: Prediction) -> LearnerLine | None:
        """Return the prediction that counts, or None."""
        return self.results.prediction(self.plan.number, prediction.name, prediction.kind)

    @property
    def missing_predictions(self) -> Sequence[str]:
        """The names of the predictions that are not kept yet."""
        return [
            prediction.name
            for prediction in self.plan.predictions
            if self._prediction_line(prediction) is None
        ]

    def reveal(self, *names: str) -> LessonAnswer:
        """Show predictions beside the truth, all or those named; what is not predicted yet is shown when it is.

        >>> lesson.reveal("share")
        """
        chosen_names = names or tuple(prediction.name for prediction in self.plan.predictions)
        predictions = [self.plan.prediction(name) for name in chosen_names]
        answers = LessonAnswer(lambda: self._answers_text(predictions))
        if self.missing_predictions:
            self._waiting_answers.append(answers)
        return answers

    def after_predictions(self, *values: Any) -> LessonAnswer:
        """Show values that tell an answer, such as a table, once all predictions are kept; until then what is missing.

        >>> lesson.after_predictions(lesson.session.compare(["raw", "sweagent.last_n"]))
        """
        answers = LessonAnswer(
            lambda: (
                predictions_missing_text(missing)
                if (missing := self.missing_predictions)
                else ShownValues(values)
            )
        )
        if self.missing_predictions:
            self._waiting_answers.append(answers)
        return answers

    def meaning(self) -> LessonAnswer:
        """Show what the answers mean once all predictions are kept; until then what is missing.

        >>> lesson.meaning()
        """
        return self.after_predictions(meaning_text(self.plan))

    def _answers_text(self, predictions: Sequence[Prediction]) -> LessonText:
        texts = []
        for prediction in predictions:
            line = self._prediction_line(prediction)
            if line is None:
                texts.append(not_predicted_text(prediction))
                continue
            if not self.results.events(self.plan.number, "reveal", prediction.name):
                self._add_event("reveal", prediction.name)
            truth = prediction.truth(self.sessions)
            texts.append(answer_text(prediction, line, truth, self.sessions))
        return LessonText.joined(texts)

    def _show_answers(self) -> None:
        """Draw the shown answers again, and reveal what inspectors hid once all predictions are kept."""
        for answers in self._waiting_answers:
            answers.update()
        if not self.missing_predictions:
            for reveal in self._reveal_functions:
                reveal()
            self._reveal_functions, self._waiting_answers = [], []

    # The inspector

    def inspect(self, session: RecordedSession | None = None, **arguments: Any) -> Any:
        """Show the inspector of the lesson's session; what tells an answer is hidden until all predictions are kept.

        What tells the answer of a later lesson stays hidden. The arguments are those of ``Session.inspect``.

        >>> view = lesson.inspect(request=209, tab="timeline")
        """
        parts_to_hide = self.plan.hide if self.missing_predictions else ()
        chosen_parts = arguments.pop("hide", None)
        hidden_parts = (
            (*parts_to_hide, *self.plan.keep_hidden) if chosen_parts is None else chosen_parts
        )
        view = (session or self.session).inspect(hide=hidden_parts, **arguments)
        if parts_to_hide:
            # Without names all that is hidden is revealed.
            self._reveal_functions.append(
                partial(view.reveal, *(parts_to_hide if chosen_parts is None else ()))
            )
        return view

    # Exercises

    def check(self, answer: Any, name: str = "") -> LessonText:
        """Check the answer to an exercise: a function, a policy or an inspector; ``name`` where there are several.

        The result is true where it is right, and says what is wrong where it is not. Raises nothing for a wrong answer,
        also where a learner's function fails.

        >>> bool(lesson.check(lambda session: {}))
        False
        """
        exercise = self.plan.exercise(name)
        missing_predictions = self.missing_predictions if exercise.tells else ()
        try:
            result = exercise.check(self.sessions, answer)
        except UserError as error:
            result, missing_predictions = CheckResult(passed=False, sentence=str(error)), ()
        self._add_event("check", exercise.name, passed=result.passed)
        hint_count = len(self.results.events(self.plan.number, "hint", exercise.name))
        return check_text(result, hint_count, self.results.problem, missing_predictions)

    def hint(self, name: str = "") -> LessonText:
        """Show the next of an exercise's three hints; they are counted.

        >>> lesson.hint()
        """
        exercise: Exercise = self.plan.exercise(name)
        shown_count = len(self.results.events(self.plan.number, "hint", exercise.name))
        hint_index = min(shown_count, len(exercise.hints) - 1)
        if shown_count < len(exercise.hints):
            self._add_event("hint", exercise.name, value=hint_index + 1)
        return hint_text(exercise, hint_index)

    def _add_event(
        self, event_type: Any, name: str, *, value: Any = None, passed: bool | None = None
    ) -> None:
        self.results.add(
            LearnerLine(
                lesson=self.plan.number, event=event_type, name=name, value=value, passed=passed
            )
        )


def _session_of(path: Path, session_id: str) -> SessionReview:
    """Open a session of a recording by its id, or the first one without an id."""
    return open_recording(path)[session_id or 0]
