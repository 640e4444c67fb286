"""Lesson 8: what a fork, a revert, another beginning and a subagent share with what was sent before."""

from functools import partial
from itertools import takewhile
from typing import Any

from palimpsest.lessons.exercise_checks import COPIED_SENTENCE, check_values, is_same
from palimpsest.lessons.lesson_plan import (
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.lessons.plans.changed_messages import last_request
from palimpsest.lessons.prediction_kinds import NumberKind
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import TimelineItem, TimelineRequest

PROJECT = "own_branches"
CHECKED_PAIRS = (("fork", "edited"), ("work", "fork"))
"""The sessions that a function is checked with; what the first has in common with the second is counted."""
NO_INSPECTOR_SENTENCE = (
    "Hand over the inspector, as lesson.check(view, 'place'), with its cursor on a row of the grid."
)
NO_ROW_SENTENCE = "No row of the grid is chosen yet: click on one, or run view.place = {'item': its number}. Then check again."
MAX_SUM_DIFFERENCE = 0.002
"""Share by which a sum of tokens may differ, where each was rounded; a short prompt more is wrong."""
TASK_TOOL = "task"
"""The tool that starts a subagent."""


def prompt_tokens(request: TimelineRequest) -> int:
    """Return the tokens of a request, as reported."""
    assert request.usage is not None  # our engine reports the usage of each request
    return request.usage.prompt


def new_tokens(request: TimelineRequest) -> int:
    """Return the tokens of a request that were not read from the cache, as reported."""
    assert request.usage is not None
    return request.usage.prompt - request.usage.cache_read


def cached_share(request: TimelineRequest) -> float:
    """Return how much of a request was read from the cache, in per cent."""
    return 100 * (1 - new_tokens(request) / prompt_tokens(request))


def first_own_request(fork: SessionReview, parent: SessionReview) -> TimelineRequest:
    """Return the first request of a fork that its parent has not made."""
    requests_of_parent = {request.id for request in parent.timeline.requests}
    return next(
        request for request in fork.timeline.requests if request.id not in requests_of_parent
    )


def request_after_revert(session: SessionReview) -> TimelineRequest:
    """Return the first request after the session's first revert."""
    event = next(event for event in session.timeline.events if event.kind == "undo")
    return session.timeline.requests[event.request]


def tokens_to_same_place(session: SessionReview) -> int:
    """Return the tokens of all requests up to the first one of the last prompt that were not read from the cache."""
    requests = session.timeline.requests
    first_request = next(request for request in requests if request.turn == requests[-1].turn)
    return sum(new_tokens(request) for request in requests[: first_request.index + 1])


def task_call(session: SessionReview) -> TimelineItem:
    """Return the call that started a subagent."""
    calls = (item for item in session.timeline.items if item.kind == "call")
    return next(call for call in calls if call.tool == TASK_TOOL)


def growth_by_subagent(session: SessionReview) -> int:
    """Return by how many tokens the request after a subagent is larger than the one that called it."""
    requests = session.timeline.requests
    call_index = task_call(session).index
    calling_request = next(request for request in requests if call_index < request.answer[1])
    return prompt_tokens(requests[calling_request.index + 1]) - prompt_tokens(calling_request)


def shared_prefix(first: SessionReview, second: SessionReview) -> float:
    """Return the tokens of the blocks with which the last requests of two sessions begin alike, counted in the first."""
    blocks, other_blocks = (
        session.request(last_request(session)).blocks for session in (first, second)
    )
    equal_pairs = takewhile(
        lambda pair: pair[0].text == pair[1].text, zip(blocks, other_blocks, strict=False)
    )
    return sum(block.tokens for block, _ in equal_pairs)


def common_block_tokens(first: SessionReview, second: SessionReview) -> float:
    """Return the tokens of the blocks of the first session's last request that stand anywhere in that of the second."""
    blocks, other_blocks = (
        session.request(last_request(session)).blocks for session in (first, second)
    )
    texts = {block.text for block in other_blocks}
    return sum(block.tokens for block in blocks if block.text in texts)


def _fork_surprise(sessions: LessonSessions, _truth: float) -> str:
    request = first_own_request(sessions["fork"], sessions["work"])
    request_after = request_after_revert(sessions["work"])
    return (
        f"{prompt_tokens(request) - new_tokens(request):,} of {prompt_tokens(request):,} tokens: only the new prompt is new. A cache knows "
        "no sessions, it knows beginnings, and a fork begins with what its parent has sent. After the revert it is the same: "
        f"request {request_after.index + 1} reads {cached_share(request_after):.0f} % from the cache."
    )


def _again_surprise(sessions: LessonSessions, truth: float) -> str:
    edited = sessions["edited"]
    request = first_own_request(sessions["fork"], sessions["work"])
    first_request = edited.timeline.requests[0]
    return (
        f"{truth:,.0f} tokens, {truth / new_tokens(request):,.0f} times as many as the {new_tokens(request):,} of the fork. Its first "
        f"request still finds {cached_share(first_request):.0f} % in the cache, since tools and system prompt stand before the prompt. "
        f"All that follows the changed words is new, and {request.index + 1} requests are made instead of one."
    )


def _subagent_surprise(sessions: LessonSessions, truth: float) -> str:
    reader_requests = sessions["reader"].timeline.requests
    max_tokens = max(prompt_tokens(request) for request in reader_requests)
    total_tokens = sum(prompt_tokens(request) for request in reader_requests)
    return (
        f"{truth:,.0f} tokens: the call and one sentence. The subagent made {len(reader_requests)} requests of its own, up to "
        f"{max_tokens:,} tokens, {total_tokens:,} in all. It has a window of its own, with a system prompt of its own. What it reads "
        "does not fill its parent's window, and what it does not say is lost with it."
    )


def check_place(sessions: LessonSessions, answer: Any) -> CheckResult:
    """Check whether an inspector's cursor is on the call that started the subagent."""
    place: Any = getattr(answer, "place", None)
    if not hasattr(place, "item"):
        raise UserError(NO_INSPECTOR_SENTENCE)
    if place.item is None:
        return CheckResult(passed=False, sentence=NO_ROW_SENTENCE)
    items = sessions["work"].timeline.items
    call = task_call(sessions["work"])
    if place.item == call.index + 1:
        sentence = f"Right: item {place.item} is the call that started the subagent."
        return CheckResult(passed=True, sentence=sentence)
    chosen_item = items[place.item - 1] if place.item <= len(items) else None
    if chosen_item is not None and chosen_item.group and chosen_item.group == call.group:
        answer_words = "That is what came back from the subagent. What started it?"
    elif chosen_item is not None and chosen_item.kind == "call":
        answer_words = f"That call runs {chosen_item.tool} in the session itself. Look for the call of another tool."
    else:
        answer_words = "That is no call of a tool."
    return CheckResult(passed=False, sentence=f"Item {place.item}: {answer_words}")


def _wrong_prefix(value: Any, first: SessionReview, second: SessionReview) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "Return one number, the tokens."
    expected = shared_prefix(first, second)
    if is_same(value, common_block_tokens(first, second), MAX_SUM_DIFFERENCE):
        return "You count blocks that stand somewhere in both. A cache reads a beginning: stop at the first block that differs."
    if value > expected:
        return "That is more than they begin with in common. Is the first block that differs counted, too?"
    return (
        "That is less than they begin with in common. Compare the blocks of the two last requests one by one, the tools and "
        "the system prompt, too."
    )


def check_prefix(sessions: LessonSessions, answer: Any) -> CheckResult:
    """Check a function that returns the tokens with which two sessions begin alike."""
    pairs = ((sessions[first], sessions[second]) for first, second in CHECKED_PAIRS)
    return check_values(
        answer,
        ((pair, partial(shared_prefix, *pair)) for pair in pairs),
        example="shared_prefix",
        wrong=lambda value, _expected: _wrong_prefix(
            value, *(sessions[name] for name in CHECKED_PAIRS[0])
        ),
        copied=COPIED_SENTENCE,
        passed=f"Right, for {len(CHECKED_PAIRS)} pairs of sessions.",
        tolerance=MAX_SUM_DIFFERENCE,
    )


SHARED_BEGINNINGS = LessonPlan(
    number=8,
    title="Revert, fork, resume, subagents",
    question="A second try: what of it has been paid for already?",
    notebook="08-revert-fork-resume-subagents",
    recordings={
        "work": f"{PROJECT}#ses_ffe74301a97ffffe4RQUfn1qJh",
        "fork": f"{PROJECT}#ses_ffe743014eadfffcw4fv0TPlun",
        "edited": f"{PROJECT}#ses_ffe743011cdffffceAOniN2Iqh",
        "reader": f"{PROJECT}#ses_ffe743015295fffcORID0evTvb",
    },
    predictions=(
        Prediction(
            "fork",
            "How much of the fork's first request is read from the cache, in per cent?",
            NumberKind("%"),
            lambda sessions: cached_share(first_own_request(sessions["fork"], sessions["work"])),
            _fork_surprise,
        ),
        Prediction(
            "again",
            (
                "The session that begins anew makes all requests again, up to the one that asks for the plan. How many of their "
                "tokens come from no cache, in all?"
            ),
            NumberKind("tokens", high=100_000),
            lambda sessions: tokens_to_same_place(sessions["edited"]),
            _again_surprise,
        ),
        Prediction(
            "subagent",
            "The subagent reads two files. By how many tokens does the next request of its parent grow?",
            NumberKind("tokens", high=100_000),
            lambda sessions: growth_by_subagent(sessions["work"]),
            _subagent_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "place",
            "Put the inspector's cursor on the call that started the subagent, and hand over the inspector.",
            (
                "A subagent is started by a call of a tool, like a read. Look at the rows of the grid that are calls.",
                "The tool has the name `task`. session.items.to_dataframe() lists the items with their tools.",
                "It is the item with the kind `call` and the tool `task`: view.place = {'item': its number}.",
            ),
            check_place,
        ),
        Exercise(
            "prefix",
            "Hand over a function that returns how many tokens the last requests of two sessions begin with in common.",
            (
                "zip(*last) gives pairs: a block of a, and the block of b that stands in the same place.",
                "Add up the `tokens` of a's block as long as both texts are the same.",
                "At the first pair whose `text` differs leave the loop with `break`: what follows is not a beginning any more.",
            ),
            check_prefix,
        ),
    ),
    meaning=(
        (
            "A cache does not know what a session is. It knows beginnings. Whatever keeps the beginning is nearly free, a fork as "
            "well as a revert. A changed word near the beginning makes all that follows new, even where it says the same as before."
        ),
        (
            "So put what may change at the end, try again late and not early, and fork before you try. And give to a subagent "
            "what needs much reading and has a short answer: it begins with nothing of yours, and only its answer comes back."
        ),
    ),
    hide=("cost", "tracks", "grid", "card"),
    limits=(
        (
            "The cache of these sessions is simulated: what a request begins with in common with an earlier one counts as read "
            "from it. A provider forgets after minutes, and may keep no beginning of a few hundred tokens."
        ),
    ),
)
