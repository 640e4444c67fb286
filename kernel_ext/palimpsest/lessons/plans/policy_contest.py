"""Lesson 5: policies side by side: fewer tokens are not always cheaper."""

from functools import partial

from palimpsest.lessons.exercise_checks import check_policy
from palimpsest.lessons.lesson_plan import Exercise, LessonPlan, LessonSessions, Prediction
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind, OrderKind
from palimpsest.review.session_review import PolicyLike, SessionReview
from palimpsest.review.tables.figures import PolicyFigures

CONTESTANTS = {
    "everything": "raw",
    "newest 5 results": "sweagent.last_n n=5",
    "newest 100 events": "openhands.recent",
    "halved at 100 events": "openhands.amortized",
    "summary at 64,000 tokens": "pi.compact window=64000",
}
"""The policies of the first prediction: what they are called, and the preset with its numbers."""
FIVE_RESULTS_POLICY, TEN_RESULTS_POLICY = "sweagent.last_n n=5", "sweagent.last_n n=10"
COST_COMPARISONS = ("cheaper", "about the same", "dearer")
MAX_SAME_DIFFERENCE = 0.03
"""Share by which two estimates differ and are still about the same."""
MAX_COST_SHARE = 0.5
"""What the exercise allows, as a share of what everything would cost."""
MAX_REPEATED = 5


def policy_figures(session: SessionReview, policy: PolicyLike) -> PolicyFigures:
    """Return the figures of a policy over a session."""
    return session.compare([policy]).figures[0]


def estimated_cost(figures: PolicyFigures) -> float:
    """Return what a policy would cost, with its calls for summaries."""
    return figures.cost + (figures.summaries or 0)


def cost_share(figures: PolicyFigures, everything: PolicyFigures) -> float:
    """Return what a policy would cost as a share of what everything would cost."""
    return estimated_cost(figures) / estimated_cost(everything)


def contest_order(session: SessionReview) -> list[str]:
    """Return the words for the contestants, the cheapest first."""
    costs = {
        words: estimated_cost(policy_figures(session, policy))
        for words, policy in CONTESTANTS.items()
    }
    return sorted(costs, key=costs.__getitem__)


def compared_cost(session: SessionReview, policy: PolicyLike, other: PolicyLike) -> str:
    """Return whether a policy is cheaper than another, about the same, or dearer."""
    ratio = cost_share(policy_figures(session, policy), policy_figures(session, other))
    if abs(ratio - 1) <= MAX_SAME_DIFFERENCE:
        return COST_COMPARISONS[1]
    return COST_COMPARISONS[0] if ratio < 1 else COST_COMPARISONS[2]


def sliding_share(session: SessionReview) -> float:
    """Return what the newest 100 events cost, in per cent of everything."""
    return 100 * cost_share(
        policy_figures(session, CONTESTANTS["newest 100 events"]), policy_figures(session, "raw")
    )


def _order_surprise(sessions: LessonSessions, _truth: list[str]) -> str:
    sliding, halved, everything = (
        policy_figures(sessions["pi"], CONTESTANTS[words])
        for words in ("newest 100 events", "halved at 100 events", "everything")
    )
    return (
        f"The newest 100 events are ~{_per_cent(sliding.input, everything.input)} of the tokens of everything, and cost "
        f"~{_per_cent(sliding.cost, everything.cost)} of it: {sliding.cost:.2f} of {everything.cost:.2f} USD. With each new "
        "event the oldest but the first goes, so what follows the first is never the same twice. Halving sends "
        f"~{_per_cent(halved.input, everything.input)}, changes the beginning {halved.breaks} times instead of "
        f"{sliding.breaks}, and costs {halved.cost:.2f} USD."
    )


def _ten_surprise(sessions: LessonSessions, _truth: str) -> str:
    five, ten = (
        policy_figures(sessions["pi"], policy)
        for policy in (FIVE_RESULTS_POLICY, TEN_RESULTS_POLICY)
    )
    return (
        f"~{ten.cost:.2f} USD instead of ~{five.cost:.2f}, for {_per_cent(ten.input - five.input, five.input)} more tokens. "
        "Both change a result before most requests. With 10 it lies further from the end, and all that comes after it is "
        f"written anew: ~{ten.break_tokens / 1e6:.1f} instead of ~{five.break_tokens / 1e6:.1f} million tokens."
    )


