"""Lesson 4: which requests lost the provider's cache, what that cost, and what came before it."""

from collections import Counter
from functools import partial
from itertools import pairwise
from typing import Any

from palimpsest.context_policies.prompt_cache.break_causes import BreakCause
from palimpsest.context_policies.prompt_cache.cache_losses import reporting_requests
from palimpsest.lessons.exercise_checks import check_function, is_same
from palimpsest.lessons.lesson_plan import (
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.cache_breaks import CacheBreak
from palimpsest.review.tables.request_totals import request_totals
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import TimelineRequest

CACHE_SECONDS = 300
"""How long the provider keeps a prompt in its cache in both recordings, as their pauses say."""
AVOIDABLE_CAUSES: frozenset[BreakCause] = frozenset({"idle", "effort", "model"})
"""Causes that a person could have avoided: waiting less, or leaving the settings as they were."""
CAUSE_WORDS = {
    "idle": "a pause longer than the cache is kept",
    "effort": "a change of the model or its reasoning effort",
    "pruned": "the agent changed what it had sent before",
    "unexplained": "nothing that the recording shows",
}
MERGED_CAUSES: dict[str, str] = {"model": "effort", "compacted": "pruned", "rewritten": "pruned"}
"""Causes that a learner is not asked to tell apart."""
SIGNS = ("pause", "setting", "prompt", "none")
RATES_MEANING = (
    "After a long pause the cache was always lost, and after a change of the effort nearly always. After a prompt it was lost "
    "every second time, and without any of these hardly ever. So the prompt matters, and yet it is not enough: something that "
    "this recording does not hold came with some prompts and not with others. To find it one would have to see what was sent, "
    "byte by byte."
)
NO_INSPECTOR_SENTENCE = (
    "Hand over the inspector, as lesson.check(view, 'place'), with its cursor at the break."
)
NO_REQUEST_SENTENCE = (
    "Choose a request first: click on a track, or write its number into the field."
)


def session_bill(session: SessionReview) -> float:
    """Return what all requests of a session cost."""
    return request_totals(session.timeline, session.ruler, session.price()).cost


def break_cost_share(session: SessionReview) -> float:
    """Return the cost of all breaks beyond reading from the cache, in per cent of the bill."""
    return 100 * session.breaks().cost / session_bill(session)


def commonest_cause(session: SessionReview) -> str:
    """Return the words for the cause of most breaks."""
    causes = Counter(
        MERGED_CAUSES.get(cache_break.cause, cache_break.cause) for cache_break in session.breaks()
    )
    return CAUSE_WORDS[causes.most_common(1)[0][0]]


def signs_between(previous: TimelineRequest, request: TimelineRequest) -> list[str]:
    """Return what came between two requests: a long pause, another setting, a prompt; or that there was none of these."""
    seconds = ((request.started or 0) - (previous.started or 0)) / 1000
    signs = {
        "pause": seconds > CACHE_SECONDS,
        "setting": (previous.model, previous.effort) != (request.model, request.effort),
        "prompt": request.turn != previous.turn,
    }
    return [name for name, is_seen in signs.items() if is_seen] or ["none"]


def followers_by_sign(session: SessionReview) -> dict[str, list[bool]]:
    """Return for each sign, and each request after it with reported usage, whether that lost the cache."""
    requests_with_break = {cache_break.request for cache_break in session.breaks()}
    has_break_by_sign: dict[str, list[bool]] = {name: [] for name in SIGNS}
    for previous, request in pairwise(reporting_requests(session.timeline)):
        for sign in signs_between(previous, request):
            has_break_by_sign[sign].append(request.index in requests_with_break)
    return has_break_by_sign


def break_rates(session: SessionReview) -> dict[str, float]:
    """Return for each sign how many per cent of the requests after it lost the cache."""
    return {
        sign: 100 * sum(has_break) / len(has_break)
        for sign, has_break in followers_by_sign(session).items()
    }


def avoidable_break(session: SessionReview) -> CacheBreak:
    """Return the dearest break that a person could have avoided."""
    avoidable = [
        cache_break for cache_break in session.breaks() if cache_break.cause in AVOIDABLE_CAUSES
    ]
    return max(avoidable, key=lambda cache_break: cache_break.cost)


def _losses_surprise(sessions: LessonSessions, _truth: float) -> str:
    breaks = sessions["pi"].breaks()
    empty_count = sum(not cache_break.read for cache_break in breaks)
    return (
        f"{empty_count} of the {breaks.followers} requests that could have read from the cache read nothing of it, and had "
        "everything written anew."
    )


def _share_surprise(sessions: LessonSessions, truth: float) -> str:
    session = sessions["pi"]
    breaks = session.breaks()
    return (
        f"{breaks.cost:.2f} of {session_bill(session):.2f} USD, {truth:.0f} %, paid for words that the cache had held. "
        f"That is {len(breaks)} requests of {len(session.timeline.requests)}."
    )


def _cause_surprise(sessions: LessonSessions, _truth: str) -> str:
    count_by_cause, has_break_by_sign = (
        sessions["pi"].breaks().causes,
        followers_by_sign(sessions["pi"]),
    )
    changes = has_break_by_sign["setting"]
    return (
        f"{count_by_cause['unexplained']} of {sum(count_by_cause.values())} have no cause in the recording, {count_by_cause['idle']} came after a "
        f"pause, and {count_by_cause['effort']} after a change of the reasoning effort, which was changed {len(changes)} times."
    )


def check_place(sessions: LessonSessions, answer: Any) -> CheckResult:
    """Check an inspector whose cursor is at the dearest break that a person could have avoided."""
    place: Any = getattr(answer, "place", None)
    if not hasattr(place, "request"):
        raise UserError(NO_INSPECTOR_SENTENCE)
    session = sessions["pi"]
    if getattr(answer, "session", None) != session.timeline.session:
        raise UserError("That inspector shows another session; hand over the one of this lesson.")
    number = place.request
    if number is None:
        return CheckResult(passed=False, sentence=NO_REQUEST_SENTENCE)
    chosen_break = next(
        (cache_break for cache_break in session.breaks() if cache_break.request == number - 1), None
    )
    if chosen_break == avoidable_break(session):
        sentence = f"Request {number} lost {chosen_break.loss:,} tokens for {chosen_break.cost:.2f} USD: {chosen_break.words}."
        return CheckResult(passed=True, sentence=sentence)
    return CheckResult(passed=False, sentence=_wrong_place(number, chosen_break))


def _wrong_place(number: int, chosen_break: CacheBreak | None) -> str:
    if chosen_break is None:
        return (
            f"Request {number} did not lose the cache. Break before and Next break lead from break to break, and the list "
            "of cache breaks has them all."
        )
    if chosen_break.cause not in AVOIDABLE_CAUSES:
        return (
            f"Nothing in the recording explains the break at request {number}, so nobody can say what would have avoided "
            "it. Look for a break with a cause."
        )
    return f"The break at request {number} could have been avoided, but a dearer one, too."


def _wrong_rates(value: object, expected: object) -> str:
    assert isinstance(expected, dict)
    if not isinstance(value, dict) or not value.keys() >= expected.keys():
        return "Return a dict with the keys 'pause', 'setting', 'prompt' and 'none'."
    if value.keys() != expected.keys():
        return "There are four keys and no others: 'pause', 'setting', 'prompt' and 'none'."
    numbers = {key: number for key, number in value.items() if isinstance(number, int | float)}
    if is_same(value | {key: 100 * number for key, number in numbers.items()}, expected):
        return "These are shares of 1; return per cent."
    key = next(key for key in SIGNS if not is_same(value[key], expected[key]))
    if key == "none":
        return (
            "'none' differs. It counts the requests that come after no pause, no change and no prompt, and that have a "
            "request before them."
        )
    unit = " The column 'started' is in milliseconds." if key == "pause" else ""
    return (
        f"{key!r} differs.{unit} Are the requests without reported usage left out, and the first of the others, which comes "
        "after nothing? And are they divided by the requests after that sign, not by all?"
    )


LOST_CACHES = LessonPlan(
    number=4,
    title="Find the break",
    question="Why did some requests cost ten times as much as their neighbours?",
    notebook="04-find-the-break",
    recordings={
        "pi": "pi_large_session.jsonl",
        "claude": "claude_code_spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
    },
    predictions=(
        Prediction(
            "losses",
            "How many of the 453 requests lost the cache?",
            NumberKind("requests", high=453),
            lambda sessions: len(sessions["pi"].breaks()),
            _losses_surprise,
        ),
        Prediction(
            "share",
            "Of all that the session cost, how many per cent did these losses cost?",
            NumberKind("%"),
            lambda sessions: break_cost_share(sessions["pi"]),
            _share_surprise,
        ),
        Prediction(
            "cause",
            "What stood behind most of them?",
            ChoiceKind(tuple(CAUSE_WORDS.values())),
            lambda sessions: commonest_cause(sessions["pi"]),
            _cause_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "place",
            "Move the cursor to the dearest break that somebody could have avoided, and hand over the inspector.",
            (
                "A break without a known cause cannot be avoided on purpose. Which of these have a cause?",
                "The list of cache breaks names each one's cause and cost; session.breaks() is the same table.",
                "Of the eight breaks after a pause or a change of the effort take the one that lost the most tokens.",
            ),
            check_place,
            tells=True,
        ),
        Exercise(
            "rates",
            "Write break_rates(session): how many per cent of the requests after each sign lost the cache.",
            (
                (
                    "A sign is true or false in each row: rows['turn'] != before['turn'] says which requests came after a prompt."
                ),
                "lost[sign].mean() is the share of the requests where the sign is true that lost the cache.",
                (
                    "pause = rows['started'] - before['started'] > 300_000; setting = (rows['model'] != before['model']) | "
                    "(rows['effort'] != before['effort']); none = ~(pause | setting | prompt)"
                ),
            ),
            partial(
                check_function,
                truth=break_rates,
                names=("pi", "claude"),
                example="break_rates",
                wrong=_wrong_rates,
                meaning=RATES_MEANING,
            ),
            points=2,
        ),
    ),
    meaning=(
        (
            "A size says little about a cost. What counts is whether the beginning is still in the cache. The later a break "
            "comes, the dearer it is, since more is written anew."
        ),
        (
            "And an honest tool says when it does not know. Most breaks of this session come right after a prompt, but that is a "
            "pattern and not yet a cause: other prompts broke nothing. How strong is the pattern? You will count it. "
            "Five changes of the effort and four pauses are few, so in another session the rates will differ."
        ),
    ),
    hide=("breaks",),
    keep_hidden=("figures",),
)
