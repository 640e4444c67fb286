"""Lesson 9: the table of a paper, on all of its rows and on a part of them."""

from math import sqrt
from typing import Any

from tests.lessons.answers.handed_in import LessonAnswers, ProseNumber, WrongAnswer

from palimpsest.lessons.lesson_plan import LessonSessions
from palimpsest.lessons.plans.paper_table import joined_rows

GROUPS = ["agent", "model", "shown"]


def with_columns(runs: Any) -> Any:
    """Return the rows with their share in per cent and their whole cost."""
    return runs.assign(solved=100 * runs["outcome"], cost=runs["cost"] + runs["summary_cost"])


def right(runs: Any) -> Any:
    """Return the table."""
    return with_columns(runs).groupby(GROUPS)[["solved", "cost"]].mean()


def given(function: Any) -> Any:
    """Return a function that hands a function in."""
    return lambda _sessions: function


def off_by_one(runs: Any) -> Any:
    table = right(runs)
    return table.assign(solved=table["solved"] + 1)


def other_keys(runs: Any) -> Any:
    return with_columns(runs).groupby(GROUPS[1:])[["solved", "cost"]].mean()


def without_a_group(runs: Any) -> Any:
    return right(runs[runs["agent"] == "SWE-agent"])


def stub(runs: Any) -> Any:
    return runs.groupby(GROUPS)[["outcome", "cost"]].mean()


def share_of_one(runs: Any) -> Any:
    table = right(runs)
    return table.assign(solved=table["solved"] / 100)


def without_summaries(runs: Any) -> Any:
    return right(runs.assign(summary_cost=0))


def added_up(runs: Any) -> Any:
    groups = with_columns(runs).groupby(GROUPS)
    return groups[["solved"]].mean().assign(cost=groups["cost"].sum())


def in_words(runs: Any) -> Any:
    table = right(runs)
    return table.assign(cost=table["cost"].map("{:.2f} USD".format))


def of_500(runs: Any) -> Any:
    groups = with_columns(runs).groupby(GROUPS)
    return groups[["solved"]].sum().div(500).assign(cost=groups["cost"].mean())


def statistics_of_columns(runs: Any) -> Any:
    return with_columns(runs).groupby(GROUPS)[["solved", "cost"]].agg(["mean"])


def printed(runs: Any) -> None:
    print(right(runs))  # noqa: T201  # the mistake that is tried


def as_dict(runs: Any) -> Any:
    return right(runs).to_dict()


def copied(sessions: LessonSessions) -> Any:
    table = right(frame(sessions))
    return lambda _runs: table


def result(sessions: LessonSessions) -> Any:
    return right(frame(sessions))


def failing(runs: Any) -> Any:
    return runs.groupby("scaffolding").mean()


def frame(sessions: LessonSessions) -> Any:
    """Return the rows as the notebook makes them."""
    return sessions.table("runs").to_dataframe().merge(sessions.table("experiments").to_dataframe())


def uncertainty(_sessions: LessonSessions) -> str:
    """Return the half width of the 95 % interval of a share of 35 % of 500 tasks, in words."""
    return f"uncertain by about {100 * 1.96 * sqrt(0.35 * 0.65 / 500):.0f} points"


def most_tasks(sessions: LessonSessions) -> str:
    """Return the number of tasks, in words."""
    return f"the {len({row['instance_id'] for row in joined_rows(sessions)})} tasks"


def settings(sessions: LessonSessions) -> str:
    """Return how many models each agent has, in words."""
    pairs = {(row["agent"], row["model"]) for row in joined_rows(sessions)}
    models = sorted(
        sum(agent == name for agent, _ in pairs) for name in {pair[0] for pair in pairs}
    )
    return (
        "two agents and, for one of them, five models" if models == [1, 5] else f"models: {models}"
    )


def small_groups(sessions: LessonSessions) -> str:
    """Return the row with few tasks, in words."""
    sizes: dict[tuple[str, ...], int] = {}
    for row in joined_rows(sessions):
        key = tuple(row[name] for name in GROUPS)
        sizes[key] = sizes.get(key, 0) + 1
    few = [size for size in sizes.values() if size < 496]
    return f"One row has only {few[0]} tasks" if len(few) == 1 else f"{few} tasks"


ANSWERS = LessonAnswers(
    predictions={"cheaper": 20, "where": 1, "new": 40, "caching": "cheaper"},
    wrong=(
        WrongAnswer("the stub", "table", given(stub), "no column 'solved'"),
        WrongAnswer("off by one", "table", given(off_by_one), "`solved` is not right for"),
        WrongAnswer("a share of one", "table", given(share_of_one), "give it in per cent"),
        WrongAnswer("without summaries", "table", given(without_summaries), "wrote the summaries"),
        WrongAnswer("the sum", "table", given(added_up), "not the sum"),
        WrongAnswer("of 500 tasks", "table", given(of_500), "`solved` is not right for"),
        WrongAnswer("a text", "table", given(in_words), "hold numbers"),
        WrongAnswer("agent left out", "table", given(other_keys), "no column 'agent'"),
        WrongAnswer("a group left out", "table", given(without_a_group), "groups of agent"),
        WrongAnswer("more than means", "table", given(statistics_of_columns), "no column"),
        WrongAnswer("printed answer", "table", given(printed), "what is printed is not looked at"),
        WrongAnswer("another type", "table", given(as_dict), "Return a DataFrame"),
        WrongAnswer("copied number", "table", copied, "wrong for a part of them"),
        WrongAnswer("result instead of function", "table", result, "Hand over the function itself"),
        WrongAnswer("a function that fails", "table", given(failing), "Your function failed in"),
    ),
    truths={
        "cheaper": 52.6,
        "where": "OpenHands with Gemini 2.5 Flash",
        "new": 1.607,
        "caching": "dearer",
    },
    numbers=(
        ProseNumber("the 500 tasks", most_tasks),
        ProseNumber("two agents and, for one of them, five models", settings),
        ProseNumber("uncertain by about 4 points", uncertainty),
        ProseNumber("One row has only 50 tasks", small_groups),
    ),
    telling=(
        "The paper's claim holds for most settings",
        "Most of what an agent sends has been sent before",
        "found 96 % read",
    ),
)
