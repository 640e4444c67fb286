"""Lesson 3: a policy that makes long results short, at little loss."""

import random
from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer

from palimpsest import policies
from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.long_results import MAX_COST_SHARES, MIN_KEPT_SHARES, acting_limits

WORDS = ("none", "one", "two", "three", "four", "five")


def given(policy: Any) -> Any:
    """Return a function that hands a policy in, whatever the session."""
    return lambda _sessions: policy


def the_stub(view: Any, chars: int = 2_000) -> Any:
    """Cut every long result at once."""
    for index in view.outputs:
        if view.chars(index) > chars:
            yield policies.truncate(index, chars)


def too_short(view: Any) -> Any:
    """Cut every result at once, and too much."""
    for index in view.outputs:
        yield policies.truncate(index, 300)


def never(view: Any) -> Any:
    """Cut what is longer than any result."""
    for index in view.outputs:
        if view.chars(index) > 1_000_000:
            yield policies.truncate(index, 100)


def calls_without_results(view: Any) -> Any:
    """Leave out results and keep their calls."""
    for index in view.outputs[:-5]:
        yield policies.drop(index)


def at_random(view: Any) -> Any:
    """Cut other results each time."""
    for index in view.outputs[:-5]:
        if random.random() < 0.5:
            yield policies.truncate(index, 500)


def failing(view: Any) -> Any:
    """Use what the view does not have."""
    for index in view.outputs:
        if len(view.texts[index]) > 1_000:
            yield policies.truncate(index, 1_000)


def knows_the_session(sessions: LessonSessions) -> Any:
    """Return a policy that only knows the lesson's session by its first item."""
    first = sessions["pi"].timeline.items[0].id

    def remembered(view: Any) -> Any:
        if view.item(0).id == first:
            for index in view.outputs[:-5]:
                if view.chars(index) > 1_000:
                    yield policies.truncate(index, 1_000)

    return remembered


def copied_cost(sessions: LessonSessions) -> Any:
    return sessions["pi"].compare(["raw"]).figures[0].cost


def printed_comparison(sessions: LessonSessions) -> Any:
    return sessions["pi"].compare([the_stub])


ANSWERS = LessonAnswers(
    predictions={"tenth": 30, "acting": 5},
    wrong=(
        WrongAnswer("the stub", "limit", given(the_stub), "the goal is at most 72 %"),
        WrongAnswer("too short", "limit", given(too_short), "were still shown then"),
        WrongAnswer("never acts", "limit", given(never), "It never acts there"),
        WrongAnswer("a result without its call", "limit", given(calls_without_results), "call"),
        WrongAnswer("at random", "limit", given(at_random), "at_random"),
        WrongAnswer("code that fails", "limit", given(failing), "line"),
        WrongAnswer("cheating policy", "limit", knows_the_session, "not on that of Claude Code"),
        WrongAnswer("copied number", "limit", copied_cost, "policy"),
        WrongAnswer("printed answer", "limit", printed_comparison, "Hand over"),
    ),
    truths={"tenth": 68.6, "acting": 3},
    numbers=(
        ProseNumber(
            "two of the five published limits touch none",
            lambda found: (
                f"{WORDS[5 - acting_limits(found['pi'])]} of the five published limits touch none"
            ),
        ),
        ProseNumber(
            "**at most 72 %**", lambda _found: f"**at most {100 * MAX_COST_SHARES['pi']:.0f} %**"
        ),
        ProseNumber(
            "**at least 95 %**", lambda _found: f"**at least {100 * MIN_KEPT_SHARES['pi']:.0f} %**"
        ),
        ProseNumber(
            "at most 80 % and at least 92 % are enough",
            lambda _found: (
                f"at most {100 * MAX_COST_SHARES['claude']:.0f} % and at least {100 * MIN_KEPT_SHARES['claude']:.0f} % are enough"
            ),
        ),
    ),
    telling=(
        "two of the five published limits touch none",
        "a limit touches few of them",
    ),
)
