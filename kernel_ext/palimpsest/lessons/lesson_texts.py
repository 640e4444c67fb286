"""Build the texts of a lesson: its head, a kept prediction, the truth beside it, a check, a hint; as text, Markdown and HTML.

Border: values in, sentences out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.lessons.learner_file import LearnerFile, LearnerLine
from palimpsest.lessons.lesson_plan import (
    HINT_COUNT,
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ShownInCell
from palimpsest.render.safety.escaping import escape_inline, in_html

MARK_BY_RESULT = {True: "✓", False: "✗", None: ""}
"""The sign before a sentence: right, not right, and neither."""


@dataclass(frozen=True, repr=False)
class LessonText(ShownInCell):
    """Some sentences with a title, true unless a check has failed."""

    title: str = ""
    sentences: tuple[str, ...] = ()
    passed: bool | None = None
    """Whether a check passed; None for what is no check."""
    title_indexes: frozenset[int] = frozenset()
    """The indexes of sentences that are titles."""

    def __bool__(self) -> bool:
        """Return whether nothing failed."""
        return self.passed is not False

    @classmethod
    def joined(cls, texts: Sequence["LessonText"]) -> "LessonText":
        """Return several as one, a line for each sentence."""
        sentences: list[str] = []
        title_indexes = set()
        for text in texts:
            if text.title:
                title_indexes.add(len(sentences))
                sentences.append(text.title)
            sentences += text.sentences
        return cls(sentences=tuple(sentences), title_indexes=frozenset(title_indexes))

    @property
    def sentence(self) -> str:
        """All sentences, without the title."""
        return " ".join(self.sentences)

    @property
    def text(self) -> str:
        """The title and a line for each sentence, with an empty line before each further title."""
        mark = MARK_BY_RESULT[self.passed]
        lines = [self.title, *self.sentences] if self.title else [*self.sentences]
        lines = [
            f"{mark} {line}" if mark and not line_number else line
            for line_number, line in enumerate(lines)
        ]
        later_title_lines = {index + bool(self.title) for index in self.title_indexes} - {0}
        return "\n".join(
            f"\n{line}" if line_number in later_title_lines else line
            for line_number, line in enumerate(lines)
        )

    @property
    def markdown(self) -> str:
        """A bold title and a paragraph for each sentence."""
        title = f"**{escape_inline(self.title)}**" if self.title else ""
        mark = MARK_BY_RESULT[self.passed]
        body = [
            f"**{escape_inline(sentence)}**"
            if index in self.title_indexes
            else escape_inline(sentence)
            for index, sentence in enumerate(self.sentences)
        ]
        return "\n\n".join(part for part in (f"{mark} {title}".strip(), *body) if part)

    @property
    def html(self) -> str:
        """An HTML fragment, which a screen reader is told of when it changes."""
        mark = (
            MARK_BY_RESULT[self.passed]
            and f'<span aria-hidden="true">{MARK_BY_RESULT[self.passed]}</span> '
        )
        title = f"<strong>{in_html(self.title)}</strong>" if self.title else ""
        body = [
            f"<strong>{in_html(sentence)}</strong>"
            if index in self.title_indexes
            else in_html(sentence)
            for index, sentence in enumerate(self.sentences)
        ]
        first, *rest = [part for part in (title, *body) if part] or [""]
        parts = (mark + first, *rest)
        paragraphs = "".join(f'<p style="margin:.3em 0">{part}</p>' for part in parts)
        return f'<div role="status" style="max-width:52em;line-height:1.5">{paragraphs}</div>'


def lesson_text(plan: LessonPlan, results: LearnerFile) -> LessonText:
    """Return the head of a lesson: title, question, data, and where the results are kept."""
    recording_names = ", ".join(plan.files)
    results_sentence = (
        results.problem or f"Kept in {results.path}, under the name {results.learner}."
    )
    return LessonText(
        f"Lesson {plan.number}: {plan.title}",
        (
            plan.question,
            (
                f"About {plan.minutes} minutes, with {counted_noun(len(plan.predictions), 'prediction')} and "
                f"{counted_noun(len(plan.exercises), 'exercise')}. No key, no network."
            ),
            f"Recorded: {recording_names}. {results_sentence}",
        ),
    )


def kept_prediction_text(
    prediction: Prediction, line: LearnerLine, later_value: Any, problem: str
) -> LessonText:
    """Return a sentence on a kept prediction; ``later_value`` is another value that was given for it, and does not count."""
    value_text = prediction.kind.value_text
    sentence = f"You predicted {value_text(line.value)}. It is kept."
    if later_value is not None and later_value != line.value:
        sentence = f"You predicted {value_text(line.value)}, and that stays: {value_text(later_value)} came after it and does not count."
    return LessonText(prediction.question, (sentence, problem) if problem else (sentence,))


def question_text(prediction: Prediction) -> LessonText:
    """Return a question, and how to answer it in code, for a place without widgets."""
    instruction = f"lesson.predict({prediction.name!r}, value), where the value is {prediction.kind.valid_words}."
    return LessonText(prediction.question, (f"Predict it with {instruction}",))


def not_predicted_text(prediction: Prediction) -> LessonText:
    """Return what stands in the place of an answer that was not predicted yet."""
    sentence = f"Predict first, with lesson.predict({prediction.name!r}); then the answer is shown."
    return LessonText(prediction.question, (sentence,))


def predictions_missing_text(prediction_names: Sequence[str]) -> LessonText:
    """Return what stands in the place of a value that is shown once all predictions are kept."""
    names = ", ".join(prediction_names)
    return LessonText(sentences=(f"Predict first, above: {names}. Then this is shown.",))


def meaning_text(plan: LessonPlan) -> LessonText:
    """Return what the answers of a lesson mean."""
    return LessonText(sentences=plan.meaning)


def answer_text(
    prediction: Prediction, line: LearnerLine, truth: Any, sessions: LessonSessions
) -> LessonText:
    """Return a prediction beside the truth, with the lesson's sentence on it."""
    kind, predicted_value = prediction.kind, line.value
    sentence = (
        f"You predicted {kind.value_text(predicted_value)}; it is {kind.value_text(truth)}: "
        f"{kind.distance_text(predicted_value, truth)}."
    )
    return LessonText(prediction.question, (sentence, prediction.surprise(sessions, truth)))


def check_text(
    result: CheckResult,
    shown_hint_count: int,
    problem: str,
    missing_predictions: Sequence[str] = (),
) -> LessonText:
    """Return the result of a check, with a word on hints where it failed.

    Why it failed is not said while it would tell the answer to a prediction in ``missing_predictions``.
    """
    sentences = [result.sentence]
    if missing_predictions and not result.passed:
        names = ", ".join(missing_predictions)
        sentences = [f"Predict first, above: {names}. Then the check says what is wrong."]
    if not result.passed:
        hints_left = HINT_COUNT - shown_hint_count
        more_hints = f"lesson.hint() has {hints_left} more hint{'s'[: hints_left != 1]}."
        sentences.append(more_hints if hints_left else "All three hints are shown.")
    if problem:
        sentences.append(problem)
    title = "Right" if result.passed else "Not yet"
    return LessonText(title, tuple(sentences), passed=result.passed)


def hint_text(exercise: Exercise, number: int) -> LessonText:
    """Return a hint by its number from 0."""
    return LessonText(f"Hint {number + 1} of {len(exercise.hints)}", (exercise.hints[number],))
