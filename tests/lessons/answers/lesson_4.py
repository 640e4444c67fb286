"""Lesson 4: the dearest break that could have been avoided, and how often the cache was lost after what."""

from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer

from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.lost_caches import (
    avoidable_break,
    break_rates,
    followers_by_sign,
)
from palimpsest.public.recorded_session import RecordedSession


def inspector_at(sessions: LessonSessions, request: int | None, name: str = "pi") -> Any:
    """Return an inspector with its cursor at a request."""
    session = sessions[name]
    assert isinstance(session, RecordedSession)
    return session.inspect() if request is None else session.inspect(request=request)


def off_by_one_place(sessions: LessonSessions) -> Any:
    return inspector_at(sessions, avoidable_break(sessions["pi"]).request + 2)


def dearest_of_all(sessions: LessonSessions) -> Any:
    return inspector_at(sessions, max(sessions["pi"].breaks(), key=lambda b: b.cost).request + 1)


def dearest_change(sessions: LessonSessions) -> Any:
    changes = [
        cache_break for cache_break in sessions["pi"].breaks() if cache_break.cause == "effort"
    ]
    return inspector_at(sessions, max(changes, key=lambda b: b.cost).request + 1)


def copied_place(sessions: LessonSessions) -> Any:
    return avoidable_break(sessions["pi"]).request + 1


def left_as_opened(sessions: LessonSessions) -> Any:
    return inspector_at(sessions, None)


def other_inspector(sessions: LessonSessions) -> Any:
    return inspector_at(sessions, 139, "claude")


def off_by_one_row(_sessions: LessonSessions) -> Any:
    def rates(session: Any) -> Any:
        rows = session.requests.to_dataframe().dropna(subset=["input"])
        lost = rows["request"].isin(session.breaks().to_dataframe()["request"])
        before = rows.shift()
        signs = {
            "pause": rows["started"] - before["started"] > 300_000,
            "setting": (rows["model"] != before["model"]) | (rows["effort"] != before["effort"]),
            "prompt": rows["turn"] != before["turn"],
        }
        signs["none"] = ~(signs["pause"] | signs["setting"] | signs["prompt"])
        return {name: 100 * lost[sign].mean() for name, sign in signs.items()}

    return rates


def with_unreported(_sessions: LessonSessions) -> Any:
    def rates(session: Any) -> Any:
        rows = session.requests.to_dataframe()
        lost = rows["request"].isin(session.breaks().to_dataframe()["request"])[1:]
        before, rows = rows.shift()[1:], rows[1:]
        prompt = rows["turn"] != before["turn"]
        return {**break_rates(session), "prompt": 100 * lost[prompt].mean()}

    return rates


def of_all_breaks(_sessions: LessonSessions) -> Any:
    def rates(session: Any) -> Any:
        after = followers_by_sign(session)
        return {sign: 100 * sum(lost) / len(session.breaks()) for sign, lost in after.items()}

    return rates


def printed_rates(_sessions: LessonSessions) -> Any:
    return lambda session: print(break_rates(session))  # noqa: T201  # the mistake that is tried


def copied_rates(sessions: LessonSessions) -> Any:
    rates = break_rates(sessions["pi"])
    return lambda _session: rates


def shares_of_one(_sessions: LessonSessions) -> Any:
    return lambda session: {sign: rate / 100 for sign, rate in break_rates(session).items()}


def none_as_rest(_sessions: LessonSessions) -> Any:
    return lambda session: {**break_rates(session), "none": 100 - break_rates(session)["prompt"]}


def without_none(_sessions: LessonSessions) -> Any:
    return lambda session: {"prompt": break_rates(session)["prompt"]}


def failing(_sessions: LessonSessions) -> Any:
    return lambda session: session.breaks()["request"]


def setting_rate(sessions: LessonSessions) -> str:
    """Return how often the effort was changed, and how many breaks came right after a pause."""
    after = followers_by_sign(sessions["pi"])
    words = ("no", "one", "two", "three", "four", "five")
    return f"{words[len(after['setting'])].capitalize()} changes of the effort and {words[len(after['pause'])]} pauses"


def times_dearer(sessions: LessonSessions) -> str:
    """Return whether request 209 cost about ten times what request 212 cost."""
    costs = sessions["pi"].requests.records()
    dear, cheap = costs[208]["cost"], costs[211]["cost"]
    assert isinstance(dear, float)
    assert isinstance(cheap, float)
    return "ten times" if 9 < dear / cheap < 15 else f"{dear / cheap:.0f} times"


def read_price(sessions: LessonSessions) -> str:
    """Return what reading costs beside the price of input, in words."""
    price = sessions["pi"].price()
    return "a tenth of the price" if abs(price.read / price.input - 0.1) < 0.01 else "another price"


ANSWERS = LessonAnswers(
    predictions={"losses": 5, "share": 10, "cause": 1},
    wrong=(
        WrongAnswer("off by one", "place", off_by_one_place, "did not lose the cache"),
        WrongAnswer("the dearest of all", "place", dearest_of_all, "Look for a break with a cause"),
        WrongAnswer("the dearest change", "place", dearest_change, "but a dearer one, too"),
        WrongAnswer("copied number", "place", copied_place, "Hand over the inspector"),
        WrongAnswer("left as opened", "place", left_as_opened, "Choose a request first"),
        WrongAnswer("another inspector", "place", other_inspector, "shows another session"),
        WrongAnswer("off by one", "rates", off_by_one_row, "'setting' differs"),
        WrongAnswer("requests without usage", "rates", with_unreported, "'prompt' differs"),
        WrongAnswer("divided by all breaks", "rates", of_all_breaks, "not by all"),
        WrongAnswer("printed answer", "rates", printed_rates, "what is printed is not looked at"),
        WrongAnswer("copied number", "rates", copied_rates, "wrong for another one"),
        WrongAnswer("shares of one", "rates", shares_of_one, "return per cent"),
        WrongAnswer("none as the rest", "rates", none_as_rest, "'none' differs"),
        WrongAnswer("keys left out", "rates", without_none, "Return a dict with the keys"),
        WrongAnswer("a function that fails", "rates", failing, "Your function failed in line"),
    ),
    truths={"losses": 37, "share": 46.84, "cause": "nothing that the recording shows"},
    numbers=(
        ProseNumber("453 requests", lambda s: f"{len(s['pi'].timeline.requests)} requests"),
        ProseNumber("ten times", times_dearer),
        ProseNumber("a tenth of the price", read_price),
        ProseNumber("Five changes of the effort and four pauses", setting_rate),
    ),
    telling=(
        "Most breaks of this session come right after a prompt",
        "After a prompt it was lost every second time",
    ),
)
