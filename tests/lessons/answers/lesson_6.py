"""Lesson 6: the requests that hold a rule, and a policy under which it survives."""

from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer
from tests.lessons.answers.lesson_5 import Foresight

from palimpsest import policies
from palimpsest.context_policies.own_policies.custom import policy
from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.surviving_facts import (
    FACTS,
    MAX_TOKEN_SHARE,
    RULE,
    last_request,
    rule_requests,
)

WORDS = {20: "Twenty", 5: "five"}


def from_zero(_sessions: LessonSessions) -> Any:
    return lambda session: [number - 1 for number in rule_requests(session)]


def printed(_sessions: LessonSessions) -> Any:
    def rule_requests_of(session: Any) -> None:
        print(rule_requests(session))  # noqa: T201  # the mistake that is tried

    return rule_requests_of


def copied(_sessions: LessonSessions) -> Any:
    return lambda _session: list(range(1, 21))


def with_the_file(_sessions: LessonSessions) -> Any:
    return lambda session: [
        number
        for number in range(1, last_request(session) + 1)
        if any("data/raw.csv" in block.text for block in session.request(number).blocks)
    ]


def only_the_first(_sessions: LessonSessions) -> Any:
    return lambda session: rule_requests(session)[:1]


def how_many(_sessions: LessonSessions) -> Any:
    return lambda session: len(rule_requests(session))


def failing(_sessions: LessonSessions) -> Any:
    return lambda session: [request.text for request in session.requests.rows if RULE]


def chosen(words: str) -> Any:
    """Return a function that hands in a policy by its name."""
    return lambda _sessions: words


def own_class(_sessions: LessonSessions) -> Any:
    return Foresight()


def half_a_call(_sessions: LessonSessions) -> Any:
    @policy
    def no_results(view: Any) -> Any:
        for index in view.outputs:
            yield policies.drop(index)

    return no_results


def compared(sessions: LessonSessions) -> Any:
    return sessions["early"].compare(["recorded"])


def _before(sessions: LessonSessions) -> int:
    return sessions["early"].compactions()[0].request


def _longest_goal(sessions: LessonSessions) -> int:
    """Return the characters of the longest line of a summary's goals, which is cut."""
    goals = sessions["early"].compactions()[0].summary.partition("## Goal")[2].partition("##")[0]
    line = max(goals.splitlines(), key=len).removeprefix("- ")
    assert line.endswith("...")
    return len(line)


def _newest_turns(sessions: LessonSessions) -> str:
    words = sessions["early"].compactions()[0].conversation
    return "The newest two turns stay" if "the newest 2 turns" in words else words


ANSWERS = LessonAnswers(
    predictions={"order": [*FACTS][::-1], "gone": 10, "rule": 1},
    wrong=(
        WrongAnswer("off by one", "requests", from_zero, "Requests count from 1"),
        WrongAnswer("printed answer", "requests", printed, "what is printed is not looked at"),
        WrongAnswer("copied number", "requests", copied, "wrong for another one"),
        WrongAnswer("the file's name", "requests", with_the_file, "does not yet hold the rule"),
        WrongAnswer("the first only", "requests", only_the_first, "For each request ask"),
        WrongAnswer("a number", "requests", how_many, "Return a list with the numbers"),
        WrongAnswer("an error", "requests", failing, "Your function failed"),
        WrongAnswer(
            "the beginning lost",
            "survive",
            chosen("pi.compact window=22000 keep_tokens=1000"),
            "In the session where the rule is said first, the last request does not hold it",
        ),
        WrongAnswer(
            "the end lost",
            "survive",
            chosen("langchain.trim_messages max_tokens=2000 strategy=first"),
            "In the session where the rule is said last, the last request does not hold it",
        ),
        WrongAnswer("never acts", "survive", chosen("openhands.llm"), "it never acts"),
        WrongAnswer("everything", "survive", chosen("raw"), "it never acts"),
        WrongAnswer(
            "too large", "survive", chosen("sweagent.last_n n=1"), "of the tokens of everything"
        ),
        WrongAnswer(
            "off by one",
            "survive",
            chosen("roo.truncate window=15000"),
            "of the tokens of everything",
        ),
        WrongAnswer("no policy", "survive", compared, "Hand over a policy"),
        WrongAnswer("no such policy", "survive", chosen("openhands.lm"), "openhands.llm"),
        WrongAnswer("a policy that cheats", "survive", own_class, "not held to the laws"),
        WrongAnswer("a law broken", "survive", half_a_call, "its call"),
    ),
    truths={
        "order": [
            "error messages",
            "paths of files",
            "names in code",
            "numbers",
            "rules of the person",
        ],
        "gone": 76.92,
        "rule": "only where it was said last",
    },
    numbers=(
        ProseNumber(
            "Twenty requests were made, then the conversation was compacted, then five more requests",
            lambda found: (
                f"{WORDS[_before(found)]} requests were made, then the conversation was compacted, then "
                f"{WORDS[last_request(found['early']) - _before(found)]} more requests"
            ),
        ),
        ProseNumber(
            "from request 21 on the rule is nowhere",
            lambda found: (
                f"from request {rule_requests(found['early'])[-1] + 1} on the rule is nowhere"
            ),
        ),
        ProseNumber(
            f"**at most {100 * MAX_TOKEN_SHARE:.0f} %**",
            lambda _found: f"**at most {100 * MAX_TOKEN_SHARE:.0f} %**",
        ),
        ProseNumber(
            "This one cut each prompt after 200 characters",
            lambda found: f"This one cut each prompt after {_longest_goal(found)} characters",
        ),
        ProseNumber("The newest two turns stay", _newest_turns),
        ProseNumber(RULE, lambda found: found["early"].compactions()[0].constraints[0].sentence),
    ),
    telling=(
        "from request 21 on the rule is nowhere",
        "the rule stood behind them",
    ),
)
