"""Lesson 8: the call that started a subagent, and the tokens with which two sessions begin alike."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer

from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.shared_beginnings import (
    common_block_tokens,
    first_own_request,
    growth_by_subagent,
    last_request,
    prompt_tokens,
    request_after_revert,
    shared_prefix,
    task_call,
)


def at(item: int | None) -> Any:
    """Return a function that hands in an inspector at an item."""
    return lambda _sessions: SimpleNamespace(place=SimpleNamespace(request=None, item=item))


def beside_the_call(step: int) -> Any:
    """Return a function that hands in an inspector so many items after the call."""
    return lambda sessions: at(task_call(sessions["work"]).index + 1 + step)(sessions)


def last_blocks(session: Any) -> Any:
    return session.request(last_request(session)).blocks


def one_block_more(_sessions: LessonSessions) -> Any:
    def answer(a: Any, b: Any) -> float:
        pairs = [*zip(last_blocks(a), last_blocks(b), strict=False)]
        equal = next(n for n, (x, y) in enumerate(pairs) if x.text != y.text)
        return sum(float(block.tokens) for block, _ in pairs[: equal + 1])

    return answer


def without_tools(_sessions: LessonSessions) -> Any:
    def answer(a: Any, b: Any) -> float:
        tools = sum(block.tokens for block in last_blocks(a) if block.role == "system")
        return shared_prefix(a, b) - float(tools)

    return answer


def printed(_sessions: LessonSessions) -> Any:
    def prefix(a: Any, b: Any) -> None:
        print(shared_prefix(a, b))  # noqa: T201  # the mistake that is tried

    return prefix


def copied(sessions: LessonSessions) -> Any:
    tokens = shared_prefix(sessions["fork"], sessions["edited"])
    return lambda _a, _b: tokens


def anywhere(_sessions: LessonSessions) -> Any:
    return common_block_tokens


def as_text(_sessions: LessonSessions) -> Any:
    return lambda a, b: f"{shared_prefix(a, b)} tokens"


def one_session(_sessions: LessonSessions) -> Any:
    return lambda session: len(session.requests.rows)


def the_value(sessions: LessonSessions) -> Any:
    return shared_prefix(sessions["fork"], sessions["edited"])


def _plan_size(sessions: LessonSessions) -> str:
    own = first_own_request(sessions["fork"], sessions["work"])
    return f"about {round(prompt_tokens(own), -3):,} tokens"


def _pause(sessions: LessonSessions) -> str:
    requests = sessions["work"].timeline.requests
    pauses = {
        later.seconds_since(before)
        for before, later in pairwise(requests)
        if later.turn != before.turn
    }
    return (
        "a minute or two after one another"
        if all(60 <= (p or 0) < 150 for p in pauses)
        else str(pauses)
    )


def _subagent_request(sessions: LessonSessions) -> str:
    work = sessions["work"]
    call = task_call(work).index
    number = next(n.index + 2 for n in work.timeline.requests if call < n.answer[1])
    assert growth_by_subagent(work) > 0
    return f"at request {number}, when the subagent has answered"


def _field_book_request(sessions: LessonSessions) -> str:
    items = sessions["work"].timeline.items
    read = next(i for i in items if i.kind == "output" and i.label.endswith("fieldbook.md"))
    return f"at request {read.entered + 1}, when the field book is read"


ANSWERS = LessonAnswers(
    predictions={"fork": 30, "again": 100, "subagent": 4_000},
    wrong=(
        WrongAnswer("off by one", "place", beside_the_call(1), "what came back from the subagent"),
        WrongAnswer("off by two", "place", beside_the_call(-1), "no call of a tool"),
        WrongAnswer("another call", "place", at(31), "runs bash in the session itself"),
        WrongAnswer("beyond the end", "place", at(4_000), "no call of a tool"),
        WrongAnswer("no row", "place", at(None), "No row of the grid is chosen yet"),
        WrongAnswer("copied number", "place", lambda _sessions: 36, "Hand over the inspector"),
        WrongAnswer("off by one", "prefix", one_block_more, "Is the first block that differs"),
        WrongAnswer("without tools", "prefix", without_tools, "the tools and the system prompt"),
        WrongAnswer("printed answer", "prefix", printed, "what is printed is not looked at"),
        WrongAnswer("copied number", "prefix", copied, "wrong for another one"),
        WrongAnswer("anywhere", "prefix", anywhere, "stop at the first block that differs"),
        WrongAnswer("a text", "prefix", as_text, "Return one number"),
        WrongAnswer("one session", "prefix", one_session, "Your function failed"),
        WrongAnswer("its value", "prefix", the_value, "Hand over the function itself"),
    ),
    truths={"fork": 99.76, "again": 4_270, "subagent": 206},
    numbers=(
        ProseNumber("about 7,000 tokens", _plan_size),
        ProseNumber("a minute or two after one another", _pause),
        ProseNumber("at request 4, when the field book is read", _field_book_request),
        ProseNumber("at request 15, when the subagent has answered", _subagent_request),
        ProseNumber(
            "view = lesson.inspect(request=18,",
            lambda found: (
                f"view = lesson.inspect(request={request_after_revert(found['work']).index + 1},"
            ),
        ),
    ),
    telling=(
        "a fork as well as a revert",
        "only its answer comes back",
    ),
)
