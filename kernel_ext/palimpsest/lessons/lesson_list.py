"""The lessons by number."""

from collections.abc import Iterable, Sequence

from palimpsest.lessons.lesson_plan import LessonPlan
from palimpsest.lessons.plans.changed_messages import CHANGED_MESSAGES
from palimpsest.lessons.plans.long_results import LONG_RESULTS
from palimpsest.lessons.plans.lost_caches import LOST_CACHES
from palimpsest.lessons.plans.own_rule import OWN_RULE
from palimpsest.lessons.plans.paper_table import PAPER_TABLE
from palimpsest.lessons.plans.policy_contest import POLICY_CONTEST
from palimpsest.lessons.plans.shared_beginnings import SHARED_BEGINNINGS
from palimpsest.lessons.plans.surviving_facts import SURVIVING_FACTS
from palimpsest.lessons.plans.token_kinds import TOKEN_KINDS
from palimpsest.transcript.errors import NotFound

LESSONS: tuple[LessonPlan, ...] = (
    TOKEN_KINDS,
    CHANGED_MESSAGES,
    LONG_RESULTS,
    LOST_CACHES,
    POLICY_CONTEST,
    SURVIVING_FACTS,
    OWN_RULE,
    SHARED_BEGINNINGS,
    PAPER_TABLE,
)


def lesson_plan(number: int) -> LessonPlan:
    """Return a lesson by its number from 1; raises NotFound with all numbers and titles."""
    for plan in LESSONS:
        if plan.number == number:
            return plan
    titles = "; ".join(f"{plan.number} {plan.title}" for plan in LESSONS)
    raise NotFound(f"There is no lesson {number!r:.20}. There are: {titles}")


def chosen_plans(numbers: Iterable[int]) -> Sequence[LessonPlan]:
    """Return the lessons with these numbers, in order, or all for none; raises NotFound as ``lesson_plan`` does."""
    return [lesson_plan(number) for number in sorted({*numbers})] or LESSONS