def _sliding_surprise(sessions: LessonSessions, truth: float) -> str:
    session = sessions["claude"]
    sliding, everything = (
        policy_figures(session, policy) for policy in ("openhands.recent", "raw")
    )
    return (
        f"~{_per_cent(sliding.input, everything.input)} of the tokens for ~{truth:.0f} % of the cost. Of everything, "
        f"{_per_cent(everything.cached, 1)} come from the cache; of the newest 100 events, {_per_cent(sliding.cached, 1)}. "
        "Doing nothing would be far cheaper."
    )


def _per_cent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %"


def _missed_on_pi(figures: PolicyFigures, everything: PolicyFigures) -> str:
    share = cost_share(figures, everything)
    if not figures.fired:
        return f"It never acts on this session, so it saves nothing. {figures.verdict}"
    if share >= MAX_COST_SHARE:
        return (
            f"It would cost ~{estimated_cost(figures):.2f} USD, {100 * share:.0f} % of everything; the goal is under "
            f"{100 * MAX_COST_SHARE:.0f} %."
        )
    if (figures.repeated or 0) > MAX_REPEATED:
        return (
            f"It is cheap enough, with {100 * share:.0f} % of everything. But the agent made {figures.repeated} calls again "
            f"whose earlier results were no longer whole; the goal is at most {MAX_REPEATED}."
        )
    return ""


def _missed_on_claude(figures: PolicyFigures, everything: PolicyFigures) -> str:
    place_clause = "It reaches the goal on this session, but not on that of Claude Code: "
    advice = " Compare it there: lesson.sessions['claude'].compare(['raw', my_policy])."
    if not figures.fired:
        return f"{place_clause}it never acts there, so it saves nothing.{advice}"
    share = cost_share(figures, everything)
    if share >= 1:
        return f"{place_clause}it acts {figures.fired} times there and would cost {100 * share:.0f} % of everything.{advice}"
    return ""


POLICY_CONTEST = LessonPlan(
    number=5,
    title="Policy shoot-out",
    question="Which way of showing a model less is the cheapest?",
    notebook="05-policy-shoot-out",
    recordings={
        "pi": "pi_large_session.jsonl",
        "claude": "claude_code_spotter/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl",
    },
    predictions=(
        Prediction(
            "order",
            "Order the five policies by what they would cost over this session.",
            OrderKind(tuple(CONTESTANTS), first="cheapest"),
            lambda sessions: contest_order(sessions["pi"]),
            _order_surprise,
        ),
        Prediction(
            "ten",
            "Keep the newest 10 results instead of the newest 5: is that cheaper or dearer?",
            ChoiceKind(COST_COMPARISONS),
            lambda sessions: compared_cost(sessions["pi"], TEN_RESULTS_POLICY, FIVE_RESULTS_POLICY),
            _ten_surprise,
        ),
        Prediction(
            "sliding",
            (
                "A session of Claude Code: the newest 100 events are about half of the tokens of everything. What do they "
                "cost, in per cent of everything?"
            ),
            NumberKind("%", high=1000),
            lambda sessions: sliding_share(sessions["claude"]),
            _sliding_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "policy",
            "Hand over a policy that costs less than half of everything with at most 5 repeated calls.",
            (
                (
                    "Half of the tokens are results (lesson 1). Can a policy that clears results alone come under half of the "
                    "cost? Look at those that take whole turns out."
                ),
                (
                    "Seldom and much at once is kind to the cache. pi.compact has the numbers `window` (when it acts) and `keep_tokens` "
                    "(what stays); session.sweep('pi.compact window=64000', keep_tokens=[2_000, 5_000, 20_000]) tries several."
                ),
                (
                    "Where what stays is nearly as much as what lets it act, it acts again at the next request. Leave it room: a "
                    "window of 64,000 to 100,000, and a keep_tokens well below 20,000."
                ),
            ),
            partial(
                check_policy,
                goals=[("pi", _missed_on_pi), ("claude", _missed_on_claude)],
                passed="Cheap enough, little forgotten, and cheaper than everything on the session of Claude Code, too.",
            ),
        ),
    ),
    meaning=(
        (
            "Fewer tokens are not always cheaper. What is changed near the beginning has all that follows written anew. A window "
            "that slides with each event changes the beginning each time. One that waits, and then takes out a lot at once, "
            "changes it seldom."
        ),
    ),
    hide=("cost", "figures"),
)
