"""Lesson 3: long results of tools: cut at once, cleared later, or kept elsewhere."""

from functools import partial

from palimpsest.lessons.exercise_checks import check_policy
from palimpsest.lessons.lesson_plan import Exercise, LessonPlan, LessonSessions, Prediction
from palimpsest.lessons.prediction_kinds import NumberKind
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.figures import PolicyFigures

LIMIT_PRESETS = (
    "deepagents.offload",
    "gemini.truncate",
    "mini_swe_agent.output",
    "smolagents.output",
    "strands.offload",
)
"""Limits of five agents and libraries on the length of a result."""
MAX_COST_SHARES = {"pi": 0.72, "claude": 0.8}
"""What the exercise allows in each session, as a share of what everything would cost."""
MIN_KEPT_SHARES = {"pi": 0.95, "claude": 0.92}
"""Share of the used names that must still be shown when they are used."""


def result_sizes(session: SessionReview) -> list[int]:
    """Return the characters of each result of a tool, the longest first."""
    results = (item for item in session.timeline.items if item.kind == "output")
    return sorted((item.chars for item in results), reverse=True)


def longest_tenth_share(session: SessionReview) -> float:
    """Return how much of the characters of all results the longest tenth of them holds, in per cent."""
    result_chars = result_sizes(session)
    return 100 * sum(result_chars[: round(len(result_chars) / 10)]) / sum(result_chars)


def limit_figures(session: SessionReview) -> tuple[PolicyFigures, ...]:
    """Return the figures of the five limits."""
    return session.compare(LIMIT_PRESETS).figures


def acting_limits(session: SessionReview) -> int:
    """Return how many of the five limits act on a session at all."""
    return sum(bool(figures.fired) for figures in limit_figures(session))


def _tenth_surprise(sessions: LessonSessions, truth: float) -> str:
    sizes = result_sizes(sessions["pi"])
    return (
        f"{round(len(sizes) / 10)} of {len(sizes)} results hold {truth:.0f} % of the characters. The longest has "
        f"{sizes[0]:,}, the one in the middle {sizes[len(sizes) // 2]:,}. A rule for long results touches few of them."
    )


def _acting_surprise(sessions: LessonSessions, _truth: float) -> str:
    session = sessions["pi"]
    figures = limit_figures(session)
    idle_names = " and ".join(limit.name for limit in figures if not limit.fired)
    acting_limits = [limit for limit in figures if limit.fired]
    cheapest = min(acting_limits, key=lambda limit: limit.cost)
    everything = session.compare(["raw"]).figures[0]
    return (
        f"{idle_names} never act; the others act before at most {max(limit.fired or 0 for limit in acting_limits)} of "
        f"{len(session.requests.rows)} requests. {cheapest.name} still saves "
        f"~{100 * (1 - cheapest.cost / everything.cost):.0f} %: long files were read early, and each later request sends "
        "them again."
    )


def _missed_goal(session_name: str, figures: PolicyFigures, everything: PolicyFigures) -> str:
    place_clause = ""
    if session_name != "pi":
        place_clause = "It reaches the goals on this session, but not on that of Claude Code: "
    if not figures.fired:
        return f"{place_clause}It never acts there, so it saves nothing."
    share, max_share = figures.cost / everything.cost, MAX_COST_SHARES[session_name]
    if share > max_share:
        return (
            f"{place_clause}It would cost ~{figures.cost:.2f} USD, {100 * share:.0f} % of everything; the goal is at most "
            f"{100 * max_share:.0f} %."
        )
    kept_share, min_share = figures.retention or 0.0, MIN_KEPT_SHARES[session_name]
    if kept_share < min_share:
        return (
            f"{place_clause}It is cheap enough, with {100 * share:.0f} % of everything. But of the names that the agent used only "
            f"{100 * kept_share:.1f} % were still shown then; the goal is at least {100 * min_share:.0f} %."
        )
    return ""


LONG_RESULTS = LessonPlan(
    number=3,
    title="Truncate, clear, offload",
    question="What is the best thing to do with a long result?",
    notebook="03-truncate-clear-offload",
    recordings={
        "pi": "pi_large_session.jsonl",
        "claude": "claude_code_spotter/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl",
    },
    predictions=(
        Prediction(
            "tenth",
            "How much of the text of all results do the longest tenth of them hold, in per cent?",
            NumberKind("%"),
            lambda sessions: longest_tenth_share(sessions["pi"]),
            _tenth_surprise,
        ),
        Prediction(
            "acting",
            "Of the five limits in the table, how many ever act on this session?",
            NumberKind(high=len(LIMIT_PRESETS)),
            lambda sessions: float(acting_limits(sessions["pi"])),
            _acting_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "limit",
            "Hand over a policy that makes long results short, and loses little of what is used later.",
            (
                "The limit of 2,000 characters in the cell saves a quarter. Which way does the number go for more?",
                (
                    "A result is used most right after it came. Cut it at once, and the model has never seen the rest. When "
                    "could one cut it instead?"
                ),
                (
                    "Leave the newest results whole: for index in view.outputs[:-5]. Cut the older ones to 1,000 characters."
                ),
            ),
            partial(
                check_policy,
                goals=[(name, partial(_missed_goal, name)) for name in MAX_COST_SHARES],
                passed="Cheap enough on both sessions, and nearly all that was used is still shown when it is used.",
            ),
        ),
    ),
    meaning=(
        (
            "Results are very unequal, so a limit touches few of them, and two of the five published limits touch none here. One "
            "early, long result is what is dear: not because it is long, but because it is sent again hundreds of times."
        ),
    ),
    hide=("cost", "figures"),
    keep_hidden=("breaks",),
)
