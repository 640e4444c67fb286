"""Lesson 2: the first square, and the first request, that changed what had been sent."""

from types import SimpleNamespace
from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer

from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.changed_messages import first_changed, last_request
from palimpsest.review.session_review import SessionReview

WORDS = {5: "five", 13: "Thirteen"}
ORDINALS = {7: "seventh"}


def whole_results(session: SessionReview) -> int:
    """Return how many results the last request shows whole."""
    blocks = session.request(last_request(session)).blocks
    return sum(block.kind == "output" and block.state == "whole" for block in blocks)


def at(request: int | None, item: int | None) -> Any:
    """Return a function that hands in an inspector at a place."""
    return lambda _sessions: SimpleNamespace(place=SimpleNamespace(request=request, item=item))


def one_before(_sessions: LessonSessions) -> Any:
    return lambda session: first_changed(session) - 1


def last_change(_sessions: LessonSessions) -> Any:
    return lambda session: max(int(row["request"] or 0) for row in session.decisions.records())


def printed(_sessions: LessonSessions) -> Any:
    def first_change(session: Any) -> None:
        print(first_changed(session))  # noqa: T201  # the mistake that is tried

    return first_change


def copied(_sessions: LessonSessions) -> Any:
    return lambda _session: 7


def any_change(_sessions: LessonSessions) -> Any:
    return lambda session: next(n for n in range(2, 20) if session.difference(n - 1, n).changes)


def as_text(_sessions: LessonSessions) -> Any:
    return lambda session: f"request {first_changed(session)}"


ANSWERS = LessonAnswers(
    predictions={"share": 100, "growth": 1},
    wrong=(
        WrongAnswer("off by one", "square", at(6, 4), "It is still whole there"),
        WrongAnswer("too late", "square", at(None, 4), "It is already changed there"),
        WrongAnswer("another row", "square", at(7, 7), "Item 7 is changed later, or never"),
        WrongAnswer("the task", "square", at(7, 1), "Item 1 is never changed"),
        WrongAnswer("no square", "square", at(7, None), "No square of the grid is chosen"),
        WrongAnswer(
            "a copied number", "square", lambda _sessions: (7, 4), "Hand over the inspector"
        ),
        WrongAnswer(
            "off by one",
            "first",
            one_before,
            "Return the number of the request that shows it otherwise",
        ),
        WrongAnswer("the last one", "first", last_change, "but an earlier request does, too"),
        WrongAnswer("printed answer", "first", printed, "what is printed is not looked at"),
        WrongAnswer("copied number", "first", copied, "wrong for another one"),
        WrongAnswer("what came counted", "first", any_change, "only adds to the request before it"),
        WrongAnswer("a text", "first", as_text, "as a whole number"),
    ),
    truths={"share": 63.6, "growth": "about as large"},
    numbers=(
        ProseNumber(
            "Thirteen requests were made",
            lambda found: f"{WORDS[last_request(found['swe'])]} requests were made",
        ),
        ProseNumber(
            "From the seventh request on",
            lambda found: f"From the {ORDINALS[first_changed(found['swe'])]} request on",
        ),
        ProseNumber(
            "kept only the newest five results",
            lambda found: f"kept only the newest {WORDS[whole_results(found['swe'])]} results",
        ),
    ),
    telling=(
        "From the seventh request on",
        "The context stays about as large",
    ),
)
