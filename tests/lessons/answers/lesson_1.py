"""Lesson 1: shares of kinds in the largest request."""

from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, WrongAnswer

from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.token_kinds import largest_request, percent_by_kind


def off_by_one(_sessions: LessonSessions) -> Any:
    return lambda session: percent_by_kind(session, largest_request(session) - 100)


def printed(_sessions: LessonSessions) -> Any:
    def kinds_at_the_peak(session: Any) -> None:
        print(percent_by_kind(session, largest_request(session)))  # noqa: T201  # the mistake that is tried

    return kinds_at_the_peak


def copied(sessions: LessonSessions) -> Any:
    shares = percent_by_kind(sessions["pi"], largest_request(sessions["pi"]))
    return lambda _session: shares


def in_tokens(_sessions: LessonSessions) -> Any:
    def kinds_at_the_peak(session: Any) -> dict[str, float]:
        shares = percent_by_kind(session, largest_request(session))
        return {kind: share * 1_000 for kind, share in shares.items()}

    return kinds_at_the_peak


def called(sessions: LessonSessions) -> Any:
    return percent_by_kind(sessions["pi"], largest_request(sessions["pi"]))


def without_a_kind(_sessions: LessonSessions) -> Any:
    def kinds_at_the_peak(session: Any) -> dict[str, float]:
        shares = percent_by_kind(session, largest_request(session))
        return {kind: share for kind, share in shares.items() if kind != "reasoning"}

    return kinds_at_the_peak


def failing(_sessions: LessonSessions) -> Any:
    return lambda session: session.requests["input"]


ANSWERS = LessonAnswers(
    predictions={"share": 20, "thumb": 5},
    wrong=(
        WrongAnswer("off by one", "kinds", off_by_one, "Is it the request with the most input"),
        WrongAnswer("printed answer", "kinds", printed, "what is printed is not looked at"),
        WrongAnswer("copied number", "kinds", copied, "wrong for another one"),
        WrongAnswer("in tokens", "kinds", in_tokens, "in per cent of all blocks they come to 100"),
        WrongAnswer("result instead of function", "kinds", called, "Hand over the function itself"),
        WrongAnswer("a kind left out", "kinds", without_a_kind, "'reasoning' lacks"),
        WrongAnswer("a function that fails", "kinds", failing, "Your function failed in line"),
    ),
    truths={"share": 51.7, "thumb": 29.8},
    telling=(
        "Half of the window are results",
        "A third are the calls",
        "For code that is too few",
    ),
)
