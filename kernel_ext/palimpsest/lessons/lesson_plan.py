"""The values that make up a lesson: its question, data, predictions with their truth, and exercises with their checks.

Border: values, and functions that compute from sessions; nothing is shown and nothing is written here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from palimpsest.lessons.prediction_kinds import PredictionKind
from palimpsest.render.reports.table import ReportTable
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError

SESSION_MARK = "#"
"""Stands between a recording and the id of one of its sessions."""
HINT_COUNT = 3
"""Hints of each exercise, from a push to nearly the answer."""
SHARED_LIMITS = (
    "What a provider reported is a fact; what a replay computes is an estimate, marked with ~.",
    (
        "A replay keeps the recorded actions: a saving is an upper bound, and what was forgotten a lower bound, since "
        "an agent that saw less might have done more."
    ),
)
"""Limits of every lesson that replays a recording under a policy."""


class LessonSessions(Protocol):
    """The recorded sessions of a lesson, opened at their first use."""

    def __getitem__(self, name: str, /) -> SessionReview:
        """Return a session by its name in ``LessonPlan.recordings``."""

    def table(self, name: str, /) -> ReportTable:
        """Return a table by its name in ``LessonPlan.tables``."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question whose answer a learner predicts before it is shown."""

    name: str
    """A short name in code, such as ``share``."""
    question: str
    kind: PredictionKind
    truth: Callable[[LessonSessions], Any]
    """Computes the right value, as ``kind.validated_value`` returns one."""
    surprise: Callable[[LessonSessions, Any], str]
    """Returns a sentence on the truth, with its numbers; its second argument is the truth."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether an answer to an exercise is right, and why not."""

    passed: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """One task, whose answer is a function, a policy, or a place in the inspector."""

    name: str
    """A short name in code, such as ``kinds``."""
    task: str
    """One sentence on what to hand to ``lesson.check``."""
    hints: tuple[str, str, str]
    check: Callable[[LessonSessions, Any], CheckResult]
    """Computes the right answer from the sessions and compares; raises ``UserError`` for what is no answer."""
    points: int = 1
    """Points in a grader."""
    tells: bool = False
    """Whether the sentence on a wrong answer tells the answer to a prediction."""


Named = TypeVar("Named", Prediction, Exercise)


@dataclass(frozen=True, slots=True)
class LessonPlan:
    """One lesson."""

    number: int
    title: str
    question: str
    notebook: str
    """The notebook's file name without its ending."""
    recordings: Mapping[str, str]
    """Names of its sessions, the main one first, and the files in ``data``, with ``#`` and an id for one of several."""
    predictions: tuple[Prediction, ...]
    exercises: tuple[Exercise, ...]
    tables: Mapping[str, str] = field(default_factory=dict)
    """Names of its tables, and the files with comma-separated values in ``data``."""
    meaning: tuple[str, ...] = ()
    """What the answers mean, a paragraph each: shown once all predictions are kept."""
    hide: tuple[str, ...] = ()
    """Parts of the inspector that tell the answer: hidden until all predictions are kept."""
    keep_hidden: tuple[str, ...] = ()
    """Parts that tell the answer of a later lesson: hidden also afterwards."""
    limits: tuple[str, ...] = SHARED_LIMITS
    minutes: int = 15

    @property
    def files(self) -> tuple[str, ...]:
        """The recordings, each once."""
        names = (name.partition(SESSION_MARK)[0] for name in self.recordings.values())
        return tuple(dict.fromkeys(names))

    def prediction(self, name: str) -> Prediction:
        """Return a prediction by its name; raises UserError with all names."""
        return _named(self.predictions, name, "prediction", self.number)

    def exercise(self, name: str = "") -> Exercise:
        """Return an exercise by its name, or the only one; raises UserError with all names."""
        if not name and len(self.exercises) == 1:
            return self.exercises[0]
        return _named(self.exercises, name, "exercise", self.number)


def _named(values: Sequence[Named], name: str, noun: str, number: int) -> Named:
    for value in values:
        if value.name == name:
            return value
    names = ", ".join(repr(value.name) for value in values)
    raise UserError(f"Lesson {number} has no {noun} {name!r:.40}; there is {names}.")
