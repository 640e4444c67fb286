"""Lesson 7: a policy of one's own: what is not needed any more, when to clear it, and what the laws catch."""

import random
from collections.abc import Callable, Iterator, Mapping

from palimpsest.context_policies.interface.laws import PolicyBreach
from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.own_policies.custom import CustomPolicy, policy_of_function
from palimpsest.context_policies.own_policies.decisions import clear, drop, mask
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.lessons.exercise_checks import PolicyGoal, check_policy
from palimpsest.lessons.lesson_plan import (
    SHARED_LIMITS,
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.lessons.plans.policy_contest import (
    COST_COMPARISONS,
    compared_cost,
    estimated_cost,
    policy_figures,
)
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind
from palimpsest.review.session_review import PolicyLike, SessionReview
from palimpsest.review.tables.figures import PolicyFigures
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.code_lines import code_line_count

RIVAL_POLICY = "sweagent.last_n n=5"
"""The preset that the learner's policy must beat."""
RIVAL_NAME = "SWE-agent's last 5"
MAX_POLICY_LINES = 20
"""Lines of a policy that the exercise allows, without comments and empty lines."""
NOT_OWN_SENTENCE = "Hand over a function of your own, such as my_policy; {given} is none."
SESSION_PHRASES = {"pi": "this session", "claude": "that of Claude Code"}


def older_reads(view: PastView) -> Iterator[Change]:
    """Clear a read of a file that was read or changed again later."""
    touched_paths = set()
    for index in reversed(view.outputs):
        tool, path = view.item(index).tool.lower(), view.path(index)
        if tool == "read" and path in touched_paths:
            yield clear(index)
        if tool in ("read", "edit", "write"):
            touched_paths.add(path)


def _results_alone(view: PastView) -> Iterator[Change]:
    for index in view.outputs[:-5]:
        yield drop(index)


def _coin(view: PastView) -> Iterator[Change]:
    for index in view.outputs[:-5]:
        if random.random() < 0.5:  # the cheat that the lesson shows
            yield clear(index)


def _foresight(view: PastView) -> Iterator[Change]:
    if view.item(view.count).kind == "user":
        yield clear(view.outputs[0])


def _stuffing(view: PastView) -> Iterator[Change]:
    for index in view.outputs[:-5]:
        yield mask(index, "important! " * 10_000)


def _by_heart(view: PastView) -> Iterator[Change]:
    if view.count > 75:
        yield clear(35)


CHEATS: Mapping[str, Callable[[PastView], Iterator[Change]]] = {
    "results_alone: leaves out old results, but not their calls": _results_alone,
    "coin: clears what a coin says": _coin,
    "foresight: looks at the item that comes next": _foresight,
    "stuffing: puts a longer text in the place of a result": _stuffing,
    "by_heart: clears the item that somebody found to be useless here": _by_heart,
}
"""Rules that a law might forbid, by the description that a learner reads."""
OLDER_READS_POLICY = policy_of_function(older_reads)


def saved_percent(session: SessionReview) -> float:
    """Return what clearing older reads saves, in per cent of what the rival saves."""
    raw_cost, rival_cost, rule_cost = (
        estimated_cost(policy_figures(session, policy))
        for policy in ("raw", RIVAL_POLICY, OLDER_READS_POLICY)
    )
    return 100 * (raw_cost - rule_cost) / (raw_cost - rival_cost)


def broken_law(session: SessionReview, policy: PolicyLike) -> str:
    """Return the sentence on the law that a policy breaks in a session; empty where it breaks none."""
    try:
        session.compare([policy])
    except PolicyBreach as breach:
        return str(breach)
    return ""


def uncaught_cheat(session: SessionReview) -> str:
    """Return the cheat that breaks no law."""
    return next(cheat for cheat, rule in CHEATS.items() if not broken_law(session, rule))


def _share_surprise(sessions: LessonSessions, truth: float) -> str:
    rule, rival = (
        policy_figures(sessions["pi"], policy) for policy in (OLDER_READS_POLICY, RIVAL_POLICY)
    )
    return (
        f"It saves ~{truth:.0f} % of that, and acts at {rule.fired} requests instead of {rival.fired}; {rule.repeated} calls "
        f"were repeated instead of {rival.repeated}. But of the names that were used, {100 * (rule.retention or 0):.1f} % were "
        f"still shown instead of {100 * (rival.retention or 0):.1f} %: the result of an edit does not show the file again."
    )


def _elsewhere_surprise(sessions: LessonSessions, _truth: str) -> str:
    rule, everything = (
        policy_figures(sessions["claude"], policy) for policy in (OLDER_READS_POLICY, "raw")
    )
    saved_percent_of_tokens = 100 * (1 - rule.input / everything.input)
    return (
        f"It sends {saved_percent_of_tokens:.0f} % fewer tokens and costs ~{100 * (rule.cost / everything.cost - 1):.0f} % more. At each of its "
        f"{rule.breaks} breaks all that follows the cleared read is written anew, ~{rule.break_tokens / 1e6:.1f} million tokens "
        "in all. What it clears is right; when it clears is wrong."
    )


def _uncaught_surprise(_sessions: LessonSessions, _truth: str) -> str:
    return (
        "A number is no breach: the rule decides the same twice and looks at nothing that comes later. That somebody knew the "
        "whole session when writing it, no law can see. Only a second session tells."
    )


def _shortcoming(session_name: str, rival: PolicyFigures, figures: PolicyFigures) -> str:
    session_clause = ""
    if session_name != "pi":
        session_clause = (
            f"It beats {RIVAL_NAME} on this session, but not on {SESSION_PHRASES[session_name]}: "
        )
    if not figures.fired:
        return f"{session_clause}It never acts there, so it saves nothing."
    cost, rival_cost = estimated_cost(figures), estimated_cost(rival)
    if cost >= rival_cost:
        return (
            f"{session_clause}It would cost ~{cost:.2f} USD, and {RIVAL_NAME} ~{rival_cost:.2f}. It sends {figures.input / 1e6:.1f} "
            f"million tokens instead of {rival.input / 1e6:.1f}, and breaks the cache {figures.breaks} times instead of "
            f"{rival.breaks}."
        )
    kept_share, rival_kept_share = figures.retention or 0.0, rival.retention or 0.0
    if kept_share < rival_kept_share:
        return (
            f"{session_clause}It is cheaper. But of the names that the agent used {100 * kept_share:.1f} % were still shown then; with "
            f"{RIVAL_NAME} {100 * rival_kept_share:.1f} %."
        )
    return ""


def check_own_rule(sessions: LessonSessions, answer: object) -> CheckResult:
    """Check a function of at most 20 lines that is cheaper than the rival and keeps as much, on both sessions."""
    if not isinstance(answer, CustomPolicy) and not callable(answer):
        raise UserError(NOT_OWN_SENTENCE.format(given=f"{answer!r:.60}"))
    line_count = code_line_count(answer.text) if isinstance(answer, CustomPolicy) else 0
    if line_count > MAX_POLICY_LINES:
        return CheckResult(
            passed=False, sentence=f"It has {line_count} lines; {MAX_POLICY_LINES} are enough."
        )

    def goal(name: str) -> PolicyGoal:
        rival = policy_figures(sessions[name], RIVAL_POLICY)
        return lambda figures, _everything: _shortcoming(name, rival, figures)

    return check_policy(
        sessions,
        answer,
        [(name, goal(name)) for name in SESSION_PHRASES],
        passed=f"Cheaper than {RIVAL_NAME} on both sessions, and at least as much of what was used is still shown.",
    )


OWN_RULE = LessonPlan(
    number=7,
    title="Write your own policy",
    question="Can twenty lines beat the rule of a well-known agent?",
    notebook="07-write-your-own-policy",
    recordings={
        "pi": "pi_large_session.jsonl",
        "claude": "claude_code_spotter/8463c716-a2ea-4c14-9efa-87158ebd9f20.jsonl",
    },
    predictions=(
        Prediction(
            "share",
            f"How much of what {RIVAL_NAME} saves on this session does older_reads save, in per cent?",
            NumberKind("%", high=200),
            lambda sessions: saved_percent(sessions["pi"]),
            _share_surprise,
        ),
        Prediction(
            "elsewhere",
            "On a session of Claude Code, what does older_reads cost beside showing everything?",
            ChoiceKind(COST_COMPARISONS),
            lambda sessions: compared_cost(sessions["claude"], OLDER_READS_POLICY, "raw"),
            _elsewhere_surprise,
        ),
        Prediction(
            "uncaught",
            "Which of the five cheats breaks no law?",
            ChoiceKind(tuple(CHEATS)),
            lambda sessions: uncaught_cheat(sessions["pi"]),
            _uncaught_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "own",
            f"Hand over a policy of at most {MAX_POLICY_LINES} lines that is cheaper than {RIVAL_NAME} and keeps as much.",
            (
                (
                    "older_reads clears too little on the first session, and too often on the second. What else is hardly needed "
                    "any more? And what if much were cleared at once, and then nothing for a while?"
                ),
                (
                    "With @palimpsest.policy(sticky=True) a result stays cleared, so the rule can wait. Collect what may go, "
                    'those with view.state(index) == "whole", and add up view.tokens(index).'
                ),
                (
                    "Not only reads grow old. Let everything but the newest 5 results wait, and clear it all as soon as it comes "
                    "to more than 10,000 tokens."
                ),
            ),
            check_own_rule,
        ),
    ),
    meaning=(
        (
            "A rule that knows what is out of date loses little. But it acts as soon as it can, and each time all that follows is "
            "written anew. When a rule acts matters as much as what it takes."
        ),
        "The laws see what a rule does, not who wrote it and what that person knew.",
    ),
    hide=("cost", "figures"),
    limits=(
        *SHARED_LIMITS,
        "A rule that was tuned on two sessions may fit these two only. Try it on a third.",
    ),
)
