"""Lesson 2: what was sent to a model, beside what was said: a transcript is not the context."""

from functools import partial
from typing import Any

from palimpsest.lessons.exercise_checks import check_function
from palimpsest.lessons.lesson_plan import (
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError

GROWTH_OPTIONS = ("three times as large", "twice as large", "about as large", "half as large")
GROWTH_FACTORS = (3, 2, 1, 0.5)
EARLY_REQUEST = 5
NO_NUMBER_SENTENCE = "Return the number of a request, as a whole number from 2 on."
NO_INSPECTOR_SENTENCE = "Hand over the inspector, as lesson.check(view, 'square'), with its cursor on a square of the grid."
NO_SQUARE_SENTENCE = (
    "No square of the grid is chosen yet: click on one, or run view.place = {'request': its column, 'item': its row}. "
    "Then check again."
)


def last_request(session: SessionReview) -> int:
    """Return the number of the last request."""
    return len(session.timeline.requests)


def shown_tokens(session: SessionReview, request: int, policy: str = "recorded") -> float:
    """Return the tokens of all blocks that a request shows, as recorded or under a policy."""
    return sum(block.tokens for block in session.request(request, policy).blocks)


def shown_share(session: SessionReview) -> float:
    """Return how much of the transcript the last request shows, in per cent of its tokens."""
    request = last_request(session)
    return 100 * shown_tokens(session, request) / shown_tokens(session, request, "raw")


def growth_words(session: SessionReview, early_request: int = EARLY_REQUEST) -> str:
    """Return how large the last request is beside an early one, in words."""
    factor = shown_tokens(session, last_request(session)) / shown_tokens(session, early_request)
    nearest_index = min(
        range(len(GROWTH_OPTIONS)), key=lambda index: abs(GROWTH_FACTORS[index] - factor)
    )
    return GROWTH_OPTIONS[nearest_index]


def first_changed(session: SessionReview) -> int:
    """Return the number of the first request that shows something otherwise than the request before, or no more."""
    return min(int(row["request"] or 0) for row in session.decisions.records())


def first_square(session: SessionReview) -> tuple[int, int]:
    """Return the number of the first request that changes an item, and the first item that it changes, from 1."""
    request = first_changed(session)
    rows = [row for row in session.decisions.records() if row["request"] == request]
    return request, min(int(row["item"] or 0) for row in rows)


def same_prefix_share(session: SessionReview, request: int) -> float:
    """Return how much of a request stands at its beginning as in the request before, in per cent of its tokens."""
    prefix_tokens = session.difference(request - 1, request).prefix_tokens
    return 100 * prefix_tokens / shown_tokens(session, request)


def _share_surprise(sessions: LessonSessions, truth: float) -> str:
    session = sessions["swe"]
    request = last_request(session)
    cleared_count = sum(block.state == "cleared" for block in session.request(request).blocks)
    return (
        f"Request {request} shows {shown_tokens(session, request):,.0f} of {shown_tokens(session, request, 'raw'):,.0f} "
        f"tokens, {truth:.0f} %. {cleared_count} results are cleared: a line of a few words stands in the place of each."
    )


def _growth_surprise(sessions: LessonSessions, _truth: str) -> str:
    session = sessions["swe"]
    request = last_request(session)
    changed_request = first_changed(session)
    return (
        f"Request 5 shows {shown_tokens(session, 5):,.0f} tokens and request {request} {shown_tokens(session, request):,.0f}. "
        f"From request {changed_request} on, each one changes a message that had been sent: {same_prefix_share(session, changed_request - 1):.0f} % "
        f"of request {changed_request - 1} begin as the one before, of request {changed_request} only {same_prefix_share(session, changed_request):.0f} %."
    )


def _wrong_first(value: object, expected: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        return NO_NUMBER_SENTENCE
    assert isinstance(expected, int)
    if value == expected - 1:
        return (
            f"Request {value} is the last one that still showed it as before. Return the number of the request that "
            "shows it otherwise."
        )
    if value < expected:
        return f"Request {value} only adds to the request before it. What comes is no change of what was sent."
    return f"Request {value} changes something, but an earlier request does, too."


def check_square(sessions: LessonSessions, answer: Any) -> CheckResult:
    """Check whether an inspector's cursor is on the first square that was changed after it had been sent."""
    place: Any = getattr(answer, "place", None)
    if not hasattr(place, "item"):
        raise UserError(NO_INSPECTOR_SENTENCE)
    if place.item is None:
        return CheckResult(passed=False, sentence=NO_SQUARE_SENTENCE)
    request, item = first_square(sessions["swe"])
    chosen_request = place.request or last_request(sessions["swe"])
    if place.item != item:
        state_words = "is changed later, or never" if place.item > item else "is never changed"
        sentence = f"Item {place.item} {state_words}. Look for the row that changes its look first."
    elif chosen_request != request:
        state_words = "already changed" if chosen_request > request else "still whole"
        sentence = f"The right row. In request {chosen_request}: It is {state_words} there. Go to the first request that changes it."
    else:
        sentence = f"Right: request {request} is the first to show item {item} cleared."
    return CheckResult(passed=(chosen_request, place.item) == (request, item), sentence=sentence)


CHANGED_MESSAGES = LessonPlan(
    number=2,
    title="A transcript is not the context",
    question="Does a model see what was said, as it was said?",
    notebook="02-a-transcript-is-not-the-context",
    recordings={
        "swe": "marshmallow-1867.traj",
        "claude": "claude_code_spotter/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl",
    },
    predictions=(
        Prediction(
            "share",
            "Of all that was said and done before the last request, how many per cent does that request show?",
            NumberKind("%"),
            lambda sessions: shown_share(sessions["swe"]),
            _share_surprise,
        ),
        Prediction(
            "growth",
            "How large is the last request, number 13, beside request 5?",
            ChoiceKind(GROWTH_OPTIONS),
            lambda sessions: growth_words(sessions["swe"]),
            _growth_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "square",
            "Put the inspector's cursor on the first square whose text was changed after it had been sent.",
            (
                (
                    "Each row of the grid is a text, each column a request. A square that is drawn otherwise than its left "
                    "neighbour was changed there."
                ),
                (
                    "It is a result of a tool, and one of the first. Click on a square; the card below the grid says what "
                    "became of it, and since which request."
                ),
                "The row is the result of `ls -F`. Click on it, then on the request in which the card says *since*.",
            ),
            check_square,
        ),
        Exercise(
            "first",
            "Write first_change(session): the number of the first request that changes what the one before it showed.",
            (
                "session.difference(a, b) compares two requests, and its .changes say what came, went and changed.",
                "A change has .change, which is 'came', 'went' or 'changed'. Only what came is no change of what was sent.",
                (
                    "for n in range(2, len(session.requests.rows) + 1): if any(change.change != 'came' for change in "
                    "session.difference(n - 1, n).changes): return n"
                ),
            ),
            partial(
                check_function,
                truth=first_changed,
                names=("swe", "claude"),
                example="first_change",
                wrong=_wrong_first,
                tolerance=0,
            ),
        ),
    ),
    meaning=(
        (
            "The model did not see the transcript. From the seventh request on the agent kept only the newest five results and "
            "put one line in the place of each older one. The context of a request is what was sent; the transcript is what was "
            "said. Nobody who reads the chat sees the difference."
        ),
        (
            "Two things follow. The context stays about as large while the work goes on: that is what clearing is for. And each "
            "request from there on begins otherwise than the one before, at the place of the result that was just cleared. A "
            "provider's cache keeps beginnings, so everything behind that place is read anew. Lesson 4 counts what that costs."
        ),
    ),
    hide=("tracks", "grid", "card", "window"),
)
