"""Lesson 6: what a summary keeps of the turns that it replaces, and where a rule has to stand to survive it."""

from functools import partial

from palimpsest.lessons.exercise_checks import check_function, checked_policy
from palimpsest.lessons.lesson_plan import (
    SHARED_LIMITS,
    CheckResult,
    Exercise,
    LessonPlan,
    LessonSessions,
    Prediction,
)
from palimpsest.lessons.plans.changed_messages import last_request
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind, OrderKind
from palimpsest.review.session_review import PolicyLike, SessionReview

RULE = "Never touch data/raw.csv, which nobody can type again."
"""The person's sentence that the lesson follows, in both sessions."""
FACTS = {
    "paths of files": "paths",
    "error messages": "errors",
    "names in code": "identifiers",
    "numbers": "numbers",
    "rules of the person": "constraints",
}
"""The kinds of facts of the first prediction: what they are called, and the kind that is counted."""
RULE_PLACE_OPTIONS = (
    "in both",
    "only where it was said first",
    "only where it was said last",
    "in neither",
)
RULE_POSITIONS = {"early": "said first", "late": "said last"}
"""The sessions, and where the rule stands in each."""
SUMMARY_POLICY = "extract(300)"
"""Stands in the place of each summary that a policy asks for."""
MAX_TOKEN_SHARE = 0.55
"""What the exercise allows the last request, as a share of what it would be with everything."""


def kept_counts(session: SessionReview) -> dict[str, tuple[int, int]]:
    """Return for each kind of facts how many the first compaction kept, and of how many."""
    compaction = session.compactions()[0]
    counts = {}
    for words, kind in FACTS.items():
        found_count = compaction.found.get(kind, 0)
        counts[words] = (found_count - len(compaction.lost_of(kind)), found_count)
    return counts


def kept_order(session: SessionReview) -> list[str]:
    """Return the kinds of facts, the best kept first."""
    counts = kept_counts(session)
    return sorted(counts, key=lambda words: -counts[words][0] / max(counts[words][1], 1))


def numbers_gone(session: SessionReview) -> float:
    """Return how many of the numbers are gone after the compaction, in per cent."""
    kept, found = kept_counts(session)["numbers"]
    return 100 * (found - kept) / found


def holds_rule(
    session: SessionReview,
    request: int,
    policy: PolicyLike = "recorded",
    summary: str | None = None,
) -> bool:
    """Return whether a request holds the rule word for word, as recorded or under a policy."""
    blocks = session.request(request, policy, summary=summary).blocks
    return any(RULE in block.text for block in blocks)


def rule_requests(session: SessionReview) -> list[int]:
    """Return the numbers of the requests that hold the rule."""
    return [number for number in range(1, last_request(session) + 1) if holds_rule(session, number)]


def rule_place(sessions: LessonSessions) -> str:
    """Return in which of the two sessions the first request after the summary still holds the rule."""
    early, late = (
        holds_rule(sessions[name], sessions[name].compactions()[0].request + 1)
        for name in RULE_POSITIONS
    )
    return RULE_PLACE_OPTIONS[
        {(True, True): 0, (True, False): 1, (False, True): 2}.get((early, late), 3)
    ]


def _order_surprise(sessions: LessonSessions, _truth: list[str]) -> str:
    counts = kept_counts(sessions["early"])
    counts_text = ", ".join(
        f"{kept} of {found} {words}" for words, (kept, found) in counts.items() if found
    )
    return (
        f"Kept: {counts_text}. The summary has headings for files, errors and numbers, and none for what a person forbade. What "
        "it was not asked to list is gone."
    )


def _gone_surprise(sessions: LessonSessions, _truth: float) -> str:
    compaction = sessions["early"].compactions()[0]
    kept, found = kept_counts(sessions["early"])["numbers"]
    return (
        f"{found - kept} of {found}. The {len(compaction.items)} items before it had ~{compaction.tokens_before:,.0f} tokens, "
        f"the summary has ~{compaction.tokens_after:,.0f}. Numbers that an answer named are in it; those that only a tool "
        "printed are not."
    )


def _rule_surprise(sessions: LessonSessions, _truth: str) -> str:
    early, late = (sessions[name] for name in RULE_POSITIONS)
    compaction = early.compactions()[0]
    last_shown_request = compaction.constraints[0].shown_until + 1
    changing_index, change_sentence = compaction.constraints[0].call, ""
    if changing_index is not None:
        change_sentence = (
            f" In request {changing_index + 1} the agent's command changes that very file."
        )
    return (
        f"Said first, it is in the requests up to {last_shown_request}, and in none after the summary.{change_sentence} Said last, it is still in "
        f"request {last_request(late)}: the summary replaced what is older, and the newest turns stayed word for word."
    )


def _wrong_requests(value: object, expected: object) -> str:
    if not isinstance(value, list | tuple) or any(
        isinstance(number, bool) or not isinstance(number, int) for number in value
    ):
        return "Return a list with the numbers of the requests, such as [1, 2, 3]."
    assert isinstance(expected, list)
    if [number + 1 for number in value] == expected:
        return "Each number is one too low. Requests count from 1."
    if set(value) > set(expected):
        return (
            "Too many requests. A request that names the file does not yet hold the rule: look for the whole sentence, and "
            "look into each request as it was sent."
        )
    return (
        f"You return {len(value)} requests, and that is not right. For each request ask: is the sentence in the text of one "
        "of its blocks?"
    )


