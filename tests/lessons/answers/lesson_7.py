"""Lesson 7: a policy of one's own that beats a preset on two sessions."""

import random
from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer
from tests.lessons.lesson_notebook import notebook_cells

import palimpsest
from palimpsest import policies
from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.own_rule import (
    CHEATS,
    MAX_POLICY_LINES,
    OLDER_READS_POLICY,
    OWN_RULE,
    RIVAL_POLICY,
    broken_law,
    older_reads,
)
from palimpsest.lessons.plans.policy_contest import CONTESTANTS, contest_order, policy_figures


def given(policy: Any) -> Any:
    """Return a function that hands a policy in, whatever the session."""
    return lambda _sessions: policy


def newest_three(view: Any) -> Any:
    """Clear more than the rival does."""
    for index in view.outputs[:-3]:
        yield policies.clear(index)


def old_turns(view: Any) -> Any:
    """Clear the results of old turns, of which the second session has none."""
    for index in view.outputs:
        if view.item(index).turn < view.turn - 3:
            yield policies.clear(index)


def one_more(view: Any) -> Any:
    """Keep one result more than the rival."""
    for index in view.outputs[:-6]:
        yield policies.clear(index)


@palimpsest.policy(sticky=True)
def in_piles(view: Any) -> Any:
    """Wait for older reads alone."""
    old = [index for index in older(view) if view.state(index) == "whole"]
    if sum(view.tokens(index) for index in old) > 10_000:
        for index in old:
            yield policies.clear(index)


def older(view: Any) -> list[int]:
    """Return the reads of files that were read or changed again later."""
    return [change.item for change in older_reads(view)]


def at_random(view: Any) -> Any:
    """Clear other results each time."""
    for index in view.outputs[:-5]:
        if random.random() < 0.5:
            yield policies.clear(index)


def results_alone(view: Any) -> Any:
    """Leave out results and keep their calls."""
    for index in view.outputs[:-5]:
        yield policies.drop(index)


def looking_ahead(view: Any) -> Any:
    """Ask what comes next."""
    if view.item(view.count).kind == "user":
        yield policies.clear(view.outputs[0])


def longer(view: Any) -> Any:
    """Put a longer text in the place of each result."""
    for index in view.outputs[:-5]:
        yield policies.mask(index, "forgotten " * 10_000)


def knows_the_session(sessions: LessonSessions) -> Any:
    """Return a policy that knows which items of the lesson's session were not needed any more, by their numbers."""
    first = sessions["pi"].timeline.items[0].id

    @palimpsest.policy(sticky=True)
    def remembered(view: Any) -> Any:
        if view.item(0).id != first:
            return
        for most in (100, 200, 300, 400, 500, 600, 700, 800):
            if view.count > most:
                for index in view.outputs:
                    if index < most - 10 and view.state(index) == "whole":
                        yield policies.clear(index)

    return remembered


def long_table(_sessions: LessonSessions) -> Any:
    """Return a policy whose text is a long table of numbers."""
    text = "\n".join(["def table(view):", *(f"    n = {n}" for n in range(30)), "    return []"])
    found: dict[str, Any] = {}
    exec(text, found)  # a cell's code is run in the same way
    policy: Any = palimpsest.policy(found["table"])
    object.__setattr__(policy, "text", text)
    return policy


def printed_comparison(sessions: LessonSessions) -> Any:
    return sessions["pi"].compare(["raw"])


def cell_names(cell: str) -> dict[str, Any]:
    """Return what a cell of the notebook defines."""
    found: dict[str, Any] = {"palimpsest": palimpsest, "policies": policies, "random": random}
    [source] = [cell_["source"] for cell_ in notebook_cells(OWN_RULE) if cell_["id"] == cell]
    exec("".join(source), found)  # the notebook's own code
    return found


