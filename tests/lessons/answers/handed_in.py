"""A wrong answer to an exercise, and words of the sentence that a learner must get for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palimpsest.lessons.lesson_plan import LessonSessions


@dataclass(frozen=True)
class WrongAnswer:
    """One wrong answer."""

    kind: str
    """Off by one, printed answer, copied number, cheating policy, or what it is."""
    exercise: str
    answer: Callable[[LessonSessions], Any]
    """Returns what is handed to ``lesson.check``; it is given the lesson's sessions."""
    words: str
    """Words of the sentence."""


@dataclass(frozen=True)
class ProseNumber:
    """A number that a lesson's notebook names in its words."""

    words: str
    computed: Callable[[LessonSessions], str]
    """Returns the same words, computed from the lesson's sessions."""


@dataclass(frozen=True)
class LessonAnswers:
    """The values that are predicted in a test, and the wrong answers."""

    predictions: dict[str, Any]
    """A wrong but valid value for each prediction."""
    wrong: tuple[WrongAnswer, ...]
    truths: dict[str, Any]
    """The right values, as they were computed when the lesson was written; a number to a hundredth of it."""
    numbers: tuple[ProseNumber, ...] = ()
    """Numbers in the notebook's words."""
    telling: tuple[str, ...] = ()
    """Words that tell an answer without one of its numbers: a cell shows them after the predictions, and no source has them."""
