"""Lesson 5: a policy that costs less than half, forgets little, and is no loss on another session."""

import random
from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer

from palimpsest import policies
from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.policy_contest import estimated_cost, policy_figures


def given(policy: Any) -> Any:
    """Return a function that hands a policy in, whatever the session."""
    return lambda _sessions: policy


def printed_comparison(sessions: LessonSessions) -> Any:
    return sessions["pi"].compare(["pi.compact window=64000 keep_tokens=5000"])


def table_of_figures(sessions: LessonSessions) -> Any:
    return sessions["pi"].compare(["sweagent.last_n"]).to_dataframe()


def copied_cost(sessions: LessonSessions) -> Any:
    return estimated_cost(
        policy_figures(sessions["pi"], "pi.compact window=64000 keep_tokens=5000")
    )


def results_alone(view: Any) -> Any:
    """Leave out results and keep their calls."""
    for index in view.outputs[:-5]:
        yield policies.drop(index)


def at_random(view: Any) -> Any:
    """Clear other results each time."""
    for index in view.outputs[:-5]:
        if random.random() < 0.5:
            yield policies.clear(index)


def looking_ahead(view: Any) -> Any:
    """Clear what the next request does not use, as if it were known."""
    if view.item(view.count).kind == "user":
        yield policies.clear(view.outputs[0])


def longer(view: Any) -> Any:
    """Put a longer text in the place of each result."""
    for index in view.outputs[:-5]:
        yield policies.mask(index, "forgotten " * 10_000)


def knows_the_session(sessions: LessonSessions) -> Any:
    """Return a policy that drops, by their numbers, items of which it is known that they were not needed any more."""
    first = sessions["pi"].timeline.items[0].id
    numbers = range(2, 360)

    def remembered(view: Any) -> Any:
        if view.item(0).id != first or view.count < 400:
            return
        groups = {view.item(index).group for index in numbers} - {""}
        for index in range(view.count):
            if view.item(index).group in groups and view.shows(index):
                yield policies.drop(index)

    return remembered


def own_class_in_a_pipeline(_sessions: LessonSessions) -> Any:
    preset: Any = policies.get("sweagent.last_n")
    return preset | Foresight()


class Foresight:
    """A policy of one's own class, which sees the whole session."""

    name, source, estimator, when, sticky = "foresight", "mine", "chars4", "request", False

    def start(self, _facts: Any) -> Any:
        """Return no state."""
        return {}

    def step(self, _state: Any, _view: Any) -> Any:
        """Decide nothing: it is refused before it is asked."""
        raise AssertionError


def read_price(sessions: LessonSessions) -> str:
    """Return what reading costs beside the price of input, in words."""
    price = sessions["pi"].price()
    return "a tenth of the price" if abs(price.read / price.input - 0.1) < 0.01 else "another price"


def tokens_of_half(sessions: LessonSessions) -> str:
    """Return how much of everything the newest 100 events are on the second session, in words."""
    sliding, everything = (
        policy_figures(sessions["claude"], name) for name in ("openhands.recent", "raw")
    )
    share = sliding.input / everything.input
    return "about half of the tokens" if 0.45 < share < 0.55 else f"{share:.0%} of the tokens"


def nearness(sessions: LessonSessions) -> str:
    """Return whether the bill is near the estimate of ``raw`` on the first session, and far on the second."""
    ratios = []
    for name in ("pi", "claude"):
        paid, raw = sessions[name].compare(["raw"]).table.records()
        ratios.append(float(str(raw["cost"])) / float(str(paid["cost"])))
    is_so = abs(ratios[0] - 1) < 0.01 and ratios[1] > 1.3
    return "Here these two are near each other" if is_so else f"Here they are {ratios}"


def preset_words(name: str, *numbers: str) -> ProseNumber:
    """Return the words for a preset with some of its numbers, which are its defaults."""
    row = next(row for row in policies.list().records() if row["policy"] == name)
    listed = dict(number.split("=", 1) for number in str(row["numbers"]).split(", "))
    words = " ".join([name, *(f"{number}={listed[number]}" for number in numbers)])
    return ProseNumber(words, lambda _sessions: words)


ANSWERS = LessonAnswers(
    predictions={"order": [1, 2, 3, 4, 5], "ten": "cheaper", "sliding": 50},
    wrong=(
        WrongAnswer("off by some", "policy", given("sweagent.last_n n=9"), "% of everything"),
        WrongAnswer("forgets too much", "policy", given("openhands.amortized"), "7 calls again"),
        WrongAnswer(
            "dear elsewhere", "policy", given("pi.compact window=64000"), "of Claude Code: it acts"
        ),
        WrongAnswer(
            "idle elsewhere",
            "policy",
            given("strands.sliding_window messages=200"),
            "it never acts there",
        ),
        WrongAnswer("does nothing", "policy", given("pi.compact"), "so it saves nothing"),
        WrongAnswer("printed answer", "policy", printed_comparison, "Hand over a policy"),
        WrongAnswer("copied number", "policy", copied_cost, "Hand over a policy"),
        WrongAnswer("a table of figures", "policy", table_of_figures, "Hand over a policy"),
        WrongAnswer("nothing", "policy", given(None), "Hand over a policy"),
        WrongAnswer("unknown name", "policy", given("openhands.newest"), "There is no policy"),
        WrongAnswer("cheat: results alone", "policy", given(results_alone), "only together with"),
        WrongAnswer("cheat: at random", "policy", given(at_random), "decides the same"),
        WrongAnswer(
            "cheat: looks ahead", "policy", given(looking_ahead), "only at what came before"
        ),
        WrongAnswer("cheat: longer", "policy", given(longer), "not longer than the item"),
        WrongAnswer("cheat: copied items", "policy", knows_the_session, "it never acts there"),
        WrongAnswer("cheat: own class", "policy", given(Foresight()), "not held to the laws"),
        WrongAnswer(
            "cheat: own class in a pipeline",
            "policy",
            own_class_in_a_pipeline,
            "not held to the laws",
        ),
    ),
    truths={
        "order": [
            "halved at 100 events",
            "summary at 64,000 tokens",
            "newest 5 results",
            "newest 100 events",
            "everything",
        ],
        "ten": "dearer",
        "sliding": 440.1,
    },
    numbers=(
        ProseNumber("a tenth of the price", read_price),
        ProseNumber("about half of the tokens", tokens_of_half),
        ProseNumber("Here these two are near each other", nearness),
        preset_words("sweagent.last_n", "n", "polling"),
        preset_words("anthropic.clear_tool_uses", "trigger", "keep_results", "at_least"),
        preset_words("openhands.amortized", "max_events", "events_left"),
        preset_words("strands.sliding_window", "messages", "per_turn"),
        preset_words("pi.compact", "window", "keep_tokens"),
    ),
    telling=(
        "Fewer tokens are not always cheaper",
        "A window that slides with each event",
    ),
)