def notebook_rule(sessions: LessonSessions) -> str:
    """Return the name of the notebook's rule where it does what the plan's does."""
    shown, planned = (
        policy_figures(sessions["pi"], rule)
        for rule in (cell_names("rule")["older_reads"], OLDER_READS_POLICY)
    )
    same = (shown.cost, shown.fired, shown.retention) == (
        *(planned.cost, planned.fired),
        planned.retention,
    )
    return "def older_reads(view):" if same else "another rule"


def notebook_cheats(sessions: LessonSessions) -> str:
    """Return the names of the notebook's cheats where each breaks the law that the plan's does."""
    cheats = cell_names("cheats")["cheats"]
    for words, cheat in zip(CHEATS, cheats, strict=True):
        assert words.startswith(f"{cheat.__name__}:")
        laws = {
            broken_law(sessions["pi"], rule).rpartition(": ")[2] for rule in (cheat, CHEATS[words])
        }
        assert len(laws) == 1
    return f"cheats = [{', '.join(cheat.__name__ for cheat in cheats)}]"


def longest_result(sessions: LessonSessions) -> str:
    """Return the cheat's line with the number of the longest result."""
    results = [item for item in sessions["pi"].timeline.items if item.kind == "output"]
    longest = max(results, key=lambda item: item.chars)
    return f"policies.clear({longest.index})        # the longest result"


def rival_is_cheap(sessions: LessonSessions) -> str:
    """Return whether lesson 5 found the rival among the cheaper ones."""
    place = contest_order(sessions["pi"]).index("newest 5 results")
    assert CONTESTANTS["newest 5 results"] == RIVAL_POLICY
    return "it was among the cheaper ones" if place < 3 else "it was dear"


ANSWERS = LessonAnswers(
    predictions={"share": 20, "elsewhere": "cheaper", "uncaught": 2},
    wrong=(
        WrongAnswer("the stub", "own", given(OLDER_READS_POLICY), "SWE-agent's last 5 ~17.71"),
        WrongAnswer("too few kept", "own", given(newest_three), "were still shown then"),
        WrongAnswer("off by one", "own", given(one_more), "and breaks the cache"),
        WrongAnswer("idle elsewhere", "own", given(old_turns), "It never acts there"),
        WrongAnswer("reads alone", "own", given(in_piles), "It would cost"),
        WrongAnswer("a preset", "own", given("sweagent.last_n n=10 polling=10"), "of your own"),
        WrongAnswer("copied number", "own", given(17.0), "of your own"),
        WrongAnswer("printed answer", "own", printed_comparison, "of your own"),
        WrongAnswer("too long", "own", long_table, "It has 32 lines; 20 are enough"),
        WrongAnswer("cheat: at random", "own", given(at_random), "decides the same"),
        WrongAnswer("cheat: results alone", "own", given(results_alone), "only together with"),
        WrongAnswer("cheat: looks ahead", "own", given(looking_ahead), "only at what came before"),
        WrongAnswer("cheat: longer", "own", given(longer), "not longer than the item"),
        WrongAnswer("cheat: by heart", "own", knows_the_session, "not on that of Claude Code"),
    ),
    truths={
        "share": 71.6,
        "elsewhere": "dearer",
        "uncaught": "by_heart: clears the item that somebody found to be useless here",
    },
    numbers=(
        ProseNumber("at most 20 lines", lambda _found: f"at most {MAX_POLICY_LINES} lines"),
        ProseNumber("sweagent.last_n n=5", lambda _found: RIVAL_POLICY),
        ProseNumber("it was among the cheaper ones", rival_is_cheap),
        ProseNumber("def older_reads(view):", notebook_rule),
        ProseNumber("policies.clear(35)        # the longest result", longest_result),
        ProseNumber(
            "cheats = [results_alone, coin, foresight, stuffing, by_heart]", notebook_cheats
        ),
    ),
    telling=(
        "by_heart: breaks no law",
        "17.94",
        "each time all that follows is written anew",
        "not who wrote it",
    ),
)
