"""Check the answers to exercises: call a learner's function, compare its values, replay a learner's policy.

A function is called with two sessions, so that a number that was copied or printed is not taken for a computation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import isclass
from traceback import walk_tb
from typing import Any

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.own_policies.own_code_errors import code_place_text
from palimpsest.context_policies.replay.simulation import RAW_NAME
from palimpsest.lessons.lesson_plan import CheckResult, LessonSessions
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.figures import PolicyFigures
from palimpsest.transcript.errors import UserError

MAX_NUMBER_DIFFERENCE = 0.01
"""Share by which a number may differ from the right one: rounding is right, off by one is not always within it."""
NOTHING_RETURNED_SENTENCE = (
    "Your function returns None. Let it return its value: what is printed is not looked at."
)
NOT_CALLABLE_SENTENCE = (
    "Hand over the function itself, as lesson.check({name}), not what it returns or prints."
)
COPIED_SENTENCE = (
    "It is right for this lesson's session, but wrong for another one. Compute the value from the session that the "
    "function is given."
)
NO_POLICY_SENTENCE = "Hand over a policy: a preset by its name and numbers, such as 'sweagent.last_n n=10', or your function."
OWN_CLASS_SENTENCE = (
    "An object of your own class sees the whole session and is not held to the laws; hand over a preset by its name, or a "
    "function of the view."
)
MAX_ERROR_CHARS = 200
PACKAGE = __name__.partition(".")[0]
ASSUMED_SUMMARY = "stub(1500)"
"""Each summary that was never written counts as much, whatever a policy says of its own."""

PolicyGoal = Callable[[PolicyFigures, PolicyFigures], str]
"""Returns why the figures of a policy, beside those of ``raw``, miss a goal; empty where they reach it."""


def check_function(
    sessions: LessonSessions,
    answer: Any,
    truth: Callable[[SessionReview], Any],
    *,
    names: Sequence[str],
    example: str,
    wrong: Callable[[Any, Any], str],
    tolerance: float = MAX_NUMBER_DIFFERENCE,
    meaning: str = "",
) -> CheckResult:
    """Compare a learner's function with ``truth`` over the sessions ``names``, the lesson's own first.

    ``example`` is the function's name in the notebook; ``wrong`` gets the learner's value and the right one and
    returns a sentence that helps, without the right value. ``meaning`` is said to who is right.
    """
    cases = (((sessions[name],), partial(truth, sessions[name])) for name in names)
    passed = f"Right, for {len(names)} session{'s'[: len(names) - 1]}."
    return check_values(
        answer,
        cases,
        example=example,
        wrong=wrong,
        copied=COPIED_SENTENCE,
        passed=f"{passed} {meaning}".rstrip(),
        tolerance=tolerance,
    )


def check_values(
    answer: Any,
    cases: Iterable[tuple[Sequence[Any], Callable[[], Any]]],
    *,
    example: str,
    wrong: Callable[[Any, Any], str],
    copied: str,
    passed: str,
    tolerance: float = MAX_NUMBER_DIFFERENCE,
    as_plain_value: Callable[[Any], Any] = lambda value: value,
) -> CheckResult:
    """Call a learner's function with each case's arguments and compare with what its second member returns.

    A wrong value of the first case fails with the sentence of ``wrong``, one of a later case with ``copied``.
    ``as_plain_value`` makes numbers, texts, lists and mappings of what the function returns, or raises UserError.
    """
    if not callable(answer) or isclass(answer):
        raise UserError(NOT_CALLABLE_SENTENCE.format(name=example))
    for index, (arguments, truth) in enumerate(cases):
        value = call_answer(answer, *arguments)
        if value is None:
            return CheckResult(passed=False, sentence=NOTHING_RETURNED_SENTENCE)
        value, expected = as_plain_value(value), truth()
        if not is_same(value, expected, tolerance):
            return CheckResult(passed=False, sentence=copied if index else wrong(value, expected))
    return CheckResult(passed=True, sentence=passed)


def check_policy(
    sessions: LessonSessions, answer: Any, goals: Sequence[tuple[str, PolicyGoal]], *, passed: str
) -> CheckResult:
    """Replay a learner's policy over sessions and compare it with showing everything; the sentence is that of the first missed goal.

    ``goals`` are names of sessions, each with a function that gets the figures of the policy and of ``raw`` and returns
    a sentence where the goal is missed, else an empty text. Raises UserError for what is no policy, and where one breaks
    a law or fails.
    """
    for name, missed in goals:
        policies = [checked_policy(sessions[name], answer), RAW_NAME]
        figures, raw_figures = sessions[name].compare(policies, summary=ASSUMED_SUMMARY).figures
        if sentence := missed(figures, raw_figures):
            return CheckResult(passed=False, sentence=sentence)
    return CheckResult(passed=True, sentence=passed)


def checked_policy(session: SessionReview, answer: Any) -> ContextPolicy | None:
    """Return a learner's policy, None for ``raw``; raises UserError for what is no policy, or is not held to the laws."""
    if not isinstance(answer, str) and not callable(answer) and not hasattr(answer, "step"):
        raise UserError(NO_POLICY_SENTENCE)
    policy = session.policy(answer)
    stages = policy.stages if isinstance(policy, Pipeline) else (policy,)
    if any(type(stage).__module__.partition(".")[0] != PACKAGE for stage in stages if stage):
        raise UserError(OWN_CLASS_SENTENCE)
    return policy


def call_answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a learner's function returns; raises UserError with the line where it failed."""
    try:
        return function(*arguments)
    except UserError:
        raise
    except Exception as error:
        file = getattr(getattr(function, "__code__", None), "co_filename", "")
        frames = walk_tb(error.__traceback__)
        own_frames = [frame for frame in frames if frame[0].f_code.co_filename == file]
        where = f" in {code_place_text(*own_frames[-1])}" if own_frames else ""
        text = one_line(f"{type(error).__name__}: {error}", MAX_ERROR_CHARS).rstrip(".")
        raise UserError(f"Your function failed{where}: {text}.") from error


def is_same(value: Any, expected: Any, tolerance: float = MAX_NUMBER_DIFFERENCE) -> bool:
    """Return whether a value is the expected one: numbers within ``tolerance``, a share of it, mappings and lists member by member."""
    if isinstance(expected, Mapping):
        if not isinstance(value, Mapping):
            return False
        member_by_name = {str(key): member for key, member in value.items()}
        return member_by_name.keys() == {str(key) for key in expected} and all(
            is_same(member_by_name[str(key)], member, tolerance) for key, member in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(is_same(a, b, tolerance) for a, b in zip(value, expected, strict=True))
        )
    if isinstance(expected, bool | str) or expected is None:
        return bool(value == expected)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool) and abs(number - expected) <= tolerance * abs(expected)
