"""Lesson 9: the table of a paper, computed from its results, and what its costs leave out."""

from collections.abc import Iterable, Mapping
from functools import partial
from statistics import fmean
from typing import Any

from palimpsest.lessons.exercise_checks import check_values, is_same
from palimpsest.lessons.lesson_plan import (
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.lessons.plans.policy_contest import COST_COMPARISONS, compared_cost, policy_figures
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.errors import UserError

Group = tuple[str, str, str]
"""Agent, model, and what was shown."""
Row = Mapping[str, Any]
ALL, MASKED, MASKED_72, SUMMARY = "everything", "masked (10)", "masked (72)", "summary"
AGENT, OTHER_AGENT = "SWE-agent", "OpenHands"
CODER, FLASH, THINKING = "Qwen3-Coder 480B", "Gemini 2.5 Flash", "Gemini 2.5 Flash, thinking"
SETTINGS = (
    (AGENT, FLASH),
    (AGENT, THINKING),
    (AGENT, "Qwen3 32B"),
    (AGENT, "Qwen3 32B, thinking"),
    (AGENT, CODER),
    (OTHER_AGENT, FLASH),
)
"""The agents and models of the paper."""
MIN_CLEAR_POINTS = 5
"""Points by which a share of solved tasks is clearly higher."""
MASK_POLICY = "complexity_trap.mask n=10"
TABLE_COLUMNS = ("agent", "model", "shown", "solved", "cost")
PART_PREFIX = "django"
"""How the names of the tasks begin on which an answer is checked, too."""
COPIED_ROWS = "It is right for all rows, but wrong for a part of them. Compute the table from the rows that the function is given."
TRACELAB_CACHED = 0.96
"""Share of the input of 4,265 sessions that was read from a cache: TraceLab, arXiv 2606.30560."""


def joined_rows(sessions: LessonSessions) -> list[dict[str, Any]]:
    """Return the paper's runs of the settings, one for each task, with agent, model, and what was shown."""
    setting_by_experiment = {
        row["experiment"]: row for row in sessions.table("experiments").records()
    }
    return [
        {**row, **setting_by_experiment[row["experiment"]]}
        for row in sessions.table("runs").records()
        if row["experiment"] in setting_by_experiment
    ]


def solved_and_cost(rows: Iterable[Row]) -> dict[Group, tuple[float, float]]:
    """Return the solved tasks in per cent, and the mean cost of a task in USD with its calls for summaries, by group."""
    groups: dict[Group, list[Row]] = {}
    for row in rows:
        groups.setdefault((row["agent"], row["model"], row["shown"]), []).append(row)
    return {
        group: (
            100 * fmean(row["outcome"] for row in members),
            fmean(row["cost"] + row["summary_cost"] for row in members),
        )
        for group, members in groups.items()
    }


def setting_words(agent: str, model: str) -> str:
    """Return a setting for people."""
    return f"{agent} with {model}"


def saved_by_masking(sessions: LessonSessions) -> dict[str, float]:
    """Return how much cheaper masking is than showing everything, in per cent, by the models of SWE-agent."""
    table = solved_and_cost(joined_rows(sessions))
    return {
        model: 100 * (1 - table[agent, model, MASKED][1] / table[agent, model, ALL][1])
        for agent, model in SETTINGS
        if agent == AGENT
    }


def summary_is_better(sessions: LessonSessions) -> str:
    """Return the setting in which a summary solves clearly more tasks than masking."""
    table = solved_and_cost(joined_rows(sessions))
    return next(
        setting_words(*setting)
        for setting in SETTINGS
        if table[(*setting, SUMMARY)][0] - table[(*setting, MASKED)][0] > MIN_CLEAR_POINTS
    )


def new_share(session: SessionReview) -> float:
    """Return how many of the tokens of all requests were sent for the first time, in per cent."""
    use = session.cache_use()
    return 100 * use.appended / use.input


def read_share(session: SessionReview) -> float:
    """Return how many of the tokens of all requests were read from the cache, in per cent."""
    use = session.cache_use()
    return 100 * (1 - use.fresh / use.input)


def _cheaper_surprise(sessions: LessonSessions, _truth: float) -> str:
    (all_solved, all_cost), (masked_solved, masked_cost) = (
        solved_and_cost(joined_rows(sessions))[AGENT, CODER, shown] for shown in (ALL, MASKED)
    )
    saved_percents = saved_by_masking(sessions).values()
    return (
        f"A task costs {masked_cost:.2f} instead of {all_cost:.2f} USD, and {masked_solved:.1f} instead of {all_solved:.1f} % are solved. "
        f"Over the {len(saved_percents)} models in SWE-agent it is from {min(saved_percents):.0f} to {max(saved_percents):.0f} %."
    )


def _where_surprise(sessions: LessonSessions, _truth: str) -> str:
    table = solved_and_cost(joined_rows(sessions))
    other_agent_solved, same_model_solved, thinking_solved = (
        [table[agent, model, shown][0] for shown in (SUMMARY, MASKED)]
        for agent, model in ((OTHER_AGENT, FLASH), (AGENT, FLASH), (AGENT, THINKING))
    )
    return (
        f"There a summary solves {other_agent_solved[0]:.1f} %, and masking {other_agent_solved[1]:.1f} %. The same model in SWE-agent: {same_model_solved[0]:.1f} and "
        f"{same_model_solved[1]:.1f} %; with thinking {thinking_solved[0]:.1f} and {thinking_solved[1]:.1f} %, so there masking is ahead. In OpenHands it "
        f"had to keep 72 results to solve {table[OTHER_AGENT, FLASH, MASKED_72][0]:.1f} %."
    )


def _caching_surprise(sessions: LessonSessions, _truth: str) -> str:
    masked, everything = (
        policy_figures(sessions["claude"], policy) for policy in (MASK_POLICY, "raw")
    )
    return (
        f"~{100 * masked.cost / everything.cost:.0f} % of the cost of everything; without a cache it would be "
        f"~{100 * masked.cost_uncached / everything.cost_uncached:.0f} %. The mask changes an older result before nearly each "
        f"request, {masked.breaks} times, and all that follows it is written anew."
    )


def _new_surprise(sessions: LessonSessions, _truth: float) -> str:
    claude, pi = sessions["claude"], sessions["pi"]
    use = claude.cache_use()
    return (
        f"{use.appended:,} of {use.input:,}; {read_share(claude):.1f} % were read from the cache. In the session of pi "
        f"{new_share(pi):.1f} % were new, and {read_share(pi):.1f} % read. TraceLab found {100 * TRACELAB_CACHED:.0f} % read in "
        "4,265 sessions."
    )


def plain_table(value: Any) -> dict[Group, tuple[float, float]]:
    """Return a learner's DataFrame as a mapping; raises UserError for what is none, or lacks a column."""
    if not callable(getattr(value, "reset_index", None)) or not hasattr(value, "columns"):
        raise UserError("Return a DataFrame with a row for each agent, model and what was shown.")
    frame = value if set(TABLE_COLUMNS) <= {*value.columns} else value.reset_index()
    missing_columns = [name for name in TABLE_COLUMNS if name not in [*frame.columns]]
    if missing_columns:
        raise UserError(
            f"The table has no column {missing_columns[0]!r}. It has agent, model and shown (as columns or index), solved and cost."
        )
    try:
        return {
            (row["agent"], row["model"], row["shown"]): (float(row["solved"]), float(row["cost"]))
            for row in frame[[*TABLE_COLUMNS]].to_dict("records")
        }
    except (TypeError, ValueError) as error:
        raise UserError("The columns `solved` and `cost` hold numbers.") from error


def _wrong_table(value: object, expected: object) -> str:
    assert isinstance(value, dict)
    assert isinstance(expected, dict)
    if set(value) != set(expected):
        return f"Your table has {len(value)} rows; there are {len(expected)} groups of agent, model and what was shown."
    group, (solved, cost), (right_solved, right_cost) = next(
        (group, value[group], expected[group])
        for group in expected
        if not is_same(value[group], expected[group])
    )
    group_text = ", ".join(group)
    if not is_same(solved, right_solved):
        if is_same(100 * solved, right_solved):
            return "`solved` is a share of 1; give it in per cent."
        return f"`solved` is not right for {group_text}: the mean of `outcome` over its rows, in per cent."
    if cost < right_cost:
        return f"`cost` is too low for {group_text}: did nobody pay for the calls that wrote the summaries?"
    return f"`cost` is too high for {group_text}: the mean of a task, not the sum or the most."


def check_table(sessions: LessonSessions, answer: object) -> CheckResult:
    """Check a function that computes the paper's table, on all rows and on a part of them."""
    rows = joined_rows(sessions)
    part_rows = [row for row in rows if str(row["instance_id"]).startswith(PART_PREFIX)]
    runs = sessions.table("runs").to_dataframe().merge(sessions.table("experiments").to_dataframe())
    return check_values(
        answer,
        [
            ((runs,), partial(solved_and_cost, rows)),
            (
                (runs[runs["instance_id"].str.startswith(PART_PREFIX)],),
                partial(solved_and_cost, part_rows),
            ),
        ],
        example="paper_table",
        wrong=_wrong_table,
        copied=COPIED_ROWS,
        passed=f"Right, for all rows and for the tasks of {PART_PREFIX} alone.",
        as_plain_value=plain_table,
    )


PAPER_TABLE = LessonPlan(
    number=9,
    title="Reproduce a paper",
    question="Is hiding old results as good as having them summarised?",
    notebook="09-reproduce-a-paper",
    recordings={
        "claude": "claude_code_spotter/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl",
        "pi": "pi_large_session.jsonl",
    },
    tables={
        "runs": "complexity_trap/experiment_instance_costs_combined.csv",
        "experiments": "complexity_trap/experiments.csv",
    },
    predictions=(
        Prediction(
            "cheaper",
            f"{setting_words(AGENT, CODER)}: by how many per cent is masking cheaper than showing everything?",
            NumberKind("%"),
            lambda sessions: saved_by_masking(sessions)[CODER],
            _cheaper_surprise,
        ),
        Prediction(
            "where",
            f"In which of the six does a summary solve clearly more tasks than masking (over {MIN_CLEAR_POINTS} points)?",
            ChoiceKind(tuple(setting_words(*setting) for setting in SETTINGS)),
            summary_is_better,
            _where_surprise,
        ),
        Prediction(
            "new",
            "Of 100 tokens that a session of Claude Code sent, how many had not been sent before?",
            NumberKind("%", decimals=1),
            lambda sessions: new_share(sessions["claude"]),
            _new_surprise,
        ),
        Prediction(
            "caching",
            "Masking in this session of Claude Code, at prices with a cache: what does it cost beside showing everything?",
            ChoiceKind(COST_COMPARISONS),
            lambda sessions: compared_cost(sessions["claude"], MASK_POLICY, "raw"),
            _caching_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "table",
            "Hand over a function that computes solved tasks and costs by agent, model, and what was shown.",
            (
                (
                    "Group by three columns at once: runs.groupby(['agent', 'model', 'shown']). Which columns do you need the "
                    "mean of?"
                ),
                (
                    "`outcome` is 1 where the task was solved, so its mean is a share; you want per cent. What a task cost is "
                    "`cost` and `summary_cost` together."
                ),
                (
                    "runs.assign(solved=100 * runs['outcome'], cost=runs['cost'] + runs['summary_cost']) has both columns; group "
                    "it and take the mean of [['solved', 'cost']]."
                ),
            ),
            check_table,
        ),
    ),
    meaning=(
        "The paper's claim holds for most settings, and not for all: it depends on the agent and on the model.",
        (
            "And its costs are those of a world without a cache. Most of what an agent sends has been sent before, and a provider "
            "reads it from its cache at a fraction of the price. Who changes an old message pays for it."
        ),
    ),
    hide=("cost", "figures"),
)