def last_share(session: SessionReview, policy: PolicyLike) -> float:
    """Return the size of the last request under a policy, as a share of the same with everything."""
    request = last_request(session)
    policy_tokens, all_tokens = (
        sum(
            block.tokens
            for block in session.request(request, shown_policy, summary=SUMMARY_POLICY).blocks
        )
        for shown_policy in (policy, "raw")
    )
    return policy_tokens / all_tokens


def _missed_goal(session: SessionReview, name: str, answer: object) -> str:
    """Return why a policy misses the goal on a session; empty where it reaches it."""
    policy = checked_policy(session, answer)
    place_clause = f"In the session where the rule is {RULE_POSITIONS[name]}"
    figures = session.compare([policy], summary=SUMMARY_POLICY).figures[0]
    if not figures.fired:
        return f"{place_clause}, it never acts. {figures.verdict}"
    if not holds_rule(session, last_request(session), policy, SUMMARY_POLICY):
        return f"{place_clause}, the last request does not hold it any more: what the policy takes out or summarises has it."
    share = last_share(session, policy)
    if share > MAX_TOKEN_SHARE:
        return (
            f"{place_clause}, the rule survives. But the last request has {100 * share:.1f} % of the tokens of everything; the goal "
            f"is at most {100 * MAX_TOKEN_SHARE:.0f} %."
        )
    return ""


def check_survival(sessions: LessonSessions, answer: object) -> CheckResult:
    """Check a policy under which the rule survives in both sessions, with about half of the tokens."""
    for name in RULE_POSITIONS:
        if sentence := _missed_goal(sessions[name], name, answer):
            return CheckResult(passed=False, sentence=sentence)
    sentence = "In both sessions the rule survives, and about half of the tokens go."
    return CheckResult(passed=True, sentence=sentence)


SURVIVING_FACTS = LessonPlan(
    number=6,
    title="Where to cut, what survives",
    question="A summary takes the place of older turns. What is still known afterwards?",
    notebook="06-where-to-cut-what-survives",
    recordings={"early": "own_early_rule", "late": "own_late_rule"},
    predictions=(
        Prediction(
            "order",
            "Order five kinds of facts by how many of them are still shown after the summary.",
            OrderKind(tuple(FACTS), first="best kept"),
            lambda sessions: kept_order(sessions["early"]),
            _order_surprise,
        ),
        Prediction(
            "gone",
            "How many of the numbers are gone, in per cent?",
            NumberKind("%"),
            lambda sessions: numbers_gone(sessions["early"]),
            _gone_surprise,
        ),
        Prediction(
            "rule",
            "In which session does the first request after the summary still hold the rule?",
            ChoiceKind(RULE_PLACE_OPTIONS),
            rule_place,
            _rule_surprise,
        ),
    ),
    exercises=(
        Exercise(
            "requests",
            "Hand over a function that returns the numbers of the requests that hold the rule.",
            (
                "session.request(1) is the first request. Look at its `blocks`, and at the `text` of one.",
                "Go through the numbers from 1 to len(session.requests.rows), and keep those where a block has the sentence.",
                (
                    "any(RULE in block.text for block in session.request(n).blocks) says it for the request n. Put it behind "
                    "the `if` of a list comprehension."
                ),
            ),
            partial(
                check_function,
                truth=rule_requests,
                names=("early", "late"),
                example="rule_requests",
                wrong=_wrong_requests,
                tolerance=0,
            ),
        ),
        Exercise(
            "survive",
            (
                f"Hand over a policy under which the last request of both sessions holds the rule, with at most "
                f"{100 * MAX_TOKEN_SHARE:.0f} % of the tokens of everything."
            ),
            (
                (
                    "Where the rule is said first, a policy has to keep the beginning, or what persons say. Where it is said "
                    "last, it has to keep the end."
                ),
                (
                    "Some agents never summarise the first prompt: openhands.llm, inspect.compaction_summary, roo.truncate. Codex "
                    "keeps prompts. Their windows are far larger than these sessions: give a smaller one, or fewer events."
                ),
                (
                    "openhands.llm acts over `max_events` events, keeps the first ones and half of the rest. These sessions have some "
                    "fifty events, so try max_events=20 or max_events=30."
                ),
            ),
            check_survival,
        ),
    ),
    meaning=(
        (
            "A summary keeps what it has a heading for, and what is short. This one cut each prompt after 200 characters, and the "
            "rule stood behind them. Nobody removed it on purpose, and nothing was said when it went."
        ),
        (
            "Then the agent changed the file. Its script says so, so this is no proof that a model would. But no model could have "
            "known better: from request 21 on the rule is nowhere in what it is sent. What you say early is the first to be "
            "summarised. What must hold to the end belongs where no summary reaches: in the instructions of the project, in a "
            "pinned message, or said again."
        ),
    ),
    hide=("grid", "card", "request", "search", "compactions"),
    limits=(
        *SHARED_LIMITS,
        (
            "The rehearsal model wrote this summary. It is an extract, cut by rules. A language model may keep a rule, or lose "
            "another one."
        ),
    ),
)
